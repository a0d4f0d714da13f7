// Servers and targets: a queue before the threads of each server, a network interface and cores that the threads share, and
// behind them the elevator and disks of each target.
//
// A thread takes a request from the queue of its server in the order of arrival, gets its data and prepares it, hands it to the
// target, and is free again when the target has finished it.
//
// Thread safety: none. The events ready and disk are put here, and to be handed back here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "congestion/credit_policy.hpp"
#include "sim/elevator.hpp"
#include "sim/events.hpp"
#include "sim/result.hpp"
#include "sim/rpc_pool.hpp"
#include "sim/scenario.hpp"

namespace iez::sim {

class Storage {
 public:
  Storage(const Scenario& scenario, Events& events, RpcPool& rpcs);

  [[nodiscard]] std::size_t targets() const { return targets_.size(); }
  [[nodiscard]] congestion::CreditPolicy& policy(std::uint32_t target) { return *policies_[target]; }
  [[nodiscard]] const TargetResult& result(std::uint32_t target) const { return targets_[target].result; }
  [[nodiscard]] std::uint64_t depth() const { return depth_; }  // of all targets

  // Share of the threads of the target's server that serve somebody: 0 to 1.
  [[nodiscard]] double busy_share(std::uint32_t target) const;

  void arrive(std::uint32_t rpc);
  void ready(std::uint32_t rpc);

  // The request that the target of this number has finished. The target goes on with the next.
  std::uint32_t finish(std::uint32_t number);

  // Hints: a request comes to this target, or is finished there, soon; then also what the record of the target leads to.
  void expect(std::uint32_t target) const;
  void expect_request(std::uint32_t target, std::uint32_t client) const;
  // The request that the disks of the target are at; kNone: none.
  [[nodiscard]] std::uint32_t current(std::uint32_t target) const { return targets_[target].current; }

  // 1 is normal, 0 stands still. The request on the disks ends as it would have.
  void set_target_speed(std::uint32_t target, double speed);
  void set_server_speed(std::uint32_t server, double speed);

 private:
  struct alignas(kCacheLine) Server {
    RpcQueue queue;
    std::uint32_t threads = 1;
    std::uint32_t busy = 0;
    std::uint32_t first_target = 0;
    std::uint32_t target_count = 0;
    double ns_per_byte = 0;        // of its network interface; 0: no limit
    double write_ns_per_byte = 0;  // of each target
    double read_ns_per_byte = 0;
    double positioning_ns = 0;
    Duration cpu{};  // of one request, spread over all cores
    Duration nic_free{};
    Duration cpu_free{};
  };

  // Two cache lines.
  struct alignas(kCacheLine) Target {
    Elevator elevator;
    TargetResult result;
    std::uint64_t head = 0;
    std::uint64_t depth = 0;
    std::uint32_t server = 0;
    std::uint32_t current = kNone;
    double speed = 1;
  };

  static_assert(sizeof(Target) == 2 * kCacheLine);

  void fill_threads(Server& server);
  void start_disk(std::uint32_t number);

  Events& events_;
  RpcPool& rpcs_;
  std::vector<Server> servers_;
  std::vector<Target> targets_;
  std::vector<std::unique_ptr<congestion::CreditPolicy>> policies_;  // of each target
  std::uint64_t depth_ = 0;
};

// The law of the scenario, for one target.
std::unique_ptr<congestion::CreditPolicy> make_credit_policy(const CongestionLaw& law);

}  // namespace iez::sim
