// From a node's parameters to samples: what `iez agent` reads each time.
//
// The cost is bounded: where parameters are is looked up only now and then (kLookup, or at once when a target that was there is
// gone), and the jobs of job_stats are counted one target at a time, in turn, for at most a small share of one core (job_share):
// an OSS with 100 OSTs may list a million entries, whose text the kernel makes anew for every reader.
//
// Thread safety: none. Clock: given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "lustre/param_source.hpp"
#include "telemetry/sample.hpp"

namespace iez::telemetry {

struct SamplerOptions {
  std::string name;          // of the agent; empty: that of the first source's host
  double job_share = 0.004;  // of one core, for counting jobs; 0: never
};

class Sampler {
 public:
  Sampler(std::vector<std::unique_ptr<lustre::ParamSource>> sources, const SamplerOptions& options, std::uint64_t instance);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  Sampler(Sampler&&) = delete;
  Sampler& operator=(Sampler&&) = delete;

  // The next sample. A node without any target gives one without file systems: it may get some later. What could not be read is
  // in report, and its number in the sample.
  Sample take(const Clock& clock, Duration interval, input::ParseReport& report);

  const std::string& name() const;
  void count_dropped();  // the last sample never left

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace iez::telemetry
