// Small machines and jobs for tests of the simulator.
#pragma once

#include <string>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"

namespace iez::sim {

// One server with one target that moves 1 MiB in 4 ms, and takes 6 ms to another place.
inline Machine one_target(std::uint32_t nodes) {
  Machine machine{.name = "small", .nodes = nodes};
  machine.network.latency = std::chrono::microseconds(100);
  machine.servers.push_back(
      {.server = {.threads = 16}, .target = {.write_rate = {1048576 / 0.004}, .positioning = std::chrono::milliseconds(6)}});
  return machine;
}

inline Job file_per_process(std::uint32_t processes, std::uint64_t mib_each) {
  return {.name = "job", .processes = processes, .pattern = {.block = Bytes::mib(mib_each)}};
}

inline Scenario small_scenario(std::uint32_t nodes, std::uint64_t mib_each) {
  return {.name = "small", .machine = one_target(nodes), .jobs = {file_per_process(nodes, mib_each)}};
}

// Everything of a result, as text: equal texts are equal results.
inline std::string everything(const RunResult& result) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {}\n", result.end.count(), result.bytes.count, result.requests,
                                 result.timeouts, result.useless, result.deepest, result.events, result.latency.mean);
  for (const JobResult& job : result.jobs) {
    text += fmt::format("{} {} {} {} {}\n", job.name, job.bytes.count, job.finished.value_or(Duration(-1)).count(),
                        job.bandwidth.value, job.latency.p99);
  }
  for (const TargetResult& target : result.targets) {
    text += fmt::format("{} {} {} {} {} {}\n", target.bytes.count, target.requests, target.positionings, target.deepest,
                        target.busy.count(), target.objects);
  }
  for (const Sample& sample : result.samples) {
    text += fmt::format("{} {} {} {} {} {} {} {} {}\n", sample.at.count(), sample.depth, sample.finished, sample.bytes.count,
                        sample.latency, sample.latency_max, sample.active_clients, sample.iops, sample.credits);
  }
  return text;
}

// Any law, with bounds that a small machine can reach.
inline CongestionLaw random_law(Rng& rng) {
  switch (rng.below(3)) {
    case 0:
      return FixedCredits{static_cast<unsigned>(rng.between(1, 40))};
    case 1: {
      congestion::RccParameters rcc;
      rcc.l_max = std::chrono::milliseconds(rng.between(50, 5000));
      rcc.d_low = rng.between(1, 64);
      return rcc;
    }
    default: {
      congestion::LatencyGoal goal;
      if (rng.chance(0.5)) goal.goal = std::chrono::milliseconds(rng.between(50, 5000));
      return goal;
    }
  }
}

inline Scenario random_scenario(std::uint64_t seed) {
  Rng rng(seed);
  Scenario scenario{.name = "random", .seed = seed};
  Machine& machine = scenario.machine;
  machine.name = "random";
  machine.nodes = static_cast<std::uint32_t>(rng.between(1, 20));
  machine.client.processes_per_node = static_cast<std::uint32_t>(rng.between(1, 3));
  machine.client.rpc_size = Bytes{rng.between(1, 4) << 18U};
  machine.client.cache = Bytes::mib(rng.between(1, 16));
  if (rng.chance(0.5)) machine.client.process_rate = {static_cast<double>(rng.between(20, 500)) * 1e6};
  if (rng.chance(0.3)) machine.client.nic_rate = {static_cast<double>(rng.between(100, 1000)) * 1e6};
  if (rng.chance(0.3)) machine.client.import_rate = {static_cast<double>(rng.between(50, 300)) * 1e6};
  machine.network.latency = std::chrono::microseconds(rng.below(2000));
  machine.network.turnaround = std::chrono::milliseconds(rng.below(200));
  const auto groups = rng.between(1, 2);
  for (std::uint64_t i = 0; i < groups; ++i) {
    ServerGroup group{.count = static_cast<std::uint32_t>(rng.between(1, 3)),
                      .targets = static_cast<std::uint32_t>(rng.between(1, 3))};
    group.server.threads = static_cast<std::uint32_t>(rng.between(1, 32));
    if (rng.chance(0.5)) group.server.nic_rate = {static_cast<double>(rng.between(100, 2000)) * 1e6};
    if (rng.chance(0.5)) group.server.cpu_per_rpc = std::chrono::microseconds(rng.below(500));
    group.target.write_rate = {static_cast<double>(rng.between(50, 500)) * 1e6};
    group.target.positioning = std::chrono::microseconds(rng.below(8000));
    machine.servers.push_back(group);
  }
  machine.locks = {.enqueue = std::chrono::microseconds(rng.below(1000)), .revocation = std::chrono::milliseconds(rng.below(20))};
  machine.metadata = {.create = std::chrono::microseconds(rng.below(3000)), .open = std::chrono::microseconds(rng.below(1000))};
  const auto jobs = rng.between(1, 3);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    Job job{.name = fmt::format("job{}", i), .processes = static_cast<std::uint32_t>(rng.between(1, 30))};
    job.pattern = {.access = rng.chance(0.3) ? Access::read : Access::write,
                   .mode = rng.chance(0.5) ? FileMode::shared : FileMode::per_process,
                   .block = Bytes{rng.between(1, 3'000'000)},
                   .segments = rng.between(1, 8),
                   .files = static_cast<std::uint32_t>(rng.between(1, 2))};
    job.striping = {.count = static_cast<std::uint32_t>(rng.between(1, target_count(machine))),
                    .size = Bytes{rng.between(1, 16) << 16U}};
    if (job.pattern.mode == FileMode::shared && rng.chance(0.3))
      job.collective.writers = static_cast<std::uint32_t>(rng.between(1, job.processes));
    job.start = std::chrono::milliseconds(rng.below(2000));
    job.start_spread = std::chrono::milliseconds(rng.below(2000));
    scenario.jobs.push_back(job);
  }
  scenario.congestion = random_law(rng);
  scenario.placement = rng.chance(0.5) ? "lustre-rr" : "balanced";
  scenario.interval = std::chrono::milliseconds(rng.between(10, 500));
  if (rng.chance(0.3)) scenario.background = {.requests_per_second = static_cast<double>(rng.between(1, 20))};
  if (rng.chance(0.3)) {
    scenario.incidents.push_back({.index = 0, .at = std::chrono::milliseconds(500), .speed = 0});
    scenario.incidents.push_back({.index = 0, .at = std::chrono::milliseconds(2500), .speed = 0.5});
  }
  return scenario;
}

}  // namespace iez::sim
