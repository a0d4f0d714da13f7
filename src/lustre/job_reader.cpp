#include "lustre/job_reader.hpp"

#include <algorithm>
#include <array>
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

std::optional<WallTime> recorded_time(const ParamSource& source, Param stats, const std::string& device) {
  const auto instances = source.find(stats);
  if (!instances) return std::nullopt;
  const auto match =
      std::find_if(instances->begin(), instances->end(), [&](const Instance& instance) { return instance.device == device; });
  if (match == instances->end()) return std::nullopt;
  const auto stream = source.open(*match);
  if (!stream) return std::nullopt;
  ParseReport ignored;  // whoever reads the counters themselves reports on them
  const auto times = parse_stats(**stream, match->origin, ignored, [](const CounterRow&) {});
  return times ? times->snapshot : std::nullopt;
}

class Collector {
 public:
  Collector(const Clock& clock, const JobReadOptions& options, ParseReport& report)
      : clock_(clock), options_(options), report_(report), sample_(options.sample) {}

  void add_source(const ParamSource& source) {
    const std::string server = read_optional(source, Param::host_name).value_or(source.name());
    for (const Counters& kind : kCounters) {
      const auto instances = source.find(kind.job_stats);
      if (!instances) {
        denied_ = instances.error();
        continue;
      }
      for (const Instance& instance : *instances) add_target(source, server, kind, instance);
    }
  }

  Result<JobSample> finish() {
    if (any_) return std::move(sample_);
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
  void add_target(const ParamSource& source, const std::string& server, const Counters& kind, const Instance& instance) {
    const std::string file_system = device_of(instance).file_system;
    if (!options_.file_system.empty() && file_system != options_.file_system) {
      others_.insert(file_system);
      return;
    }
    any_ = true;
    const auto stream = source.open(instance);
    if (!stream) {
      report_.skip(instance.origin, 1, stream.error().message);
      return;
    }
    const WallTime now{clock_.monotonic()};
    const std::uint32_t target = sample_.add_target({.name = instance.device, .server = server, .sampled = now});
    std::optional<WallTime> latest;
    const auto parsed = parse_job_stats(**stream, instance.origin, report_, [&](const JobEntry& entry) {
      sample_.add(target, entry);
      if (entry.times.snapshot) latest = std::max(latest.value_or(*entry.times.snapshot), *entry.times.snapshot);
    });
    if (!parsed) report_.skip(instance.origin, 1, parsed.error().message);
    if (options_.time == SampleTime::recorded) {
      const auto recorded = recorded_time(source, kind.stats, instance.device);
      sample_.target(target).sampled = recorded ? *recorded : latest.value_or(WallTime{});
    }
  }

  const Clock& clock_;
  const JobReadOptions& options_;
  ParseReport& report_;
  JobSample sample_;
  bool any_ = false;
  std::set<std::string> others_;  // file systems that were not asked for
  std::optional<Error> denied_;
};

}  // namespace

Result<JobSample> read_jobs(std::span<const std::unique_ptr<ParamSource>> sources, const Clock& clock,
                            const JobReadOptions& options, ParseReport& report) {
  Collector collector(clock, options, report);
  for (const auto& source : sources) collector.add_source(*source);
  return collector.finish();
}

}  // namespace iez::lustre
