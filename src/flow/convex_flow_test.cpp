#include "flow/convex_flow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "flow/min_cost_flow.hpp"

namespace iez::flow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Status = ConvexSolution::Status;
using Units = std::vector<std::vector<std::uint32_t>>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ConvexSolution solve(const ConvexProblem& problem) {
  auto solved = solve_convex_flow(problem);
  EXPECT_TRUE(solved) << (solved ? "" : solved.error().message);
  return solved ? *std::move(solved) : ConvexSolution{};
}

bool is_allowed(const ConvexProblem& problem, std::size_t k, std::size_t j) {
  const auto& allowed = problem.classes[k].allowed;
  return allowed.empty() || std::ranges::find(allowed, j) != allowed.end();
}

std::uint64_t total_units(const ConvexProblem& problem) {
  std::uint64_t units = 0;
  for (const auto& one : problem.classes) units += one.units;
  return units;
}

// Written as the sum of the cost of every single unit, in the order they come.
double sum_of_unit_costs(const ConvexProblem& problem, const Units& units) {
  std::vector<std::uint32_t> servers(problem.servers.size(), 0);
  double cost = 0;
  for (std::size_t j = 0; j < problem.targets.size(); ++j) {
    const auto& target = problem.targets[j];
    std::uint32_t load = 0;
    for (const auto& row : units) load += row[j];
    for (std::uint32_t x = 1; x <= load; ++x) cost += target.a + target.b * (x - 0.5);
    servers[target.server] += load;
  }
  for (std::size_t o = 0; o < servers.size(); ++o) {
    for (std::uint32_t x = 1; x <= servers[o]; ++x) cost += problem.servers[o].alpha + problem.servers[o].beta * (x - 0.5);
  }
  return cost;
}

void expect_valid(const ConvexProblem& problem, const ConvexSolution& solution) {
  ASSERT_EQ(solution.units.size(), problem.classes.size());
  std::uint64_t placed = 0;
  std::vector<std::uint64_t> loads(problem.targets.size(), 0);
  for (std::size_t k = 0; k < problem.classes.size(); ++k) {
    ASSERT_EQ(solution.units[k].size(), problem.targets.size());
    std::uint64_t of_class = 0;
    for (std::size_t j = 0; j < problem.targets.size(); ++j) {
      const std::uint32_t units = solution.units[k][j];
      EXPECT_LE(units, problem.classes[k].per_target) << k << ' ' << j;
      EXPECT_TRUE(units == 0 || is_allowed(problem, k, j)) << k << ' ' << j;
      loads[j] += units;
      of_class += units;
    }
    EXPECT_LE(of_class, problem.classes[k].units) << k;
    placed += of_class;
  }
  for (std::size_t j = 0; j < loads.size(); ++j) EXPECT_LE(loads[j], problem.targets[j].capacity) << j;
  EXPECT_EQ(solution.placed, placed);
  EXPECT_EQ(solution.placed + solution.unplaced, total_units(problem));
  EXPECT_EQ(solution.status, solution.unplaced == 0 ? Status::optimal : Status::infeasible);
  const double cost = sum_of_unit_costs(problem, solution.units);
  EXPECT_NEAR(solution.cost, cost, 1e-9 * (1 + std::abs(cost)));
}

// Any exchange is a cycle of the residual network, source and sink included; none may pay. Units left over may take the place of
// others, which is a cycle through the source.
void expect_no_exchange_pays(const ConvexProblem& problem, const ConvexSolution& solution) {
  const std::size_t classes = problem.classes.size();
  const std::size_t targets = problem.targets.size();
  const std::size_t source = classes + targets + problem.servers.size();
  const std::size_t sink = source + 1;
  struct Arc {
    std::size_t tail;
    std::size_t head;
    double cost;
  };
  std::vector<Arc> arcs;
  std::vector<std::uint32_t> servers(problem.servers.size(), 0);
  for (std::size_t j = 0; j < targets; ++j) {
    const auto& target = problem.targets[j];
    const std::size_t server = classes + targets + target.server;
    std::uint32_t load = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const std::uint32_t units = solution.units[k][j];
      load += units;
      if (units > 0) arcs.push_back({classes + j, k, 0});
      if (units < problem.classes[k].per_target && is_allowed(problem, k, j)) arcs.push_back({k, classes + j, 0});
    }
    servers[target.server] += load;
    if (load < target.capacity) arcs.push_back({classes + j, server, target.a + target.b * (load + 0.5)});
    if (load > 0) arcs.push_back({server, classes + j, -(target.a + target.b * (load - 0.5))});
  }
  for (std::size_t o = 0; o < servers.size(); ++o) {
    const auto& server = problem.servers[o];
    arcs.push_back({classes + targets + o, sink, server.alpha + server.beta * (servers[o] + 0.5)});
    if (servers[o] > 0) arcs.push_back({sink, classes + targets + o, -(server.alpha + server.beta * (servers[o] - 0.5))});
  }
  for (std::size_t k = 0; k < classes; ++k) {
    std::uint32_t units = 0;
    for (const auto one : solution.units[k]) units += one;
    if (units > 0) arcs.push_back({k, source, 0});
    if (units < problem.classes[k].units) arcs.push_back({source, k, 0});
  }
  constexpr double kTolerance = 1e-9;
  std::vector<double> distance(sink + 1, 0);
  bool improved = true;
  for (std::size_t pass = 0; improved && pass <= sink + 1; ++pass) {
    improved = false;
    for (const Arc& arc : arcs) {
      if (distance[arc.tail] + arc.cost >= distance[arc.head] - kTolerance) continue;
      distance[arc.head] = distance[arc.tail] + arc.cost;
      improved = true;
    }
  }
  EXPECT_FALSE(improved) << "a cycle of exchanges lowers the cost";
}

