#include "flow/min_cost_flow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/rng.hpp"

namespace iez::flow {
namespace {

using Status = MinCostFlow::Status;
using Solution = MinCostFlow::Solution;
using NodeIndex = MinCostFlow::NodeIndex;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

struct Arc {
  NodeIndex tail;
  NodeIndex head;
  std::int64_t capacity;
  std::int64_t cost;
};

struct Network {
  NodeIndex nodes = 0;
  std::vector<Arc> arcs;
};

MinCostFlow build(const Network& network) {
  MinCostFlow flow(network.nodes);
  for (const Arc& arc : network.arcs) flow.add_arc(arc.tail, arc.head, arc.capacity, arc.cost);
  return flow;
}

Solution solve(const Network& network, NodeIndex source, NodeIndex sink) { return build(network).solve(source, sink); }

// Relaxes all arcs n times from all nodes at once; what still improves then lies behind a negative cycle.
bool has_negative_cycle(NodeIndex nodes, const std::vector<Arc>& arcs) {
  std::vector<std::int64_t> distance(nodes, 0);
  for (NodeIndex pass = 0; pass <= nodes; ++pass) {
    bool improved = false;
    for (const Arc& arc : arcs) {
      if (arc.capacity == 0 || distance[arc.tail] + arc.cost >= distance[arc.head]) continue;
      distance[arc.head] = distance[arc.tail] + arc.cost;
      improved = true;
    }
    if (!improved) return false;
  }
  return true;
}

bool reaches(NodeIndex nodes, const std::vector<Arc>& arcs, NodeIndex from, NodeIndex to) {
  std::vector<bool> seen(nodes, false);
  seen[from] = true;
  for (NodeIndex pass = 0; pass < nodes; ++pass) {
    for (const Arc& arc : arcs) {
      if (arc.capacity > 0 && seen[arc.tail]) seen[arc.head] = true;
    }
  }
  return seen[to];
}

// A flow within capacities that conserves, leaves no way from source to sink and no negative cycle is optimal: the proof needs no
// other solver.
void expect_optimal(const Network& network, const MinCostFlow& flow, const Solution& solution, NodeIndex source, NodeIndex sink) {
  ASSERT_EQ(solution.status, Status::optimal) << to_string(solution.status);
  std::vector<std::int64_t> leaves(network.nodes, 0);
  std::vector<Arc> residual;
  std::int64_t cost = 0;
  for (MinCostFlow::ArcIndex a = 0; a < network.arcs.size(); ++a) {
    const Arc& arc = network.arcs[a];
    const std::int64_t amount = flow.flow(a);
    ASSERT_GE(amount, 0) << "arc " << a;
    ASSERT_LE(amount, arc.capacity) << "arc " << a;
    leaves[arc.tail] += amount;
    leaves[arc.head] -= amount;
    cost += amount * arc.cost;
    residual.push_back({arc.tail, arc.head, arc.capacity - amount, arc.cost});
    residual.push_back({arc.head, arc.tail, amount, -arc.cost});
  }
  for (NodeIndex v = 0; v < network.nodes; ++v) {
    const std::int64_t expected = v == source ? solution.max_flow : v == sink ? -solution.max_flow : 0;
    EXPECT_EQ(leaves[v], expected) << "node " << v;
  }
  EXPECT_EQ(cost, solution.cost);
  EXPECT_FALSE(reaches(network.nodes, residual, source, sink));
  EXPECT_FALSE(has_negative_cycle(network.nodes, residual));
}

class Golden : public testing::TestWithParam<int> {};

TEST_P(Golden, MaxFlowAndMinCost) {
  const std::string path = fmt::format("{}/../golden/flow/mcmf_{:02}.json", IEZ_TEST_DATA, GetParam());
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const auto golden = nlohmann::json::parse(file);
  Network network{.nodes = golden.at("n").get<NodeIndex>()};
  for (const auto& arc : golden.at("arcs")) {
    network.arcs.push_back(
        {arc.at(0).get<NodeIndex>(), arc.at(1).get<NodeIndex>(), arc.at(2).get<std::int64_t>(), arc.at(3).get<std::int64_t>()});
  }
  ASSERT_FALSE(network.arcs.empty());
  const auto source = golden.at("source").get<NodeIndex>();
  const auto sink = golden.at("sink").get<NodeIndex>();
  MinCostFlow flow = build(network);
  const Solution solution = flow.solve(source, sink);
  EXPECT_EQ(solution.max_flow, golden.at("max_flow").get<std::int64_t>());
  EXPECT_EQ(solution.cost, golden.at("min_cost").get<std::int64_t>());
  expect_optimal(network, flow, solution, source, sink);
}

INSTANTIATE_TEST_SUITE_P(MinCostFlow, Golden, testing::Range(0, 15));

TEST(MinCostFlow, TakesTheDearWayForTheLastUnit) {
  // 0 -> 1 -> 3 costs 2, 0 -> 2 -> 3 costs 7, and 1 -> 2 lets the second unit through node 1 around the full arc 1 -> 3.
  const Network network{.nodes = 4, .arcs = {{0, 1, 2, 1}, {0, 2, 1, 5}, {1, 2, 1, 1}, {1, 3, 1, 1}, {2, 3, 2, 2}}};
  MinCostFlow flow = build(network);
  EXPECT_EQ(flow.solve(0, 3), (Solution{.max_flow = 3, .cost = 2 + 4 + 7}));
  for (MinCostFlow::ArcIndex a = 0; a < 5; ++a) EXPECT_EQ(flow.flow(a), network.arcs[a].capacity) << a;
}

TEST(MinCostFlow, UndoesAnEarlierChoice) {
  // The cheapest single way is 0 -> 1 -> 2 -> 3, cost 3. Two units need 0 -> 1 -> 3 and 0 -> 2 -> 3, and give 1 -> 2 back.
  const Network network{.nodes = 4, .arcs = {{0, 1, 1, 1}, {0, 2, 1, 10}, {1, 2, 1, 1}, {1, 3, 1, 10}, {2, 3, 1, 1}}};
  MinCostFlow flow = build(network);
  EXPECT_EQ(flow.solve(0, 3), (Solution{.max_flow = 2, .cost = 22}));
  EXPECT_EQ(flow.flow(2), 0);
}

TEST(MinCostFlow, EmptyAndUnreachable) {
  EXPECT_EQ(solve({.nodes = 2}, 0, 1), (Solution{}));
  EXPECT_EQ(solve({.nodes = 3, .arcs = {{0, 1, 5, 1}, {2, 1, 5, 1}}}, 0, 2), (Solution{}));
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{1, 0, 5, 1}}}, 0, 1), (Solution{}));
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 0, 1}}}, 0, 1), (Solution{}));
}

