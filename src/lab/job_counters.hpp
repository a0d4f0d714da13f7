// Counters of operations as Lustre's servers keep and print them: of a target or an export (`stats`), and of jobs (`job_stats`).
//
//     OperationCounters all;                       // of the target
//     JobCounters jobs(ost_job_operations());
//     all.count(model::Operation::write_bytes, 4096, now);
//     jobs.count("dd.1000", model::Operation::write_bytes, 4096, now);
//     jobs.text();                                 // src/lustre/job_stats.hpp shows the form
//
// A job whose last operation was 600 s ago is forgotten, as Lustre does. An empty job id counts for nobody. Ids longer than what
// Lustre keeps (31 bytes) are cut, spaces are removed.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "model/job.hpp"

namespace iez::lab {

class OperationCounters {
 public:
  // value: bytes for read_bytes and write_bytes, microseconds for others.
  void count(model::Operation operation, std::uint64_t value, WallTime now);

  [[nodiscard]] std::uint64_t samples(model::Operation operation) const {
    return rows_[static_cast<std::size_t>(operation)].samples;
  }
  [[nodiscard]] std::uint64_t sum(model::Operation operation) const { return rows_[static_cast<std::size_t>(operation)].sum; }
  [[nodiscard]] WallTime start() const { return start_; }  // first and last count
  [[nodiscard]] WallTime last() const { return last_; }

  // Text of `stats`: times, then a row for each operation that was counted.
  [[nodiscard]] std::string stats_text(WallTime start, WallTime now) const;

 private:
  friend class JobCounters;
  struct Row {
    std::uint64_t samples = 0;
    std::uint64_t min = 0;
    std::uint64_t max = 0;
    std::uint64_t sum = 0;
    std::uint64_t squares = 0;
  };
  std::array<Row, model::kOperationCount> rows_{};
  std::array<std::array<std::uint64_t, 64>, 2> sizes_{};  // calls of at most 2^i bytes, read and written
  WallTime start_;
  WallTime last_;
};

// Rows that an OST, and an MDT, print for each job, in their order.
std::span<const model::Operation> ost_job_operations();
std::span<const model::Operation> mdt_job_operations();

class JobCounters {
 public:
  explicit JobCounters(std::span<const model::Operation> operations) : operations_(operations.begin(), operations.end()) {}

  void count(std::string_view job, model::Operation operation, std::uint64_t value, WallTime now);
  void forget_idle(WallTime now);

  [[nodiscard]] std::string text() const;  // empty without jobs
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }

 private:
  std::vector<model::Operation> operations_;
  std::map<std::string, OperationCounters, std::less<>> jobs_;
};

}  // namespace iez::lab
