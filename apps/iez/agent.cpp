#include "agent.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "agent_json.hpp"
#include "base/text.hpp"
#include "config/settings.hpp"
#include "jobs_collect_agent.hpp"
#include "stop_signals.hpp"
#include "telemetry/publisher.hpp"
#include "telemetry/sampler.hpp"

namespace iez::cli {

namespace {

constexpr Duration kShortest = std::chrono::seconds{1};
constexpr Duration kLongestLease = std::chrono::hours{1};
constexpr Duration kPatience = std::chrono::seconds{10};  // of --once
constexpr Duration kGoodbye = std::chrono::milliseconds{500};
constexpr Duration kAway = std::chrono::seconds{5};        // of the coordinator, before it is told: a restart takes less
constexpr Duration kAwayAgain = std::chrono::minutes{10};  // before it is told again
constexpr std::size_t kMostTold = 64;                      // problems that are logged, each once

Result<std::uint64_t> draw_instance() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) return fail_errno(errno, "getrandom");
  return number;
}

class Agent {
 public:
  // endpoint: where samples go.
  Agent(telemetry::Sampler& sampler, telemetry::Publisher& publisher, StopSignals& stop, Duration interval, std::string endpoint,
        Context& context)
      : sampler_(sampler),
        publisher_(publisher),
        stop_(stop),
        interval_(interval),
        endpoint_(text::printable(endpoint)),
        context_(context) {}

  Result<void> run() {
    Duration next = context_.clock.monotonic();
    bool connected = false;
    tell_away_ = next + kAway;
    while (true) {
      const Duration now = context_.clock.monotonic();
      if (now >= next) {
        publish(false);
        // By the clock, not by the time that reading took; but what was missed, as by a sleeping machine, is not made up for.
        next = std::max(next + interval_now(now), now);
      }
      const Duration wake = connected ? next : std::min(next, tell_away_);
      IEZ_TRY(auto heard, publisher_.hear(std::max(wake - context_.clock.monotonic(), Duration{0}), stop_.fd()));
      if (heard.woken && stop_.came()) break;
      const Duration at = context_.clock.monotonic();
      for (const telemetry::RateRequest& request : heard.requests) {
        if (take(request, at)) next = std::min(next, std::max(last_ + interval_now(at), at));
      }
      if (publisher_.connected() != connected) {
        connected = publisher_.connected();
        tell_change(connected, at);
        if (connected && dropped_last_) next = at;  // it knows nothing of us
      }
      if (!connected && at >= tell_away_) tell_away(at);
    }
    publish(true);
    publisher_.close(kGoodbye);
    return {};
  }

  Result<void> once() {
    const Duration until = context_.clock.monotonic() + kPatience;
    while (!publisher_.connected()) {
      const Duration left = until - context_.clock.monotonic();
      if (left <= Duration{0}) {
        return fail(Errc::io, fmt::format("{}: nobody takes samples there: {}", endpoint_, publisher_.why_away()));
      }
      IEZ_TRY(const auto heard, publisher_.hear(left, stop_.fd()));
      if (heard.woken && stop_.came()) return fail(Errc::io, "stopped before the sample was sent");
    }
    publish(true);
    publisher_.close(kPatience);
    if (dropped_last_) return fail(Errc::io, fmt::format("{}: the sample was not taken", endpoint_));
    return {};
  }

 private:
  Duration interval_now(Duration at) const { return at < lease_end_ ? std::min(lease_interval_, interval_) : interval_; }

  bool take(const telemetry::RateRequest& request, Duration at) {
    if (!request.names.empty() && std::ranges::find(request.names, sampler_.name()) == request.names.end()) return false;
    lease_interval_ = std::max(request.every, kShortest);
    lease_end_ = at + std::min(request.lasting, kLongestLease);
    return true;
  }

  // What is told as a warning is told to be over likewise; a coordinator that restarts is told of to who asks for more.
  void tell_change(bool connected, Duration at) {
    tell_away_ = at + kAway;
    if (!connected) return context_.log.info("the coordinator is away: samples are dropped");
    if (!told_away_) return context_.log.info("the coordinator takes samples");
    context_.log.warning(fmt::format("{}: the coordinator takes samples now", endpoint_));
    told_away_ = false;
  }

  void tell_away(Duration at) {
    context_.log.warning(fmt::format("{}: samples are dropped: {}", endpoint_, publisher_.why_away()));
    told_away_ = true;
    tell_away_ = at + kAwayAgain;
  }

  void publish(bool last) {
    input::ParseReport report;
    last_ = context_.clock.monotonic();
    auto sample = sampler_.take(context_.clock, interval_now(last_), report);
    sample.last = last;
    dropped_last_ = publisher_.send(telemetry::encode(sample)) == telemetry::Publisher::Sent::dropped;
    if (dropped_last_) sampler_.count_dropped();
    for (const auto& problem : report.problems) {
      std::string line = to_string(problem);
      if (told_.size() >= kMostTold || !told_.insert(line).second) continue;
      context_.log.warning(line);
    }
  }

  telemetry::Sampler& sampler_;
  telemetry::Publisher& publisher_;
  StopSignals& stop_;
  Duration interval_;
  std::string endpoint_;
  Context& context_;
  Duration tell_away_{0};  // when, unless the coordinator comes before
  bool told_away_ = false;
  Duration lease_interval_{kShortest};
  Duration lease_end_{0};
  Duration last_{0};
  bool dropped_last_ = false;
  std::set<std::string> told_;
};

}  // namespace

Result<void> run_agent(const AgentOptions& options, Context& context) {
  IEZ_TRY(const config::Settings settings, config::load_settings(config::default_sources()));
  telemetry::PublisherOptions endpoints{.samples = options.samples.value_or(settings.agent.samples),
                                        .requests = options.requests.value_or(settings.agent.requests),
                                        .keys = options.keys.value_or(settings.agent.keys)};
  const Duration interval = std::max(options.interval.value_or(settings.agent.interval), kShortest);
  IEZ_TRY(auto sources, open_sources(options.roots.empty() ? settings.roots : options.roots));
  IEZ_TRY(const std::uint64_t instance, draw_instance());
  telemetry::Sampler sampler(std::move(sources), {.name = options.name.value_or(settings.agent.name)}, instance);
  if (options.print) {
    input::ParseReport report;
    const telemetry::Sample sample = sampler.take(context.clock, interval, report);
    report_problems(report, context);
    return print(to_line(sample_json(sample)));
  }
  IEZ_TRY(StopSignals stop, StopSignals::block());
  IEZ_TRY(const auto publisher, telemetry::Publisher::open(endpoints));
  context.log.info("publishing", {{.key = "agent", .value = sampler.name()}, {.key = "to", .value = endpoints.samples}});
  Agent agent(sampler, *publisher, stop, interval, endpoints.samples, context);
  std::unique_ptr<JobSampling> jobs;
  if (const std::string spool = options.jobs_spool.value_or(settings.agent.jobs_spool); !spool.empty() && !options.once) {
    IEZ_TRY(jobs,
            JobSampling::start({.roots = options.roots.empty() ? settings.roots : options.roots,
                                .spool = spool,
                                .cluster = options.jobs_cluster.value_or(settings.agent.jobs_cluster),
                                .host = sampler.name(),
                                .interval = std::max(options.jobs_interval.value_or(settings.agent.jobs_interval), kShortest)},
                               context));
  }
  return options.once ? agent.once() : agent.run();
}

}  // namespace iez::cli