TEST(MinCostFlow, ParallelArcsFillFromTheCheapest) {
  MinCostFlow flow(2);
  const auto dear = flow.add_arc(0, 1, 3, 9);
  const auto cheap = flow.add_arc(0, 1, 3, 1);
  const auto loop = flow.add_arc(0, 0, 3, 0);
  const auto back = flow.add_arc(1, 0, 3, 0);
  EXPECT_EQ(flow.flow(cheap), 0) << "before solving";
  EXPECT_EQ(flow.solve(0, 1), (Solution{.max_flow = 6, .cost = 30}));
  EXPECT_EQ(flow.flow(dear), 3);
  EXPECT_EQ(flow.flow(cheap), 3);
  EXPECT_EQ(flow.flow(loop), 0);
  EXPECT_EQ(flow.flow(back), 0);
}

TEST(MinCostFlow, SolvesAgainFromTheStart) {
  MinCostFlow flow(3);
  flow.add_arc(0, 1, 4, 2);
  EXPECT_EQ(flow.solve(0, 1), (Solution{.max_flow = 4, .cost = 8}));
  EXPECT_EQ(flow.solve(0, 1), (Solution{.max_flow = 4, .cost = 8}));
  const auto added = flow.add_arc(1, 2, 3, 5);
  EXPECT_EQ(flow.flow(added), 0) << "added since";
  EXPECT_EQ(flow.flow(0), 4);
  EXPECT_EQ(flow.solve(0, 2), (Solution{.max_flow = 3, .cost = 21}));
  EXPECT_EQ(flow.flow(0), 3);
  EXPECT_EQ(flow.solve(0, 9).status, Status::bad_node);
  EXPECT_EQ(flow.flow(0), 0) << "after a solve that was not optimal";
}

TEST(MinCostFlow, RejectsNodesThatDoNotExist) {
  const Network network{.nodes = 2, .arcs = {{0, 1, 1, 1}}};
  EXPECT_EQ(solve(network, 0, 1).status, Status::optimal);
  EXPECT_EQ(solve(network, 0, 2).status, Status::bad_node);
  EXPECT_EQ(solve(network, 2, 1).status, Status::bad_node);
  EXPECT_EQ(solve(network, 1, 1).status, Status::bad_node);
  EXPECT_EQ(solve({.nodes = 0}, 0, 0).status, Status::bad_node);
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 2, 1, 1}}}, 0, 1).status, Status::bad_node);
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{7, 1, 0, 1}}}, 0, 1).status, Status::bad_node);
}