struct Best {
  std::uint64_t placed = 0;
  double cost = 0;
};

// Every matrix there is: the most units placed, and the least cost of that many.
Best enumerate(const ConvexProblem& problem) {
  const std::size_t targets = problem.targets.size();
  Units units(problem.classes.size(), std::vector<std::uint32_t>(targets, 0));
  std::vector<std::uint32_t> loads(targets, 0);
  std::optional<Best> best;
  const std::function<void(std::size_t, std::uint32_t, std::uint64_t)> go = [&](std::size_t cell, std::uint32_t left,
                                                                                std::uint64_t placed) {
    const std::size_t k = cell / targets;
    const std::size_t j = cell % targets;
    if (k == problem.classes.size()) {
      if (best && placed < best->placed) return;
      const double cost = sum_of_unit_costs(problem, units);
      if (!best || placed > best->placed || cost < best->cost) best = Best{.placed = placed, .cost = cost};
      return;
    }
    if (j == 0) left = problem.classes[k].units;
    std::uint32_t most = std::min({left, problem.classes[k].per_target, problem.targets[j].capacity - loads[j]});
    if (!is_allowed(problem, k, j)) most = 0;
    for (std::uint32_t x = 0; x <= most; ++x) {
      units[k][j] = x;
      loads[j] += x;
      go(cell + 1, left - x, placed + x);
      loads[j] -= x;
    }
    units[k][j] = 0;
  };
  go(0, 0, 0);
  return *best;
}

struct Shape {
  std::uint64_t classes;
  std::uint64_t targets;
  std::uint64_t servers;
  std::uint64_t units;  // most of one class
  std::uint64_t capacity;
  bool integers;  // costs of all units are integers
};

ConvexProblem random_problem(Rng& rng, const Shape& shape) {
  ConvexProblem problem;
  const auto first = [&] {
    if (shape.integers) return static_cast<double>(rng.below(21)) - 5;
    return rng.chance(0.3) ? 1.0 : rng.unit() * 10 - 2;
  };
  const auto slope = [&] {
    if (shape.integers) return 2 * static_cast<double>(rng.below(4));
    return rng.chance(0.3) ? 0.0 : rng.unit() * 3;
  };
  const std::uint64_t classes = rng.between((shape.classes + 1) / 2, shape.classes);
  const std::uint64_t targets = rng.between((shape.targets + 1) / 2, shape.targets);
  const std::uint64_t servers = rng.between(1, shape.servers);
  for (std::uint64_t o = 0; o < servers; ++o) problem.servers.push_back({.alpha = first(), .beta = slope()});
  for (std::uint64_t j = 0; j < targets; ++j) {
    problem.targets.push_back({.a = first(),
                               .b = slope(),
                               .capacity = static_cast<std::uint32_t>(rng.between(0, shape.capacity)),
                               .server = static_cast<std::uint32_t>(rng.below(servers))});
  }
  for (std::uint64_t k = 0; k < classes; ++k) {
    ConvexProblem::Class one{.units = static_cast<std::uint32_t>(rng.between(0, shape.units)),
                             .per_target = static_cast<std::uint32_t>(rng.between(rng.chance(0.1) ? 0 : 1, 3))};
    const double share = rng.chance(0.4) ? 1.0 : 0.6;
    for (std::uint32_t j = 0; j < targets; ++j) {
      if (rng.chance(share)) one.allowed.push_back(j);
    }
    problem.classes.push_back(one);
  }
  return problem;
}

