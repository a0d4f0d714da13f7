// One question to the simulator: a machine, what runs on it, the laws in force, what goes wrong, what to watch.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "congestion/latency_goal.hpp"
#include "congestion/rcc_policy.hpp"
#include "sim/machine.hpp"
#include "sim/workload.hpp"

namespace iez::sim {

// The same number of credits for all, for ever: max_rpcs_in_flight.
struct FixedCredits {
  unsigned credits = 8;
};

using CongestionLaw = std::variant<FixedCredits, congestion::RccParameters, congestion::LatencyGoal>;

// A target or a server that changes its speed at some time: 0.5 is half as fast, 0 is down.
struct Incident {
  enum class Where : std::uint8_t { target, server };
  Where where = Where::target;
  std::uint32_t index = 0;
  Duration at{};
  double speed = 1;
};

// Other users of the targets: requests of their own at a given rate, each to a random place of a random target.
struct Background {
  double requests_per_second = 0;  // on each target
  Bytes size = Bytes::mib(1);
};

// The policy that places by what is written together (planning/planner.hpp): each file of a process is a step of its job.
inline constexpr std::string_view kByPhases = "phases";

// Every policy that a scenario may name.
std::vector<std::string_view> placement_names();

struct Scenario {
  std::string name;
  Machine machine;
  std::vector<Job> jobs;
  std::string placement = "lustre-rr";  // a policy of placement/policy.hpp, or kByPhases
  CongestionLaw congestion = FixedCredits{};
  std::vector<Incident> incidents;
  Background background;
  std::uint64_t seed = 1;
  std::optional<Duration> until;                // none: until all jobs are done
  Duration interval = std::chrono::seconds(1);  // between samples
};

}  // namespace iez::sim
