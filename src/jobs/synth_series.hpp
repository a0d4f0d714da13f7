// Synthetic time series: 34 days of Quartz, a row for each minute, job and target, and the jobs that they add up to.
//
// Thread safety: pure but for the sink.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "jobs/synth.hpp"

namespace iez::jobs {

inline constexpr std::uint64_t kPublishedSeriesJobs = 16795;

[[nodiscard]] Result<SynthTruth> synthesise_series(std::uint64_t jobs, std::uint64_t seed, const RowVisitor& sink);

}  // namespace iez::jobs