TEST(ConvexFlow, SpreadsByRisingCost) {
  // Units cost 0.5, 1.5, 2.5 on the first target and 2, 4 on the second: the four cheapest are 0.5, 1.5, 2, 2.5.
  const ConvexProblem problem{
      .classes = {{.units = 4, .per_target = 9}},
      .targets = {{.a = 0, .b = 1, .capacity = 9, .server = 0}, {.a = 1, .b = 2, .capacity = 9, .server = 0}},
      .servers = {{}}};
  const ConvexSolution solution = solve(problem);
  EXPECT_EQ(solution.status, Status::optimal);
  EXPECT_THAT(solution.units, ElementsAre(ElementsAre(3U, 1U)));
  EXPECT_EQ(solution.cost, 6.5);
  EXPECT_EQ(solution.placed, 4U);
  EXPECT_EQ(solution.unplaced, 0U);
}

TEST(ConvexFlow, LoadOfTheServerCounts) {
  // Targets 0 and 1 are cheaper, but share a server whose second unit costs 15 more than its first.
  const ConvexProblem problem{.classes = {{.units = 2, .per_target = 1}},
                              .targets = {{.a = 0, .capacity = 1, .server = 0},
                                          {.a = 1, .capacity = 1, .server = 0},
                                          {.a = 9, .capacity = 1, .server = 1}},
                              .servers = {{.alpha = 0, .beta = 15}, {.alpha = 0, .beta = 15}}};
  const ConvexSolution solution = solve(problem);
  EXPECT_THAT(solution.units, ElementsAre(ElementsAre(1U, 0U, 1U)));
  EXPECT_EQ(solution.cost, 0 + 9 + 7.5 + 7.5);
}

TEST(ConvexFlow, PushesAnotherClassOff) {
  // The first class takes the cheap target 0, tied with the second by cost; the second may go nowhere else.
  const ConvexProblem problem{.classes = {{.units = 1}, {.units = 1, .allowed = {0}}},
                              .targets = {{.a = 1, .capacity = 1, .server = 0}, {.a = 5, .capacity = 1, .server = 0}},
                              .servers = {{}}};
  const ConvexSolution solution = solve(problem);
  EXPECT_THAT(solution.units, ElementsAre(ElementsAre(0U, 1U), ElementsAre(1U, 0U)));
  EXPECT_EQ(solution.cost, 6);
}

TEST(ConvexFlow, EntersAServerByOneTargetAndLeavesByAnother) {
  // Server 0 is steep: it should hold one unit. Class 0 takes target 0 first; class 1 may use server 0 only, by target 1, so
  // class 0 moves to target 2 of server 1, though target 0 has room.
  const ConvexProblem problem{.classes = {{.units = 1, .allowed = {0, 2}}, {.units = 1, .allowed = {1}}},
                              .targets = {{.a = 0, .capacity = 5, .server = 0},
                                          {.a = 1, .capacity = 5, .server = 0},
                                          {.a = 4, .capacity = 5, .server = 1}},
                              .servers = {{.alpha = 0, .beta = 100}, {.alpha = 60, .beta = 0}}};
  const ConvexSolution solution = solve(problem);
  EXPECT_THAT(solution.units, ElementsAre(ElementsAre(0U, 0U, 1U), ElementsAre(0U, 1U, 0U)));
  EXPECT_EQ(solution.cost, 1 + 50 + 4 + 60);
}

TEST(ConvexFlow, SaysHowManyFoundRoom) {
  const ConvexProblem problem{.classes = {{.units = 10, .per_target = 2}, {.units = 3, .per_target = 5, .allowed = {1, 1}}},
                              .targets = {{.a = 1, .capacity = 9, .server = 0}, {.a = 1, .capacity = 4, .server = 0}},
                              .servers = {{}}};
  // The first class may put 2 on each; the second shares 4 places on target 1 with it: 2 + 4.
  const ConvexSolution solution = solve(problem);
  EXPECT_EQ(solution.status, Status::infeasible);
  EXPECT_EQ(solution.placed, 6U);
  EXPECT_EQ(solution.unplaced, 7U);
  EXPECT_EQ(solution.cost, 6);
  expect_valid(problem, solution);
}

