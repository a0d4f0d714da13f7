// From readings of counters that others took to what jobs did: for imports.
//
// Whoever imports adds points: a counter of a job on a target, at a time. In any order, also the same ones twice: of the same
// counter and time the last counts. Then, for each job and target, two readings that follow each other make a row, by the law of
// counter_difference.hpp; and
//   - the first reading of a job is all its own if the target was read before it: else it is only where counting starts;
//   - a job that nobody saw for 600 s, while the target was read, was dropped by the server: it starts anew;
//   - a counter that a reading lacks stands as it stood.
//
// Thread safety: none. Memory: 32 bytes a point, and each id once; at most max_points, then Errc::limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "jobs/row_sink.hpp"

namespace iez::jobs {

// The place in to_counts() (counter_difference.hpp) of the counter that Lustre, or a collector of its job_stats, calls so:
// "read_bytes", "write_calls", "mkdir", ... Nothing: iez keeps none of that name. Servers of data create objects, not files: what
// they call create is none of ours.
std::optional<std::uint8_t> counter_named(std::string_view name, std::string_view target);

struct ImportSummary {
  std::uint64_t points = 0;
  std::uint64_t repeated = 0;   // points of a counter and time that was there already
  std::uint64_t pairs = 0;      // jobs on targets
  std::uint64_t restarted = 0;  // counters that began anew
  std::uint64_t rows = 0;       // put
};

class ImportSeries {
 public:
  struct Options {
    std::string cluster;
    std::size_t max_points = 50'000'000;
  };

  explicit ImportSeries(Options options) : options_(std::move(options)) {}

  // time: seconds since 1970.
  [[nodiscard]] Result<void> add(std::string_view target, std::string_view job, std::int64_t time, std::uint8_t counter,
                                 std::uint64_t value);

  // Puts all rows, and is empty then.
  [[nodiscard]] Result<ImportSummary> finish(RowSink& sink);

 private:
  struct Point {
    std::uint32_t pair = 0;
    std::uint32_t order = 0;  // of those that are alike the last counts
    std::int64_t time = 0;
    std::uint64_t value = 0;
    std::uint8_t counter = 0;
  };
  struct Pair {
    std::uint32_t target = 0;
    std::string job;
  };

  std::uint32_t target_of(std::string_view name);
  std::uint32_t pair_of(std::string_view target, std::string_view job);
  std::vector<std::vector<std::int64_t>> times_of_targets() const;

  Options options_;
  std::vector<std::string> targets_;
  std::unordered_map<std::string, std::uint32_t> target_index_;
  std::vector<Pair> pairs_;
  std::unordered_map<std::string, std::uint32_t> pair_index_;
  std::vector<Point> points_;
  std::string key_;
};

}  // namespace iez::jobs
