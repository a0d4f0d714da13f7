#include "sim_scenarios.hpp"

#include <chrono>
#include <variant>

#include <fmt/format.h>

namespace iez::bench {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kClients = 1024;
constexpr Duration kTransfer = microseconds(4090);  // of 1 MiB; with the positioning below it gives the published bandwidths
constexpr std::uint32_t kNodesPerServer = 80;

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

sim::Scenario tianhe(const sim::CongestionLaw& law, std::uint32_t requests) {
  sim::Scenario scenario;
  scenario.name = "tianhe-1";
  sim::Machine& machine = scenario.machine;
  machine.name = "tianhe-1";
  machine.nodes = kClients;
  machine.network = {.latency = microseconds(300), .turnaround = milliseconds(1500)};
  sim::ServerGroup group;
  group.server.threads = 128;
  group.target.write_rate = rate_of(machine.client.rpc_size, kTransfer);
  group.target.positioning = microseconds(5435);
  machine.servers.push_back(group);
  sim::Job job;
  job.name = "writers";
  job.processes = kClients;
  job.pattern.block = Bytes::mib(requests);
  job.start_spread = seconds(450);
  scenario.jobs.push_back(job);
  scenario.congestion = law;
  return scenario;
}

sim::Scenario exascale(std::uint32_t servers) {
  sim::Scenario scenario;
  scenario.name = "exascale";
  sim::Machine& machine = scenario.machine;
  machine.name = "exascale";
  machine.nodes = servers * kNodesPerServer;
  machine.client.rpc_size = Bytes::mib(16);
  machine.client.cache = Bytes::mib(64);
  machine.network.latency = microseconds(5);
  sim::ServerGroup group;
  group.count = servers;
  group.targets = 8;
  group.server.threads = 256;
  group.target.write_rate = {5e9};
  group.target.positioning = milliseconds(2);
  machine.servers.push_back(group);
  sim::Job job;
  job.name = "checkpoint";
  job.processes = machine.nodes;
  job.pattern.block = Bytes::gib(4);
  job.pattern.transfer = Bytes::mib(16);
  job.striping.size = Bytes::mib(16);
  scenario.jobs.push_back(job);
  scenario.congestion = sim::FixedCredits{.credits = 8};
  return scenario;
}

std::vector<std::string> simgrid_arguments(const sim::Scenario& scenario) {
  const sim::Machine& machine = scenario.machine;
  const sim::ServerGroup& group = machine.servers.front();
  const sim::Job& job = scenario.jobs.front();
  const auto size = static_cast<double>(machine.client.rpc_size.count);
  return {fmt::format("clients={}", job.processes),
          fmt::format("credits={}", std::get<sim::FixedCredits>(scenario.congestion).credits),
          fmt::format("requests={}", job.pattern.block.count / machine.client.rpc_size.count),
          fmt::format("threads={}", group.server.threads),
          fmt::format("transfer={}", size / group.target.write_rate.value),
          fmt::format("positioning={}", in_seconds(group.target.positioning)),
          fmt::format("turnaround={}", in_seconds(machine.network.turnaround)),
          fmt::format("latency={}", in_seconds(machine.network.latency)),
          fmt::format("spread={}", in_seconds(job.start_spread)),
          fmt::format("size={}", size),
          fmt::format("seed={}", scenario.seed)};
}

}  // namespace iez::bench
