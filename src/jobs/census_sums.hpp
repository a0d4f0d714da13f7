// What is counted of users, of days and of clusters: see census.hpp. Sums of the parts of two threads are joined; nothing of them
// depends on the order of jobs, but for the last digits of numbers that are no whole ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "jobs/pair_moments.hpp"
#include "jobs/value_counts.hpp"

namespace iez::jobs {

__extension__ using WideSum = unsigned __int128;  // 2^64 jobs with counters at their limit

// One row, as far as it is counted by itself.
struct CountedJob {
  std::int64_t started = 0;  // microseconds
  std::int64_t local_day = 0;
  std::size_t local_hour = 0;
  std::int64_t seconds = 0;
  std::int64_t silent_nodes = 0;
  std::int64_t bytes = 0;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
  std::int64_t write_calls = 0;
  std::int64_t metadata_calls = 0;
  std::int64_t opens = 0;
  std::int64_t closes = 0;
};

struct UserSums {
  static constexpr std::size_t kHours = 24;
  static constexpr std::size_t kWeekdays = 7;

  struct Hour {
    std::uint64_t jobs = 0;
    double bytes = 0;
    double seconds = 0;
  };

  std::uint64_t jobs = 0;
  double seconds = 0;
  std::uint64_t incomplete_jobs = 0;
  std::uint64_t io_jobs = 0;
  std::uint64_t unclosed_jobs = 0;
  std::uint64_t call_jobs = 0;
  WideSum read_bytes = 0;
  WideSum write_bytes = 0;
  WideSum write_calls = 0;
  WideSum io_write_calls = 0;
  WideSum opens = 0;
  WideSum closes = 0;
  WideSum unclosed = 0;
  WideSum metadata_calls = 0;
  std::int64_t largest_job_bytes = 0;
  std::int64_t smallest_job_bytes = 0;  // 0: no job wrote
  double call_bytes = 0;
  double largest_call = 0;
  std::array<Hour, kHours> hours{};
  std::array<double, kWeekdays> weekdays{};  // bytes, from Monday on

  void add(const CountedJob& job);
  void join(const UserSums& other);
};

struct DaySums {
  std::uint64_t jobs = 0;
  std::int64_t first_started = std::numeric_limits<std::int64_t>::max();  // microseconds
  std::int64_t last_started = std::numeric_limits<std::int64_t>::min();
  std::int64_t longest = -1;  // seconds
  std::int64_t longest_bytes = 0;

  void add(const CountedJob& job) { join({1, job.started, job.started, job.seconds, job.bytes}); }
  void join(const DaySums& other);
};

// open, close, create, mkdir, mknod, rename, rmdir, unlink, and all together.
inline constexpr std::size_t kOperations = 9;

struct ClusterSums {
  static constexpr std::size_t kCallSizes = 64;  // powers of two
  static constexpr std::int64_t kCellRow = 64;  // a cell's number: third of a power of ten of bytes * this + half of one of calls

  ValueCounts durations;
  ValueCounts nodes;
  std::array<std::uint64_t, kCallSizes> call_jobs{};
  std::array<WideSum, kCallSizes> call_bytes{};
  ValueCounts cells;
  std::uint64_t writers = 0;
  std::array<PairMoments, kOperations> moments;
  std::array<PairMoments, kOperations> log_moments;
  std::array<double, kOperations> calls{};

  // REQUIRES: the job wrote something. Durations, nodes and moments are added by themselves.
  void add_writer(const CountedJob& job);
  void join(const ClusterSums& other);
};

// Correlations are made of many jobs at a time; this keeps their memory.
class WriterMoments {
 public:
  // Jobs that wrote something, one by one; `operations` as kOperations says.
  void add(std::int64_t write_bytes, const std::array<std::int64_t, kOperations>& operations);
  // Those that came since the last time.
  void flush(ClusterSums& into);

 private:
  std::vector<double> bytes_;
  std::array<std::vector<double>, kOperations> values_;
  std::array<std::vector<double>, kOperations> logs_;
  std::array<std::vector<double>, kOperations> logs_of_bytes_;
};

}  // namespace iez::jobs
