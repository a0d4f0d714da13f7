// Synthetic statistics of jobs, of the shape that was published for two machines (Cab and Quartz of LLNL, 2015 to 2018): counts
// of jobs and users, durations, nodes, bytes, sizes of calls, who writes efficiently, and, for the time series, when and how much
// is written.
//
// Every quantity follows its own quantile function (log-linear between a few points), and jobs take its ranks in a shuffled
// order: a thousand jobs have the same distribution as a million, and the share of each class is exact. What was published and
// cannot be true together (a median far above a mean; nearly all jobs above the mean) is left out. Clusters are named
// "synthetic-...": nobody takes these rows for measured ones.
//
// The same options give the same rows on every machine. Thread safety: pure but for the sink.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "jobs/rows_csv.hpp"

namespace iez::jobs {

inline constexpr std::string_view kSyntheticPrefix = "synthetic-";

enum class Like : std::uint8_t { quartz, cab };

struct SynthOptions {
  Like like = Like::quartz;
  std::uint64_t jobs = 0;  // 0: as many as were published
  std::uint64_t seed = 1;
  bool series = false;  // instead: 34 days with a row for each minute and target, and the jobs that they add up to (Quartz only)
};

// Sums over all rows that were given out, to compare reports with.
struct SynthTruth {
  std::uint64_t jobs = 0;
  std::uint64_t series_rows = 0;
  std::uint64_t io_jobs = 0;  // that read or wrote
  std::uint64_t writers = 0;
  std::uint64_t heavy_inefficient = 0;  // above the mean of bytes written, small calls; not of series
  std::uint64_t heavy_efficient = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  std::uint64_t opens = 0;
  std::uint64_t closes = 0;
};

// How many jobs were published: of a year or three, or of 34 days of series.
std::uint64_t published_jobs(Like like, bool series);
std::string_view to_string(Like like);

// Jobs come in the order of their starts. Fails for a Cab with series: none was published.
[[nodiscard]] Result<SynthTruth> synthesise(const SynthOptions& options, const RowVisitor& sink);

}  // namespace iez::jobs
