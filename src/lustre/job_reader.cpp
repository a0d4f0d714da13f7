#include "lustre/job_reader.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lustre/stats.hpp"

namespace iez::lustre {

namespace {

struct Counters {
  Param job_stats;
  Param stats;  // of the same device: its snapshot_time is when the capture was taken
};

constexpr std::array kCounters{Counters{Param::ost_job_stats, Param::ost_stats},
                               Counters{Param::mdt_job_stats, Param::mdt_stats}};

// When a capture was taken, by the snapshot_time of its counter files: of each device that has one, and the newest of all, which
// will do for the others, since one node has one clock. A job's own snapshot_time is its last operation, and tells nothing about
// that.
class CaptureTimes {
 public:
  CaptureTimes(const ParamSource& source, Param stats) {
    const auto instances = source.find(stats);
    if (!instances) return;
    for (const Instance& instance : *instances) {
      const auto stream = source.open(instance);
      if (!stream) continue;
      input::ParseReport ignored;  // whoever reads the counters themselves reports on them
      const auto times = parse_stats(**stream, instance.origin, ignored, [](const CounterRow&) {});
      const std::optional<WallTime> snapshot = times ? times->snapshot : std::nullopt;
      if (!snapshot) continue;
      times_.emplace(instance.device, *snapshot);
      newest_ = std::max(newest_.value_or(*snapshot), *snapshot);
    }
  }

  std::optional<WallTime> of(const std::string& device) const {
    const auto found = times_.find(device);
    return found == times_.end() ? newest_ : found->second;
  }

 private:
  std::map<std::string, WallTime> times_;
  std::optional<WallTime> newest_;
};

class Collector {
 public:
  Collector(const Clock& clock, const JobReadOptions& options, input::ParseReport& report)
      : clock_(clock), options_(options), report_(report), sample_(options.sample) {}

  void add_source(const ParamSource& source) {
    const std::string server = read_optional(source, Param::host_name).value_or(source.name());
    bool gave = false;
    std::optional<Error> denied;
    for (const Counters& kind : kCounters) {
      const auto instances = source.find(kind.job_stats);
      if (!instances) {
        denied = instances.error();
        continue;
      }
      gave |= !instances->empty();
      std::optional<CaptureTimes> recorded;
      if (options_.time == SampleTime::recorded) recorded.emplace(source, kind.stats);
      for (const Instance& instance : *instances) add_target(source, server, recorded ? &*recorded : nullptr, instance);
    }
    if (gave) return;
    silent_.push_back({.origin = source.name(), .message = denied ? denied->message : "no job_stats in it"});
    if (denied) denied_ = std::move(denied);
  }

  Result<JobSample> finish() {
    if (opened_) {
      for (const auto& problem : silent_) report_.skip(problem.origin, 0, problem.message);
      return std::move(sample_);
    }
    if (first_failure_) return std::unexpected(*std::move(first_failure_));
    if (!others_.empty()) {
      return fail(Errc::not_found,
                  fmt::format("file system '{}' is not here; found: {}", options_.file_system, fmt::join(others_, ", ")));
    }
    if (denied_) return std::unexpected(*std::move(denied_));
    return fail(
        Errc::not_found,
        "no job_stats found: expected obdfilter.*.job_stats or mdt.*.job_stats; run on a server, or give a server's root or "
        "capture with --root");
  }

 private:
  void add_target(const ParamSource& source, const std::string& server, const CaptureTimes* recorded, const Instance& instance) {
    const std::string file_system = device_of(instance).file_system;
    if (!options_.file_system.empty() && file_system != options_.file_system) {
      others_.insert(file_system);
      return;
    }
    if (!sampled_.insert(instance.device).second) {
      report_.skip(instance.origin, 0, "another --root has this target already; counted once");
      return;
    }
    const auto stream = source.open(instance);
    if (!stream) {
      report_.skip(instance.origin, 0, stream.error().message);
      if (!first_failure_) first_failure_ = stream.error();
      return;
    }
    opened_ = true;
    const auto now = recorded != nullptr ? recorded->of(instance.device) : WallTime{clock_.monotonic()};
    const std::uint32_t target = sample_.add_target({.name = instance.device, .server = server, .sampled = now});
    const std::uint64_t skipped = report_.skipped;
    const auto parsed =
        parse_job_stats(**stream, instance.origin, report_, [&](const JobEntry& entry) { sample_.add(target, entry); });
    if (!parsed) report_.skip(instance.origin, 0, parsed.error().message);
    if (report_.skipped > skipped) sample_.target(target).whole = false;
  }

  const Clock& clock_;
  const JobReadOptions& options_;
  input::ParseReport& report_;
  JobSample sample_;
  bool opened_ = false;
  std::optional<Error> first_failure_;
  std::set<std::string> sampled_;                    // devices
  std::vector<input::ParseReport::Problem> silent_;  // sources without a target
  std::set<std::string> others_;                     // file systems that were not asked for
  std::optional<Error> denied_;
};

}  // namespace

Result<JobSample> read_jobs(std::span<const std::unique_ptr<ParamSource>> sources, const Clock& clock,
                            const JobReadOptions& options, input::ParseReport& report) {
  Collector collector(clock, options, report);
  for (const auto& source : sources) collector.add_source(*source);
  return collector.finish();
}

}  // namespace iez::lustre
