#include <poll.h>
#include <cerrno>

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "agent.hpp"
#include "agent_json.hpp"
#include "config/settings.hpp"
#include "stop_signals.hpp"
#include "table.hpp"
#include "telemetry/collector.hpp"
#include "telemetry/subscriber.hpp"

namespace iez::cli {

namespace {

constexpr Duration kLease = std::chrono::seconds{15};
constexpr Duration kRenew = std::chrono::seconds{5};
constexpr Duration kTick = std::chrono::milliseconds{200};  // the signals are looked at this often

std::string skew_text(const std::optional<Duration>& skew) {
  if (!skew) return "-";
  return fmt::format("{:+.3f} s", std::chrono::duration<double>(*skew).count());
}

Colour colour_of(telemetry::AgentState state) {
  if (state == telemetry::AgentState::live) return Colour::none;
  return state == telemetry::AgentState::dead ? Colour::red : Colour::yellow;
}

std::string picture_text(const telemetry::Collector& collector, telemetry::Moment now, const AgentWatchOptions& options,
                         const Terminal& terminal) {
  Table agents({{.title = "AGENT"},
                {.title = "ROLES"},
                {.title = "STATE"},
                {.title = "AGE", .align = Align::right},
                {.title = "EVERY", .align = Align::right},
                {.title = "SAMPLES", .align = Align::right},
                {.title = "MISSING", .align = Align::right},
                {.title = "RESTARTS", .align = Align::right},
                {.title = "CLOCK", .align = Align::right},
                {.title = "TARGETS", .align = Align::right}});
  for (const telemetry::AgentInfo& agent : collector.agents(now)) {
    agents.add({{agent.name},
                {to_string(agent.roles)},
                {std::string(telemetry::to_string(agent.state)), colour_of(agent.state)},
                {to_string(agent.age)},
                {to_string(agent.interval)},
                {fmt::to_string(agent.samples)},
                {fmt::to_string(agent.missing)},
                {fmt::to_string(agent.restarts)},
                {skew_text(agent.skew)},
                {fmt::to_string(agent.targets)}});
  }
  std::string out = agents.render(terminal, !options.no_header);
  Table osts({{.title = "FS"},
              {.title = "OST", .align = Align::right},
              {.title = "SERVER"},
              {.title = "SIZE", .align = Align::right},
              {.title = "USED", .align = Align::right},
              {.title = "BY"},
              {.title = "AGENT"},
              {.title = "AGE", .align = Align::right},
              {.title = "STALE"}});
  for (const telemetry::FileSystemView& view : collector.view(now).file_systems) {
    for (std::size_t i = 0; i < view.osts.size(); ++i) {
      const model::Ost& ost = view.cluster.osts[i];
      const telemetry::OstInfo& info = view.osts[i];
      osts.add({{view.cluster.name},
                {fmt::to_string(ost.index.value)},
                {view.cluster.servers[ost.oss].name},
                {to_string(ost.total)},
                {percent(model::utilisation(ost))},
                {std::string(lustre::to_string(info.seen_by))},
                {info.agent},
                {to_string(info.age)},
                {info.stale ? "stale" : "-", info.stale ? Colour::red : Colour::none}});
    }
  }
  out += '\n';
  return out + osts.render(terminal, !options.no_header);
}

ordered_json picture_json(const telemetry::Collector& collector, const telemetry::Subscriber& subscriber, telemetry::Moment now) {
  const auto counters = subscriber.counters();
  ordered_json json{{"time", seconds_of(now.wall)},
                    {"samples_endpoint", subscriber.samples_endpoint()},
                    {"requests_endpoint", subscriber.requests_endpoint()},
                    {"messages", counters.messages},
                    {"bytes", counters.bytes},
                    {"refused_keys", counters.refused_keys},
                    {"failed_handshakes", counters.failed_handshakes},
                    {"counters", counters_json(collector.counters())},
                    {"agents", ordered_json::array()},
                    {"file_systems", ordered_json::array()}};
  for (const telemetry::AgentInfo& agent : collector.agents(now)) json["agents"].push_back(agent_json(agent));
  for (const auto& view : collector.view(now).file_systems) json["file_systems"].push_back(view_json(view));
  return json;
}

}  // namespace

Result<void> run_agent_watch(const AgentOptions& agent, const AgentWatchOptions& options, Context& context) {
  IEZ_TRY(const config::Settings settings, config::load_settings(config::default_sources()));
  IEZ_TRY(StopSignals stop, StopSignals::block());
  auto opened = telemetry::Subscriber::open({.samples = agent.samples.value_or(settings.serve.samples),
                                             .requests = agent.requests.value_or(settings.serve.requests),
                                             .keys = agent.keys.value_or(settings.serve.keys)});
  if (!opened && opened.error().os_errno == EADDRINUSE) {
    opened.error().message +=
        ": a coordinator listens there, most likely; 'iez serve status' asks it what it knows of agents, or name other --samples "
        "and --requests";
  }
  IEZ_TRY(const auto subscriber, std::move(opened));
  telemetry::Collector collector;
  Duration next = context.clock.monotonic() + options.every;
  Duration renew{0};
  std::uint64_t refused = 0;
  unsigned long long shown = 0;
  while (!stop.came()) {
    const Duration now = context.clock.monotonic();
    if (options.ask && now >= renew) {
      IEZ_CHECK(subscriber->ask({.every = *options.ask, .lasting = kLease}));
      renew = now + kRenew;
    }
    if (now >= next) {
      next = now + options.every;
      const telemetry::Moment moment = telemetry::now(context.clock);
      if (options.json) {
        IEZ_CHECK(print(to_line(picture_json(collector, *subscriber, moment))));
      } else {
        IEZ_CHECK(clear_screen(context.terminal));
        IEZ_CHECK(print(picture_text(collector, moment, options, context.terminal)));
      }
      if (++shown == options.count) return {};
    }
    const auto take = [&](std::span<const std::byte> bytes, std::string_view sender) {
      collector.feed(bytes, telemetry::now(context.clock), sender);
    };
    IEZ_TRY(const std::size_t taken, subscriber->receive(std::min(next - now, kTick), take));
    static_cast<void>(taken);
    if (const auto counters = subscriber->counters(); counters.refused_keys > refused) {
      refused = counters.refused_keys;
      context.log.warning("a key that is not known was refused", {{.key = "from", .value = counters.last_refused}});
    }
  }
  return {};
}

}  // namespace iez::cli