TEST(ConvexFlow, NothingToPlaceAndNowhereToGo) {
  const ConvexSolution empty = solve({});
  EXPECT_EQ(empty.status, Status::optimal);
  EXPECT_THAT(empty.units, IsEmpty());
  const ConvexSolution nowhere = solve({.classes = {{.units = 3}}});
  EXPECT_EQ(nowhere.status, Status::infeasible);
  EXPECT_EQ(nowhere.unplaced, 3U);
  EXPECT_THAT(nowhere.units, ElementsAre(IsEmpty()));
  const ConvexSolution no_units = solve({.classes = {{.units = 0}}, .targets = {{.capacity = 1}}, .servers = {{}}});
  EXPECT_EQ(no_units.status, Status::optimal);
  EXPECT_THAT(no_units.units, ElementsAre(ElementsAre(0U)));
  const ConvexSolution none_each =
      solve({.classes = {{.units = 1, .per_target = 0}}, .targets = {{.capacity = 1}}, .servers = {{}}});
  EXPECT_EQ(none_each.unplaced, 1U);
}

TEST(ConvexFlow, CostsOfAnySize) {
  // The same problem in other units of cost has the same answer.
  for (const double scale : {1e-300, 1e-9, 1.0, 1e12, 1e98}) {
    SCOPED_TRACE(scale);
    const ConvexProblem problem{
        .classes = {{.units = 4, .per_target = 9}},
        .targets = {{.a = 0, .b = scale, .capacity = std::numeric_limits<std::uint32_t>::max(), .server = 0},
                    {.a = scale, .b = 2 * scale, .capacity = 9, .server = 0}},
        .servers = {{}}};
    EXPECT_THAT(solve(problem).units, ElementsAre(ElementsAre(3U, 1U)));
  }
}

TEST(ConvexFlow, RejectsWhatMakesNoSense) {
  const ConvexProblem good{.classes = {{.units = 1, .allowed = {0}}}, .targets = {{.capacity = 1}}, .servers = {{}}};
  ASSERT_TRUE(solve_convex_flow(good));
  const auto message = [&](auto change, Errc code) -> std::string {
    ConvexProblem problem = good;
    change(problem);
    const auto solved = solve_convex_flow(problem);
    if (solved) return "accepted";
    EXPECT_EQ(solved.error().code, code) << solved.error().message;
    return solved.error().message;
  };
  EXPECT_EQ(message([](auto& p) { p.classes[0].allowed = {0, 1}; }, Errc::invalid_argument),
            "class 0: allowed names target 1, but there are 1 targets");
  EXPECT_EQ(message([](auto& p) { p.targets[0].server = 1; }, Errc::invalid_argument),
            "target 0: its server is 1, but there are 1 servers");
  EXPECT_EQ(message([](auto& p) { p.targets[0].b = -1; }, Errc::invalid_argument),
            "target 0: b is -1, expected a finite number of at least 0");
  EXPECT_THAT(message([](auto& p) { p.targets[0].b = kInfinity; }, Errc::invalid_argument), HasSubstr("b is inf"));
  EXPECT_EQ(message([](auto& p) { p.targets[0].a = kNan; }, Errc::invalid_argument),
            "target 0: a is nan, expected a finite number");
  EXPECT_EQ(message([](auto& p) { p.servers[0].beta = -0.5; }, Errc::invalid_argument),
            "server 0: beta is -0.5, expected a finite number of at least 0");
  EXPECT_THAT(message([](auto& p) { p.servers[0].alpha = -kInfinity; }, Errc::invalid_argument),
              HasSubstr("server 0: alpha is -inf"));
  EXPECT_THAT(message([](auto& p) { p.servers[0].alpha = 1e101; }, Errc::limit), HasSubstr("above 1e+100"));
  EXPECT_THAT(message([](auto& p) { p.targets[0].b = 1e101; }, Errc::limit), HasSubstr("target 0"));
  EXPECT_EQ(message([](auto& p) { p.classes.assign(2, {.units = 4'000'000'000}); }, Errc::limit),
            "8000000000 units, expected fewer than 4294967295");
  EXPECT_THAT(message([](auto& p) { p.servers.resize(1U << 20); }, Errc::limit), HasSubstr("expected at most 1048576"));
}

TEST(ConvexFlow, EqualsEnumerationOnTinyProblems) {
  int infeasible = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const ConvexProblem problem =
        random_problem(rng, {.classes = 3, .targets = 4, .servers = 3, .units = 5, .capacity = 5, .integers = rng.chance(0.3)});
    const ConvexSolution solution = solve(problem);
    expect_valid(problem, solution);
    const Best best = enumerate(problem);
    EXPECT_EQ(solution.placed, best.placed);
    EXPECT_NEAR(solution.cost, best.cost, 1e-9);
    infeasible += solution.status == Status::infeasible ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(infeasible, 100);
  EXPECT_LT(infeasible, 1400);
}

// The same network with one arc for each unit of a target and of a server.
MinCostFlow::Solution solve_unrolled(const ConvexProblem& problem) {
  const auto classes = static_cast<std::uint32_t>(problem.classes.size());
  const auto targets = static_cast<std::uint32_t>(problem.targets.size());
  const auto servers = static_cast<std::uint32_t>(problem.servers.size());
  const std::uint32_t source = classes + targets + servers;
  const std::uint32_t sink = source + 1;
  MinCostFlow flow(sink + 1);
  const auto units = static_cast<std::uint32_t>(total_units(problem));
  for (std::uint32_t k = 0; k < classes; ++k) {
    flow.add_arc(source, k, problem.classes[k].units, 0);
    for (std::uint32_t j = 0; j < targets; ++j) {
      if (is_allowed(problem, k, j)) flow.add_arc(k, classes + j, problem.classes[k].per_target, 0);
    }
  }
  for (std::uint32_t j = 0; j < targets; ++j) {
    const auto& target = problem.targets[j];
    for (std::uint32_t x = 1; x <= target.capacity; ++x) {
      flow.add_arc(classes + j, classes + targets + target.server, 1, std::llround(target.a + target.b * (x - 0.5)));
    }
  }
  for (std::uint32_t o = 0; o < servers; ++o) {
    for (std::uint32_t x = 1; x <= units; ++x) {
      flow.add_arc(classes + targets + o, sink, 1, std::llround(problem.servers[o].alpha + problem.servers[o].beta * (x - 0.5)));
    }
  }
  return flow.solve(source, sink);
}

TEST(ConvexFlow, EqualsMinCostFlowUnitByUnit) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const ConvexProblem problem =
        random_problem(rng, {.classes = 8, .targets = 20, .servers = 5, .units = 20, .capacity = 12, .integers = true});
    const ConvexSolution solution = solve(problem);
    expect_valid(problem, solution);
    const auto expected = solve_unrolled(problem);
    ASSERT_EQ(expected.status, MinCostFlow::Status::optimal);
    EXPECT_EQ(solution.placed, static_cast<std::uint64_t>(expected.max_flow));
    EXPECT_EQ(solution.cost, static_cast<double>(expected.cost));
    expect_no_exchange_pays(problem, solution);
    if (HasFailure()) return;
  }
}

TEST(ConvexFlow, NoExchangePays) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const ConvexProblem problem =
        random_problem(rng, {.classes = 12, .targets = 40, .servers = 8, .units = 60, .capacity = 30, .integers = false});
    const ConvexSolution solution = solve(problem);
    expect_valid(problem, solution);
    expect_no_exchange_pays(problem, solution);
    if (HasFailure()) return;
  }
}

