#include "job_watch.hpp"

#include <algorithm>
#include <utility>

#include "lustre/job_reader.hpp"

namespace iez::cli {

namespace {

constexpr Duration kLiveInterval = std::chrono::seconds(1);

// A live node and a watched one are sampled twice; a capture stands still.
Duration sampling_interval(const JobWatchOptions& options, const Sources& sources) {
  if (options.interval) return *options.interval;
  if (options.watch.watch) return options.watch.interval;
  return live(sources) ? kLiveInterval : Duration::zero();
}

}  // namespace

bool live(const Sources& sources) {
  return std::ranges::any_of(sources, [](const auto& source) { return source->live(); });
}

Result<void> watch_jobs(const JobWatchOptions& options, const Sources& sources, Clock& clock, const ShowJobs& show,
                        const PauseJobs& pause) {
  const auto sample = [&](const Sources& from, lustre::SampleTime time, input::ParseReport& report) {
    return lustre::read_jobs(from, clock, {.time = time, .file_system = options.file_system}, report);
  };
  if (!options.since.empty()) {
    IEZ_TRY(const Sources earlier, open_sources(options.since));
    input::ParseReport report;
    IEZ_TRY(const auto before, sample(earlier, lustre::SampleTime::recorded, report));
    IEZ_TRY(const auto after, sample(sources, lustre::SampleTime::recorded, report));
    return show(&before, after, report);
  }
  std::optional<lustre::JobSample> before;
  if (const Duration interval = sampling_interval(options, sources); interval > Duration::zero()) {
    IEZ_CHECK(require_moving(sources));
    input::ParseReport ignored;  // the second sample reports the same files
    IEZ_TRY(before, sample(sources, lustre::SampleTime::now, ignored));
    IEZ_TRY(const bool more, pause(interval));
    if (!more) return {};
  }
  for (unsigned long long shown = 1;; ++shown) {
    input::ParseReport report;
    IEZ_TRY(auto after, sample(sources, lustre::SampleTime::now, report));
    IEZ_CHECK(show(before ? &*before : nullptr, after, report));
    if (!options.watch.watch || shown == options.watch.count) return {};
    before = std::move(after);
    IEZ_TRY(const bool more, pause(options.watch.interval));
    if (!more) return {};
  }
}

}  // namespace iez::cli
