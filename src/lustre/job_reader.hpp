// Every job_stats of the given sources, as one sample.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "lustre/job_rates.hpp"
#include "lustre/param_source.hpp"

namespace iez::lustre {

enum class SampleTime {
  now,       // the monotonic clock at the moment a target is read: for samples we take ourselves
  recorded,  // the snapshot_time of the server's `stats`, where the capture has them
};

struct JobReadOptions {
  JobSample::Options sample;
  SampleTime time = SampleTime::now;
  std::string file_system;  // empty: all
};

// OSTs and MDTs alike, each once. A target that vanishes or cannot be read, and a source without any, is counted in report. None
// that can be read: an error.
[[nodiscard]] Result<JobSample> read_jobs(std::span<const std::unique_ptr<ParamSource>> sources, const Clock& clock,
                                          const JobReadOptions& options, input::ParseReport& report);

}  // namespace iez::lustre
