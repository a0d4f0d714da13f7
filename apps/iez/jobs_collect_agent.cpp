#include "jobs_collect_agent.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "jobs/job_sampler.hpp"
#include "jobs/spool.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kMostTold = 64;  // problems that are logged, each once

Result<std::uint64_t> draw_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) return fail_errno(errno, "getrandom");
  return seed;
}

}  // namespace

struct JobSampling::Impl {
  Impl(std::vector<std::unique_ptr<lustre::ParamSource>> sources, const JobSamplingOptions& given, std::uint64_t seed,
       Context& around)
      : options(given),
        context(around),
        spool({.folder = given.spool, .host = given.host}, around.clock),
        sampler(std::move(sources), {.cluster = given.cluster, .seed = seed}) {}

  void run(const std::stop_token& stop) {
    Duration next = context.clock.monotonic();
    while (!stop.stop_requested()) {
      sample();
      // By the clock; what was missed, as by a sleeping machine, is not made up for.
      next = std::max(next + options.interval, context.clock.monotonic());
      std::unique_lock lock(mutex);
      wake.wait_for(lock, stop, next - context.clock.monotonic(), [] { return false; });
    }
    sample();  // what was done since
  }

  void sample() {
    input::ParseReport report;
    const auto taken = sampler.take(context.clock, spool, report);
    for (const auto& problem : report.problems) tell(to_string(problem));
    if (!taken) {
      context.log.warning("rows of jobs wait for the spool", {{.key = "reason", .value = taken.error().message}});
      return;
    }
    if (taken->over_limit > 0) tell("more jobs are listed than are kept in mind: some have no rows");
    context.log.debug("jobs sampled", {{.key = "targets", .value = fmt::to_string(taken->targets)},
                                       {.key = "entries", .value = fmt::to_string(taken->entries)},
                                       {.key = "rows", .value = fmt::to_string(taken->rows)}});
  }

  void tell(std::string line) {
    if (told.size() >= kMostTold || !told.insert(line).second) return;
    context.log.warning(line);
  }

  JobSamplingOptions options;
  Context& context;
  jobs::SpoolWriter spool;
  jobs::JobSampler sampler;
  std::set<std::string> told;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::jthread thread;  // last: it uses the others
};

JobSampling::JobSampling(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JobSampling::~JobSampling() = default;

Result<std::unique_ptr<JobSampling>> JobSampling::start(const JobSamplingOptions& options, Context& context) {
  IEZ_TRY(auto sources, open_sources(options.roots));
  IEZ_TRY(const std::uint64_t seed, draw_seed());
  auto impl = std::make_unique<Impl>(std::move(sources), options, seed, context);
  Impl& started = *impl;
  impl->thread = std::jthread([&started](const std::stop_token& stop) { started.run(stop); });
  return std::unique_ptr<JobSampling>(new JobSampling(std::move(impl)));
}

}  // namespace iez::cli
