// Watches a run, and tells at its end what happened.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/latency_histogram.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"

namespace iez::sim {

class Recorder {
 public:
  // left: processes of each job.
  Recorder(const Scenario& scenario, std::vector<std::uint32_t> left);

  // A request of the job has been served; the first of its process ends the start of that process.
  void served(Duration now, Duration latency, std::uint32_t process, std::uint32_t job, bool useless);
  void acknowledged(std::uint32_t job, std::uint64_t bytes, bool read);
  void process_finished(Duration now, std::uint32_t job);

  // Ends an interval. The fields of `state` that the recorder does not know itself are given.
  void tick(Duration now, Sample state);

  [[nodiscard]] bool all_finished() const { return unfinished_ == 0; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  // Everything but targets, time-outs and events. Call once, at the end.
  [[nodiscard]] RunResult result(const Scenario& scenario, Duration end);

 private:
  std::vector<std::uint32_t> left_;  // processes of each job that are not done
  std::uint32_t processes_;
  std::vector<JobResult> jobs_;
  std::vector<LatencyHistogram> job_latency_;
  std::vector<bool> seen_;  // processes that were served
  std::uint32_t unseen_;
  std::uint32_t unfinished_;
  std::uint32_t finished_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t useless_ = 0;
  LatencyHistogram latency_;

  bool stable_open_ = false;
  bool stable_over_ = false;
  StablePhase stable_;
  LatencyHistogram stable_latency_;
  std::uint64_t stable_bytes_ = 0;

  std::vector<Sample> samples_;
  std::uint64_t interval_finished_ = 0;
  std::uint64_t interval_bytes_ = 0;
  double interval_latency_ = 0;
  double interval_max_ = 0;
};

}  // namespace iez::sim