TEST(MinCostFlow, CapacityRange) {
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, -1, 1}}}, 0, 1).status, Status::bad_capacity_range);
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, kMax, 1}}}, 0, 1), (Solution{.max_flow = kMax, .cost = kMax}));
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, kMax, 0}, {0, 1, 1, 0}}}, 0, 1).status, Status::bad_capacity_range);
  // One side that fits bounds the flow.
  EXPECT_EQ(solve({.nodes = 3, .arcs = {{0, 1, kMax, 0}, {0, 1, kMax, 0}, {1, 2, kMax, 0}}}, 0, 2), (Solution{.max_flow = kMax}));
  // Both directions full.
  EXPECT_EQ(solve({.nodes = 3, .arcs = {{0, 1, kMax, 0}, {1, 0, kMax, 0}, {1, 2, kMax, 1}, {2, 1, kMax, 1}}}, 0, 2),
            (Solution{.max_flow = kMax, .cost = kMax}));
}

TEST(MinCostFlow, CostRange) {
  constexpr std::int64_t kMost = std::int64_t{1} << 57;  // 2 nodes: 2^58
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 3, kMost}}}, 0, 1), (Solution{.max_flow = 3, .cost = 3 * kMost}));
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 3, -kMost}}}, 0, 1), (Solution{.max_flow = 3, .cost = -3 * kMost}));
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 3, kMost + 1}}}, 0, 1).status, Status::bad_cost_range);
  EXPECT_EQ(solve({.nodes = 3, .arcs = {{0, 1, 3, kMost}}}, 0, 1).status, Status::bad_cost_range);
  for (const std::int64_t extreme : {kMax, -kMax, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 1, extreme}}}, 0, 1).status, Status::bad_cost_range);
    EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 0, extreme}, {0, 1, 1, 1}}}, 0, 1), (Solution{.max_flow = 1, .cost = 1}))
        << "an arc without capacity cannot hurt";
  }
  // The total: 64 * 2^57 = 2^63 is one too many.
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 63, kMost}}}, 0, 1).cost, 63 * kMost);
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 64, kMost}}}, 0, 1), (Solution{.status = Status::bad_cost_range}));
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, kMax, kMost}}}, 0, 1), (Solution{.status = Status::bad_cost_range}));
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, kMax, -2}}}, 0, 1), (Solution{.status = Status::bad_cost_range}));
}

TEST(MinCostFlow, PotentialsAtTheEdgeOfTheirRange) {
  // A chain there and back over the whole range: every node costs the most an arc may, up or down.
  constexpr NodeIndex kNodes = 256;
  constexpr std::int64_t kMost = (std::int64_t{1} << 58) / kNodes;
  Network network{.nodes = kNodes};
  for (NodeIndex v = 0; v + 1 < kNodes; ++v) {
    network.arcs.push_back({v, v + 1, 2, -kMost});
    network.arcs.push_back({v, v + 1, 1, kMost});
  }
  MinCostFlow flow = build(network);
  const Solution solution = flow.solve(0, kNodes - 1);
  EXPECT_EQ(solution, (Solution{.max_flow = 3, .cost = -kMost * (kNodes - 1)}));
}

TEST(MinCostFlow, NegativeCycles) {
  // Far from source and sink, too: a flow could circulate there for ever lower cost.
  EXPECT_EQ(solve({.nodes = 4, .arcs = {{0, 1, 1, 1}, {2, 3, 1, 1}, {3, 2, 1, -2}}}, 0, 1).status, Status::negative_cycle);
  EXPECT_EQ(solve({.nodes = 4, .arcs = {{0, 1, 1, 1}, {2, 3, 1, 1}, {3, 2, 1, -1}}}, 0, 1).status, Status::optimal);
  EXPECT_EQ(solve({.nodes = 4, .arcs = {{0, 1, 1, 1}, {2, 3, 0, 1}, {3, 2, 1, -2}}}, 0, 1).status, Status::optimal);
  EXPECT_EQ(solve({.nodes = 3, .arcs = {{0, 1, 1, 1}, {2, 2, 1, -1}}}, 0, 1).status, Status::negative_cycle);
  EXPECT_EQ(solve({.nodes = 3, .arcs = {{0, 1, 1, 1}, {2, 2, 0, -1}}}, 0, 1).status, Status::optimal);
  EXPECT_EQ(solve({.nodes = 2, .arcs = {{0, 1, 1, 1}, {1, 0, 1, -2}}}, 0, 1), (Solution{.status = Status::negative_cycle}));
}

