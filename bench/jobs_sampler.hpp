// What sampling job_stats costs an agent: 25,000 jobs on each of 16 targets, every 60 s. A part of `iez bench jobs`.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// jobs.sampler_cpu, jobs.sampler_mib.
[[nodiscard]] Result<std::vector<Figure>> measure_job_sampler(const Settings& settings);

}  // namespace iez::bench
