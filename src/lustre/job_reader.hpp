// Every job_stats of the given sources, as one sample.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "lustre/job_rates.hpp"
#include "lustre/param_source.hpp"
#include "lustre/parse_report.hpp"

namespace iez::lustre {

enum class SampleTime {
  now,       // the monotonic clock at the moment a target is read: for samples we take ourselves
  recorded,  // the server's own snapshot_time: for captures
};

struct JobReadOptions {
  JobSample::Options sample;
  SampleTime time = SampleTime::now;
  std::string file_system;  // empty: all
};

// OSTs and MDTs alike. A target that vanishes or cannot be read is left out and counted in report; no job_stats anywhere is
// Errc::not_found.
[[nodiscard]] Result<JobSample> read_jobs(std::span<const std::unique_ptr<ParamSource>> sources, const Clock& clock,
                                          const JobReadOptions& options, ParseReport& report);

}  // namespace iez::lustre
