// What the jobs of one target had counted when they were read last: a table of numbers, small enough for 25,000 jobs on each of
// 16 targets. Jobs are known by the digest of their id (lustre/job_stats_filter.hpp); ids themselves are not kept.
//
// Thread safety: none. Memory: 8 * (4 + counters) bytes a job, and 8 more for the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace iez::jobs {

class JobTable {
 public:
  explicit JobTable(std::size_t counters) : counters_(counters) {}

  // One job; valid until the next insert() or remove_unseen().
  struct Entry {
    std::uint64_t* cells = nullptr;  // null: none
    std::size_t counters = 0;

    explicit operator bool() const { return cells != nullptr; }
    std::uint64_t& digest() const { return cells[1]; }  // of its rows
    std::uint64_t& start() const { return cells[2]; }   // nanoseconds since 1970; 0: not known
    std::uint64_t& seen() const { return cells[3]; }    // the number of the sample that had it last
    std::span<std::uint64_t> counts() const { return {cells + 4, counters}; }
  };

  Entry find(std::uint64_t id);
  // REQUIRES: it is not there.
  Entry insert(std::uint64_t id);
  // Those that the sample of this number did not have.
  std::size_t remove_unseen(std::uint64_t sample);

  std::size_t size() const { return cells_.size() / width(); }
  std::size_t bytes() const { return cells_.capacity() * sizeof(std::uint64_t) + index_.capacity() * sizeof(std::uint32_t); }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  std::size_t width() const { return 4 + counters_; }
  void rebuild(std::size_t slots);
  std::size_t slot_of(std::uint64_t id) const;

  std::size_t counters_;
  std::vector<std::uint64_t> cells_;
  std::vector<std::uint32_t> index_;  // open addressing; a power of two, at most half full
};

}  // namespace iez::jobs
