#include "sim/storage.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "congestion/fixed_policy.hpp"

namespace iez::sim {
namespace {

double ns_per_byte(BytesPerSecond rate) { return rate.value > 0 ? 1e9 / rate.value : 0; }

Duration whole_ns(double ns) { return Duration(static_cast<Duration::rep>(std::llround(ns))); }

constexpr std::uint32_t kLargest = 0x7fff'ffff;  // request; check() allows 1 GiB
constexpr std::size_t kPolicyBytes = 192;        // of a policy's own record, as far as every request needs it

}  // namespace

std::unique_ptr<congestion::CreditPolicy> make_credit_policy(const CongestionLaw& law) {
  if (const auto* fixed = std::get_if<FixedCredits>(&law)) return std::make_unique<congestion::FixedPolicy>(fixed->credits);
  if (const auto* rcc = std::get_if<congestion::RccParameters>(&law)) return std::make_unique<congestion::RccPolicy>(*rcc);
  return std::make_unique<congestion::LatencyGoalPolicy>(std::get<congestion::LatencyGoal>(law));
}

Storage::Storage(const Scenario& scenario, Events& events, RpcPool& rpcs) : events_(events), rpcs_(rpcs) {
  servers_.reserve(server_count(scenario.machine));
  targets_.reserve(target_count(scenario.machine));
  policies_.reserve(target_count(scenario.machine));
  for (const ServerGroup& group : scenario.machine.servers) {
    for (std::uint32_t i = 0; i < group.count; ++i) {
      Server server{
          .threads = group.server.threads,
          .first_target = static_cast<std::uint32_t>(targets_.size()),
          .target_count = group.targets,
          .ns_per_byte = ns_per_byte(group.server.nic_rate),
          .write_ns_per_byte = ns_per_byte(group.target.write_rate),
          .read_ns_per_byte = ns_per_byte(group.target.read_rate.value > 0 ? group.target.read_rate : group.target.write_rate),
          .positioning_ns = static_cast<double>(group.target.positioning.count()),
          .cpu = group.server.cpu_per_rpc / group.server.cores};
      for (std::uint32_t j = 0; j < group.targets; ++j) {
        targets_.push_back({.elevator = Elevator(group.target.patience), .server = static_cast<std::uint32_t>(servers_.size())});
        policies_.push_back(make_credit_policy(scenario.congestion));
      }
      servers_.push_back(server);
    }
  }
}

double Storage::busy_share(std::uint32_t target) const {
  const Server& server = servers_[targets_[target].server];
  return static_cast<double>(server.busy) / static_cast<double>(server.threads);
}

void Storage::arrive(std::uint32_t rpc) {
  rpcs_[rpc].arrived = events_.now();
  Target& target = targets_[rpcs_[rpc].target];
  ++depth_;
  target.result.deepest = std::max(target.result.deepest, ++target.depth);
  Server& server = servers_[target.server];
  server.queue.push(rpcs_, rpc);
  fill_threads(server);
}

void Storage::fill_threads(Server& server) {
  while (server.busy < server.threads && !server.queue.empty()) {
    const std::uint32_t rpc = server.queue.pop(rpcs_);
    ++server.busy;
    const Duration now = events_.now();
    Duration at = now;
    if (server.ns_per_byte > 0) {
      server.nic_free = std::max(server.nic_free, now) + whole_ns(server.ns_per_byte * rpcs_[rpc].bytes);
      at = server.nic_free;
    }
    if (server.cpu > Duration::zero()) {
      server.cpu_free = std::max(server.cpu_free, now) + server.cpu;
      at = std::max(at, server.cpu_free);
    }
    if (at > now) {
      events_.put(at, EventKind::ready, rpc, 0);
    } else {
      ready(rpc);
    }
  }
}

void Storage::ready(std::uint32_t rpc) {
  const std::uint32_t number = rpcs_[rpc].target;
  const Rpc& it = rpcs_[rpc];
  targets_[number].elevator.add(
      {.place = it.place, .request = rpc, .bytes = it.bytes & kLargest, .read = it.read ? 1U : 0U, .since = events_.now()});
  start_disk(number);
}

void Storage::start_disk(std::uint32_t number) {
  Target& target = targets_[number];
  if (target.current != kNone || target.elevator.empty() || !(target.speed > 0)) return;
  const Elevator::Entry next = target.elevator.take(target.head, events_.now());
  const Server& server = servers_[target.server];
  double ns = (next.read != 0 ? server.read_ns_per_byte : server.write_ns_per_byte) * next.bytes;
  if (next.place != target.head) {
    ns += server.positioning_ns;
    ++target.result.positionings;
  }
  target.head = next.place + next.bytes;
  target.current = next.request;
  const Duration time = whole_ns(ns / target.speed);
  target.result.busy += time;
  events_.put(events_.now() + time, EventKind::disk, number, 0);
}

std::uint32_t Storage::finish(std::uint32_t number) {
  Target& target = targets_[number];
  const std::uint32_t rpc = target.current;
  target.current = kNone;
  --target.depth;
  --depth_;
  ++target.result.requests;
  target.result.bytes += Bytes{rpcs_[rpc].bytes};
  Server& server = servers_[target.server];
  --server.busy;
  fill_threads(server);
  start_disk(number);
  return rpc;
}

void Storage::expect(std::uint32_t target) const {
  prefetch(targets_[target]);
  prefetch(policies_[target].get(), kPolicyBytes);
}

void Storage::expect_request(std::uint32_t target, std::uint32_t client) const {
  targets_[target].elevator.expect();
  prefetch(servers_[targets_[target].server]);
  policies_[target]->expect(client);
}

void Storage::set_target_speed(std::uint32_t target, double speed) {
  targets_[target].speed = speed;
  start_disk(target);
}

void Storage::set_server_speed(std::uint32_t server, double speed) {
  const Server& at = servers_[server];
  for (std::uint32_t i = 0; i < at.target_count; ++i) set_target_speed(at.first_target + i, speed);
}

}  // namespace iez::sim
