#include "placement/paper_policy.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "flow/min_cost_flow.hpp"

namespace iez::placement {

namespace {

// Costs are shares; the flow wants whole numbers.
constexpr double kCostScale = 1e6;

std::vector<std::uint32_t> members_of(const TargetTable& table, std::uint32_t pool) {
  Usable members = usable(table, pool);
  members.sound.insert(members.sound.end(), members.second.begin(), members.second.end());
  std::ranges::sort(members.sound);
  return members.sound;
}

double load_of(const TargetTable& table, std::uint32_t at) { return table.servers[table.targets[at].server].load.value_or(0); }

flow::MinCostFlow::Cost scaled(double share) { return std::llround(share * kCostScale); }

void set_offsets(Assignment& assignment, std::span<const Demand> demands) {
  assignment.offsets.reserve(demands.size() + 1);
  assignment.offsets.push_back(0);
  for (const Demand& demand : demands) assignment.offsets.push_back(assignment.offsets.back() + demand.count);
  assignment.targets.reserve(assignment.offsets.back());
}

}  // namespace

Result<Assignment> PaperFlowPolicy::assign(const TargetTable& table, std::span<const Demand> demands) {
  std::vector<std::vector<std::uint32_t>> members(table.pools.size());
  for (std::uint32_t pool = 0; pool < members.size(); ++pool) members[pool] = members_of(table, pool);
  std::size_t arcs = demands.size() + table.targets.size();
  std::uint64_t largest = 1;
  for (const Demand& demand : demands) {
    arcs += members[demand.pool].size();
    largest = std::max(largest, demand.object_bytes.count);
  }
  if (arcs > kMostArcs) {
    return fail(Errc::limit,
                fmt::format("policy 'paper' needs one arc for each file and target, {} here: at most {}", arcs, kMostArcs));
  }

  // Nodes: source, requests, targets, sink.
  const auto first_target = static_cast<std::uint32_t>(1 + demands.size());
  const auto sink = static_cast<std::uint32_t>(first_target + table.targets.size());
  flow::MinCostFlow network(sink + 1);
  network.reserve_arcs(arcs);
  std::vector<std::uint32_t> first_arc;
  for (std::uint32_t i = 0; i < demands.size(); ++i) network.add_arc(0, 1 + i, demands[i].count, 0);
  for (std::uint32_t i = 0; i < demands.size(); ++i) {
    first_arc.push_back(network.arcs());
    for (const std::uint32_t at : members[demands[i].pool]) {
      network.add_arc(1 + i, first_target + at, demands[i].per_target, scaled(load_of(table, at)));
    }
  }
  for (std::uint32_t at = 0; at < table.targets.size(); ++at) {
    const Target& target = table.targets[at];
    if (target.exclusion != Exclusion::none) continue;
    const double use = static_cast<double>(target.used.count) / static_cast<double>(target.capacity.count);
    network.add_arc(first_target + at, sink, static_cast<std::int64_t>(target.available.count / largest), scaled(use));
  }
  const auto solution = network.solve(0, sink);
  if (solution.status != flow::MinCostFlow::Status::optimal) {
    return fail(Errc::limit, fmt::format("policy 'paper': the flow has no solution: {}", to_string(solution.status)));
  }
  Assignment assignment;
  set_offsets(assignment, demands);
  for (std::uint32_t i = 0; i < demands.size(); ++i) {
    std::uint32_t placed = 0;
    for (std::size_t m = 0; m < members[demands[i].pool].size(); ++m) {
      const auto units = network.flow(first_arc[i] + static_cast<std::uint32_t>(m));
      assignment.targets.insert(assignment.targets.end(), static_cast<std::size_t>(units), members[demands[i].pool][m]);
      placed += static_cast<std::uint32_t>(units);
    }
    if (placed < demands[i].count) return Assignment{.shortage = Shortage{i, placed}};
  }
  return assignment;
}

Result<Assignment> PaperSequentialPolicy::assign(const TargetTable& table, std::span<const Demand> demands) {
  std::vector<Bytes> added(table.targets.size());
  std::vector<std::vector<std::uint32_t>> members(table.pools.size());
  for (std::uint32_t pool = 0; pool < members.size(); ++pool) members[pool] = members_of(table, pool);
  Assignment assignment;
  set_offsets(assignment, demands);
  struct Candidate {
    double cost;
    std::uint32_t at;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Demand& demand = demands[i];
    // The flow of a single request takes the cheapest units.
    candidates.clear();
    for (const std::uint32_t at : members[demand.pool]) {
      const Target& target = table.targets[at];
      std::uint64_t room = target.available.count - added[at].count;
      const double use = static_cast<double>((target.used + added[at]).count) / static_cast<double>(target.capacity.count);
      for (std::uint32_t unit = 0; unit < demand.per_target && room >= demand.object_bytes.count; ++unit) {
        candidates.push_back({load_of(table, at) + use, at});
        room -= demand.object_bytes.count;
      }
    }
    if (candidates.size() < demand.count) {
      return Assignment{.shortage = Shortage{i, static_cast<std::uint32_t>(candidates.size())}};
    }
    std::ranges::partial_sort(candidates, candidates.begin() + demand.count);
    for (std::uint32_t stripe = 0; stripe < demand.count; ++stripe) {
      assignment.targets.push_back(candidates[stripe].at);
      added[candidates[stripe].at] += demand.object_bytes;
    }
  }
  return assignment;
}

}  // namespace iez::placement
