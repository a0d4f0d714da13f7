#include "sim.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"
#include "measure.hpp"
#include "peer.hpp"
#include "sim/event_queue.hpp"
#include "sim/simulation.hpp"
#include "sim_scenarios.hpp"

namespace iez::bench {

namespace {

constexpr std::chrono::seconds kPeerLimit{300};

struct Scale {
  std::size_t holds = 5'000'000;
  std::uint32_t requests = 512;  // of each of 1024 clients
  int rounds = 5;
  std::uint64_t seeds = 3;  // whose bandwidths are compared with SimGrid's
  std::array<std::uint32_t, 3> servers{1250, 625, 312};
};

constexpr Scale kQuick{.holds = 200'000, .requests = 64, .rounds = 1, .seeds = 1, .servers = {20, 10, 5}};

enum class Happening : std::uint8_t { something };

// Nanoseconds that it takes to take an event and put another, with so many waiting and exponential steps.
double hold_ns(std::size_t waiting, std::size_t holds) {
  constexpr std::size_t kSteps = 1U << 16U;
  Rng rng(1);
  std::vector<Duration> steps;
  steps.reserve(kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) steps.emplace_back(static_cast<Duration::rep>(-1e9 * std::log(1 - rng.unit())));
  std::size_t used = 0;
  sim::EventQueue<Happening> queue;
  for (std::uint32_t i = 0; i < waiting; ++i) queue.put(steps[used++ % kSteps], Happening::something, i, 0);
  const auto hold = [&] {
    const auto event = queue.take();
    queue.put(event.at + steps[used++ % kSteps], event.kind, event.subject, event.detail);
  };
  for (std::size_t i = 0; i < waiting; ++i) hold();
  const double start = cpu_seconds();
  for (std::size_t i = 0; i < holds; ++i) hold();
  return 1e9 * (cpu_seconds() - start) / static_cast<double>(holds);
}

void add_kernel(const Scale& scale, std::vector<Figure>& figures) {
  const auto millions = [&](std::size_t waiting) {
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(scale.rounds));
    for (int round = 0; round < scale.rounds; ++round) times.push_back(hold_ns(waiting, scale.holds));
    return 1e3 / median(std::move(times));
  };
  figures.push_back({.name = "sim.kernel_mev_s",
                     .value = millions(10'000),
                     .unit = "M/s",
                     .note = fmt::format("events taken and put, 10,000 waiting, exponential steps; 100 waiting {:.1f}, 1,000,000 "
                                         "{:.1f}; {} events, median of {}",
                                         millions(100), millions(1'000'000), scale.holds, scale.rounds)});
}

struct Timed {
  double seconds = 0;  // CPU, median
  sim::RunResult result;
};

Result<Timed> time_simulation(const sim::Scenario& scenario, int rounds) {
  Timed timed;
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(rounds));
  for (int round = 0; round < rounds; ++round) {
    const double start = cpu_seconds();
    IEZ_TRY(timed.result, sim::simulate(scenario));
    seconds.push_back(cpu_seconds() - start);
  }
  timed.seconds = median(std::move(seconds));
  return timed;
}

Result<void> add_published(const Scale& scale, std::vector<Figure>& figures) {
  const sim::Scenario scenario = tianhe(congestion::RccParameters{}, scale.requests);
  IEZ_TRY(const Timed timed, time_simulation(scenario, scale.rounds));
  const auto events = static_cast<double>(timed.result.events);
  const std::string what =
      fmt::format("CC(60,1024), {} requests of 1 MiB, {:.3g} events, {:.0f} simulated s at {:.1f} MB/s; CPU, median of {}",
                  timed.result.requests, events, std::chrono::duration<double>(timed.result.end).count(),
                  timed.result.bandwidth.value / 1e6, scale.rounds);
  figures.push_back(
      {.name = "sim.cc_mev_s", .value = events / timed.seconds / 1e6, .unit = "M/s", .target = 5, .note = "events; " + what});
  figures.push_back(
      {.name = "sim.cc_s", .value = timed.seconds, .unit = "s", .higher_is_better = false, .target = 2, .note = what});
  return {};
}

struct PeerRun {
  double bandwidth = 0;  // MB/s
  double seconds = 0;    // CPU
  std::uint64_t requests = 0;
};

Result<PeerRun> parse_run(const std::string& output) {
  try {
    const auto json = nlohmann::json::parse(output);
    return PeerRun{.bandwidth = json.at("bandwidth").get<double>(),
                   .seconds = json.at("seconds").get<double>(),
                   .requests = json.at("requests").get<std::uint64_t>()};
  } catch (const nlohmann::json::exception& problem) {
    return fail(Errc::parse, fmt::format("the peer printed: {} ({})", output.substr(0, 200), problem.what()));
  }
}

Result<PeerRun> ask_simgrid(const sim::Scenario& scenario, const std::string& style) {
  IEZ_TRY(std::string program, peer_program("iez-peer-simgrid", "libsimgrid-dev"));
  std::vector<std::string> command = simgrid_arguments(scenario);
  command.insert(command.begin(), std::move(program));
  command.push_back("style=" + style);
  IEZ_TRY(const std::string output, output_of(std::move(command), kPeerLimit));
  return parse_run(output);
}

// The same model with the same seeds, which mean different random numbers.
struct Compared {
  std::vector<double> ours;      // CPU seconds of each run
  std::vector<double> messages;  // SimGrid's
  std::vector<double> shared;
  double our_bandwidth = 0;  // MB/s, sum
  double peer_bandwidth = 0;
  std::uint64_t requests = 0;  // of one run
};

Result<Compared> compare_with_simgrid(const Scale& scale) {
  Compared compared;
  for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
    sim::Scenario scenario = tianhe(sim::FixedCredits{.credits = 8}, scale.requests);
    scenario.seed = seed;
    IEZ_TRY(const PeerRun shared, ask_simgrid(scenario, "shared"));
    IEZ_TRY(const PeerRun messages, ask_simgrid(scenario, "messages"));
    IEZ_TRY(const Timed ours, time_simulation(scenario, scale.rounds));
    if (messages.requests != ours.result.requests || shared.requests != ours.result.requests) {
      return fail(Errc::io, fmt::format("SimGrid served {} and {} requests, iez {}", messages.requests, shared.requests,
                                        ours.result.requests));
    }
    compared.requests = messages.requests;
    compared.ours.push_back(ours.seconds);
    compared.messages.push_back(messages.seconds);
    compared.shared.push_back(shared.seconds);
    compared.our_bandwidth += ours.result.bandwidth.value / 1e6;
    compared.peer_bandwidth += messages.bandwidth;
  }
  return compared;
}

Result<void> add_simgrid(const Scale& scale, std::vector<Figure>& figures) {
  Figure messages{.name = "sim.vs_simgrid", .unit = "x", .target = 20};
  Figure shared{.name = "sim.vs_simgrid_shared", .unit = "x"};
  Figure difference{.name = "sim.simgrid_diff", .unit = "%", .higher_is_better = false, .target = 1};
  const auto compared = compare_with_simgrid(scale);
  if (!compared) {
    if (compared.error().code != Errc::not_found) return std::unexpected(compared.error());
    for (Figure* const figure : {&messages, &shared, &difference}) {
      figure->note = "skipped: " + compared.error().message;
      figures.push_back(std::move(*figure));
    }
    return {};
  }
  const double requests = static_cast<double>(compared->requests);
  const double ours = median(compared->ours);
  const auto told = [&](std::string_view style, double peer) {
    return fmt::format("FIX(8,1024), {} requests: iez {:.3g} us a request, SimGrid {:.3g}, {}; CPU, medians of {} seeds",
                       compared->requests, 1e6 * ours / requests, 1e6 * peer / requests, style, scale.seeds);
  };
  const double by_messages = median(compared->messages);
  messages.value = by_messages / ours;
  messages.note = told("actors that send messages", by_messages);
  const double by_memory = median(compared->shared);
  shared.value = by_memory / ours;
  shared.note = told("actors that share memory and wake each other", by_memory);
  difference.value = 100 * std::abs(compared->our_bandwidth / compared->peer_bandwidth - 1);
  const double seeds = static_cast<double>(scale.seeds);
  difference.note = fmt::format("of bandwidth, mean of {} seeds: iez {:.2f}, SimGrid {:.2f} MB/s", scale.seeds,
                                compared->our_bandwidth / seeds, compared->peer_bandwidth / seeds);
  for (Figure* const figure : {&messages, &shared, &difference}) figures.push_back(std::move(*figure));
  return {};
}

struct Exascale {
  std::uint32_t nodes = 0;
  double seconds = 0;  // CPU
  std::uint64_t peak_kib = 0;
};

Result<Exascale> measure_exascale(std::uint32_t servers) {
  const sim::Scenario scenario = exascale(servers);
  const double start = cpu_seconds_of_children();
  IEZ_TRY(const std::uint64_t peak, peak_growth_kib([&] { return sim::simulate(scenario).has_value(); }));
  return Exascale{.nodes = scenario.machine.nodes, .seconds = cpu_seconds_of_children() - start, .peak_kib = peak};
}

Result<void> add_exascale(const Scale& scale, std::vector<Figure>& figures) {
  std::array<Exascale, 3> runs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    IEZ_TRY(runs[i], measure_exascale(scale.servers[i]));
  }
  const auto& [whole, half, quarter] = runs;
  const auto size_of = [](const Exascale& run) { return static_cast<double>(run.nodes); };
  const std::string what = fmt::format("{} nodes write 4 GiB each to {} targets in {} requests of 16 MiB", whole.nodes,
                                       8 * scale.servers[0], std::uint64_t{whole.nodes} * 256);
  figures.push_back({.name = "sim.exa_gib",
                     .value = static_cast<double>(whole.peak_kib) / (1U << 20U),
                     .unit = "GiB",
                     .higher_is_better = false,
                     .target = 16,
                     .note = "peak memory; " + what});
  figures.push_back(
      {.name = "sim.exa_s", .value = whole.seconds, .unit = "s", .higher_is_better = false, .note = "CPU; " + what});
  figures.push_back({.name = "sim.exa_growth",
                     .value = std::log(whole.seconds / quarter.seconds) / std::log(size_of(whole) / size_of(quarter)),
                     .unit = "exponent",
                     .higher_is_better = false,
                     .note = fmt::format("of CPU time in nodes and targets, the work with them: {:.2f} s, {:.2f} s for {} nodes, "
                                         "{:.2f} s for {}",
                                         whole.seconds, half.seconds, half.nodes, quarter.seconds, quarter.nodes)});
  return {};
}

}  // namespace

Result<std::vector<Figure>> run_sim(const Settings& settings) {
  const Scale scale = settings.quick ? kQuick : Scale{};
  std::vector<Figure> figures;
  // First: memory that other parts would have freed is not seen as growth.
  settings.progress(fmt::format("simulating {} servers with 8 targets and 80 nodes each, and fewer", scale.servers[0]));
  IEZ_CHECK(add_exascale(scale, figures));
  settings.progress("taking and putting events");
  add_kernel(scale, figures);
  settings.progress("simulating 1024 clients under congestion control");
  IEZ_CHECK(add_published(scale, figures));
  settings.progress(fmt::format("simulating fixed credits with SimGrid, too (at most {} s a run)", kPeerLimit.count()));
  IEZ_CHECK(add_simgrid(scale, figures));
  return figures;
}

}  // namespace iez::bench