TEST(MinCostFlow, LongChainNeedsNoStack) {
  constexpr NodeIndex kNodes = 300'000;
  Network network{.nodes = kNodes};
  for (NodeIndex v = 0; v + 1 < kNodes; ++v) network.arcs.push_back({v, v + 1, 5, 1});
  EXPECT_EQ(solve(network, 0, kNodes - 1), (Solution{.max_flow = 5, .cost = std::int64_t{5} * (kNodes - 1)}));
}

TEST(MinCostFlow, NamesOfStatuses) {
  EXPECT_EQ(to_string(Status::optimal), "optimal");
  EXPECT_EQ(to_string(Status::negative_cycle), "negative_cycle");
  EXPECT_EQ(to_string(Status::bad_node), "bad_node");
  EXPECT_EQ(to_string(Status::bad_capacity_range), "bad_capacity_range");
  EXPECT_EQ(to_string(Status::bad_cost_range), "bad_cost_range");
}

std::int64_t draw(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

// Any arcs: loops, parallel and antiparallel ones, without capacity, of few or many different costs.
Network random_network(Rng& rng, std::int64_t lowest_cost) {
  Network network{.nodes = static_cast<NodeIndex>(rng.between(2, 12))};
  const std::int64_t highest_cost = rng.chance(0.5) ? 3 : 1000;
  const std::int64_t most = rng.chance(0.3) ? 1 : 20;
  const std::uint64_t arcs = rng.below(std::uint64_t{network.nodes} * 5);
  for (std::uint64_t a = 0; a < arcs; ++a) {
    network.arcs.push_back({static_cast<NodeIndex>(rng.below(network.nodes)), static_cast<NodeIndex>(rng.below(network.nodes)),
                            draw(rng, 0, most), draw(rng, lowest_cost, highest_cost)});
  }
  return network;
}

TEST(MinCostFlow, RandomNetworksAreProvedOptimal) {
  int flowed = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const Network network = random_network(rng, 0);
    MinCostFlow flow = build(network);
    const Solution solution = flow.solve(0, 1);
    expect_optimal(network, flow, solution, 0, 1);
    flowed += solution.max_flow > 0 ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(flowed, 500) << "the networks drawn hardly test anything";
}

TEST(MinCostFlow, NegativeCostsWithoutCyclesAreProvedOptimal) {
  int negative = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    Network network = random_network(rng, -500);
    std::erase_if(network.arcs, [](const Arc& arc) { return arc.tail == arc.head; });
    for (Arc& arc : network.arcs) {
      if (arc.tail > arc.head) std::swap(arc.tail, arc.head);
    }
    MinCostFlow flow = build(network);
    const Solution solution = flow.solve(0, network.nodes - 1);
    expect_optimal(network, flow, solution, 0, network.nodes - 1);
    negative += solution.cost < 0 ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(negative, 100);
}

TEST(MinCostFlow, NegativeCyclesAreFoundExactlyWhereTheyAre) {
  int cycles = 0;
  int solved = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const Network network = random_network(rng, -1);
    MinCostFlow flow = build(network);
    const Solution solution = flow.solve(0, 1);
    if (has_negative_cycle(network.nodes, network.arcs)) {
      EXPECT_EQ(solution, (Solution{.status = Status::negative_cycle}));
      ++cycles;
    } else {
      expect_optimal(network, flow, solution, 0, 1);
      ++solved;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(cycles, 200);
  EXPECT_GT(solved, 200);
}

TEST(MinCostFlow, RequestsOnTargetsAreProvedOptimal) {
  // The shape of use: requests of a few stripes each, unit arcs priced by server, targets priced one by one.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const auto requests = static_cast<NodeIndex>(rng.between(5, 30));
    const auto targets = static_cast<NodeIndex>(rng.between(5, 24));
    const NodeIndex sink = requests + targets + 1;
    Network network{.nodes = sink + 1};
    for (NodeIndex i = 1; i <= requests; ++i) {
      network.arcs.push_back({0, i, 8, 0});
      for (NodeIndex j = 0; j < targets; ++j) {
        if (rng.chance(0.9)) network.arcs.push_back({i, requests + 1 + j, 1, j % 3});
      }
    }
    for (NodeIndex j = 0; j < targets; ++j)
      network.arcs.push_back({requests + 1 + j, sink, draw(rng, 1, 15), draw(rng, 0, 1'000'000)});
    MinCostFlow flow = build(network);
    expect_optimal(network, flow, flow.solve(0, sink), 0, sink);
  }
}

}  // namespace
}  // namespace iez::flow
