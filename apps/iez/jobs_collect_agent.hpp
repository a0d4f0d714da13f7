// The part of `iez agent` that samples job_stats: a thread of its own, so that a slow disk holds up no telemetry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "command.hpp"

namespace iez::cli {

struct JobSamplingOptions {
  std::vector<std::string> roots;
  std::string spool;    // empty: nothing is sampled
  std::string cluster;  // of the rows
  std::string host;     // names the files of the spool
  Duration interval{60'000'000'000};
};

// Samples from its making to its end.
class JobSampling {
 public:
  [[nodiscard]] static Result<std::unique_ptr<JobSampling>> start(const JobSamplingOptions& options, Context& context);
  ~JobSampling();
  JobSampling(const JobSampling&) = delete;
  JobSampling& operator=(const JobSampling&) = delete;

 private:
  struct Impl;
  explicit JobSampling(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iez::cli
