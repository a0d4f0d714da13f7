#include "sim/recorder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace iez::sim {
namespace {

constexpr std::uint32_t kMostFinished = 20;  // one process in so many ends the stable phase

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

BytesPerSecond over(std::uint64_t bytes, Duration time) { return rate_of(Bytes{bytes}, time); }

}  // namespace

Recorder::Recorder(const Scenario& scenario, std::vector<std::uint32_t> left)
    : left_(std::move(left)),
      processes_(std::accumulate(left_.begin(), left_.end(), std::uint32_t{0})),
      jobs_(scenario.jobs.size()),
      job_latency_(scenario.jobs.size()),
      seen_(processes_),
      unseen_(processes_),
      unfinished_(processes_) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    jobs_[i].name = scenario.jobs[i].name;
    jobs_[i].started = scenario.jobs[i].start;
    jobs_[i].replayed_files = scenario.jobs[i].files.size();
  }
}

void Recorder::served(Duration now, Duration latency, std::uint32_t process, std::uint32_t job, bool useless) {
  latency_.add(latency);
  job_latency_[job].add(latency);
  ++requests_;
  if (useless) ++useless_;
  ++interval_finished_;
  interval_latency_ += seconds(latency);
  interval_max_ = std::max(interval_max_, seconds(latency));
  if (!seen_[process]) {
    seen_[process] = true;
    if (--unseen_ == 0 && !stable_over_) {
      stable_open_ = true;
      stable_.from = now;
    }
  }
  if (stable_open_) stable_latency_.add(latency);
}

void Recorder::acknowledged(std::uint32_t job, std::uint64_t bytes, bool read) {
  bytes_ += bytes;
  interval_bytes_ += bytes;
  jobs_[job].bytes += Bytes{bytes};
  if (read) jobs_[job].read += Bytes{bytes};
  if (stable_open_) stable_bytes_ += bytes;
}

void Recorder::process_finished(Duration now, std::uint32_t job) {
  --unfinished_;
  ++finished_;
  if (--left_[job] == 0) jobs_[job].finished = now;
  if (stable_over_ || std::uint64_t{finished_} * kMostFinished < processes_) return;
  stable_over_ = true;
  stable_open_ = false;
  stable_.to = now;
}

void Recorder::tick(Duration now, Sample state) {
  state.at = now;
  state.finished = interval_finished_;
  state.bytes = Bytes{interval_bytes_};
  state.latency = interval_finished_ > 0 ? interval_latency_ / static_cast<double>(interval_finished_) : 0;
  state.latency_max = interval_max_;
  samples_.push_back(state);
  interval_finished_ = 0;
  interval_bytes_ = 0;
  interval_latency_ = 0;
  interval_max_ = 0;
}

RunResult Recorder::result(const Scenario& scenario, Duration end) {
  RunResult result{.seed = scenario.seed, .end = end, .bytes = Bytes{bytes_}, .bandwidth = over(bytes_, end)};
  result.latency = latency_.stats();
  result.requests = requests_;
  result.useless = useless_;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    jobs_[i].latency = job_latency_[i].stats();
    jobs_[i].bandwidth = over(jobs_[i].bytes.count, jobs_[i].finished.value_or(end) - jobs_[i].started);
  }
  result.jobs = std::move(jobs_);
  if (stable_latency_.stats().count > 0) {
    if (stable_open_) stable_.to = end;
    stable_.latency = stable_latency_.stats();
    stable_.bandwidth = over(stable_bytes_, stable_.to - stable_.from);
    result.stable = stable_;
  }
  result.samples = std::move(samples_);
  return result;
}

}  // namespace iez::sim