TEST(ConvexFlow, EqualCostsEndAndSpreadEvenly) {
  // 0.1 has no exact binary form, and everything ties: the search must end, and every target get its share.
  ConvexProblem problem{.classes = {6, {.units = 40, .per_target = 4}},
                        .targets = {24, {.a = 0.1, .b = 0.1, .capacity = 40}},
                        .servers = {4, {.alpha = 0.1, .beta = 0.1}}};
  for (std::uint32_t j = 0; j < 24; ++j) problem.targets[j].server = j % 4;
  const ConvexSolution solution = solve(problem);
  expect_valid(problem, solution);
  expect_no_exchange_pays(problem, solution);
  for (std::size_t j = 0; j < 24; ++j) {
    std::uint32_t load = 0;
    for (const auto& row : solution.units) load += row[j];
    EXPECT_EQ(load, 10U) << j;
  }
}

TEST(ConvexFlow, EqualInputGivesEqualOutput) {
  Rng rng(7);
  const ConvexProblem problem =
      random_problem(rng, {.classes = 9, .targets = 20, .servers = 4, .units = 20, .capacity = 9, .integers = false});
  EXPECT_EQ(solve(problem).units, solve(problem).units);
}

TEST(ConvexCost, IsTheSumOverUnits) {
  const ConvexProblem problem{.classes = {{.units = 3}, {.units = 2}},
                              .targets = {{.a = 2, .b = 4, .server = 1}, {.a = 10, .b = 0, .server = 1}},
                              .servers = {{.alpha = 1000}, {.alpha = 1, .beta = 2}}};
  // Target 0 holds three units: 4 + 8 + 12; target 1 one: 10; server 1 four: 2 + 4 + 6 + 8.
  EXPECT_EQ(convex_cost(problem, {{2, 1}, {1, 0}}), 24 + 10 + 20);
  EXPECT_EQ(convex_cost(problem, {{0, 0}, {0, 0}}), 0);
}

}  // namespace
}  // namespace iez::flow
