#include "flow/water_fill.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::flow {
namespace {

struct Instance {
  std::vector<FillTarget> targets;
  std::vector<FillServer> servers;
  std::uint64_t units = 0;
};

double cost(const Instance& instance, const std::vector<std::uint64_t>& units) {
  double sum = 0;
  std::vector<double> on_server(instance.servers.size());
  for (std::size_t j = 0; j < units.size(); ++j) {
    const auto x = static_cast<double>(units[j]);
    sum += instance.targets[j].a * x + instance.targets[j].b * x * x / 2;
    if (!instance.servers.empty()) on_server[instance.targets[j].server] += x;
  }
  for (std::size_t o = 0; o < on_server.size(); ++o) {
    sum += instance.servers[o].alpha * on_server[o] + instance.servers[o].beta * on_server[o] * on_server[o] / 2;
  }
  return sum;
}

// Every way to place the units.
double cheapest(const Instance& instance, std::vector<std::uint64_t>& units, std::size_t j, std::uint64_t left) {
  if (j == instance.targets.size()) return left == 0 ? cost(instance, units) : std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (units[j] = 0; units[j] <= std::min(left, instance.targets[j].capacity); ++units[j]) {
    best = std::min(best, cheapest(instance, units, j + 1, left - units[j]));
  }
  units[j] = 0;
  return best;
}

Instance random_instance(Rng& rng, std::size_t max_targets, std::uint64_t max_capacity, std::uint64_t max_units) {
  Instance instance;
  const auto targets = rng.between(1, max_targets);
  const auto servers = rng.between(0, 4);
  for (std::uint64_t o = 0; o < servers; ++o) {
    instance.servers.push_back({rng.unit(), rng.chance(0.2) ? 0 : rng.unit() * (rng.chance(0.5) ? 10 : 0.1)});
  }
  const bool equal = rng.chance(0.3);
  for (std::uint64_t j = 0; j < targets; ++j) {
    instance.targets.push_back({equal ? 0 : rng.unit() * 4, equal ? 1 : 0.01 + rng.unit(), rng.between(0, max_capacity),
                                servers == 0 ? 0 : static_cast<std::uint32_t>(rng.below(servers))});
  }
  instance.units = rng.between(0, max_units);
  return instance;
}

TEST(WaterFill, LevelsByHand) {
  // Heights 0, 2, 5 and 6 units of height 1: the water stands at 4 over the first two.
  const std::vector<FillTarget> targets{{0, 1, 100, 0}, {2, 1, 100, 0}, {5, 1, 100, 0}};
  const Fill fill = water_fill(targets, {}, 6);
  EXPECT_EQ(fill.units, (std::vector<std::uint64_t>{4, 2, 0}));
  EXPECT_EQ(fill.unplaced, 0U);
  EXPECT_DOUBLE_EQ(fill.level, 3.5);
}

TEST(WaterFill, ServersShareByHand) {
  // Targets alike; server 1 is dearer by 2 a unit, so server 0 takes the first units until it costs as much.
  const std::vector<FillTarget> targets{{0, 1, 9, 0}, {0, 1, 9, 1}};
  const std::vector<FillServer> servers{{0, 1}, {2, 1}};
  EXPECT_EQ(water_fill(targets, servers, 1).units, (std::vector<std::uint64_t>{1, 0}));
  EXPECT_EQ(water_fill(targets, servers, 5).units, (std::vector<std::uint64_t>{3, 2}));
}

TEST(WaterFill, TiesGoToTheFirst) {
  const std::vector<FillTarget> targets(4, FillTarget{1, 1, 3, 0});
  EXPECT_EQ(water_fill(targets, {}, 6).units, (std::vector<std::uint64_t>{2, 2, 1, 1}));
}

TEST(WaterFill, NoRoomIsTold) {
  const std::vector<FillTarget> targets{{0, 1, 2, 0}, {0, 1, 3, 0}};
  const Fill fill = water_fill(targets, {}, 9);
  EXPECT_EQ(fill.units, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(fill.unplaced, 4U);
  EXPECT_EQ(water_fill({}, {}, 3).unplaced, 3U);
  EXPECT_EQ(water_fill({}, {}, 0).unplaced, 0U);
}

TEST(WaterFill, CapacityBeyondAnyCount) {
  const std::vector<FillTarget> targets(3, FillTarget{0, 1e-6, ~std::uint64_t{0}, 0});
  const Fill fill = water_fill(targets, {}, 3'000'000'000'000ULL);
  EXPECT_EQ(fill.units, (std::vector<std::uint64_t>(3, 1'000'000'000'000ULL)));
}

TEST(WaterFill, CheapestOfAllWaysOnSmallInstances) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Instance instance = random_instance(rng, 4, 5, 12);
    std::uint64_t room = 0;
    for (const FillTarget& target : instance.targets) room += target.capacity;
    const Fill fill = water_fill(instance.targets, instance.servers, instance.units);
    const std::uint64_t placed = std::accumulate(fill.units.begin(), fill.units.end(), std::uint64_t{0});
    ASSERT_EQ(placed, std::min(room, instance.units));
    ASSERT_EQ(fill.unplaced, instance.units - placed);
    std::vector<std::uint64_t> units(instance.targets.size());
    ASSERT_NEAR(cost(instance, fill.units), cheapest(instance, units, 0, placed), 1e-9);
  }
}

// On M-convex costs a point that no exchange of one unit improves is optimal.
TEST(WaterFill, NoExchangeImprovesLargeInstances) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Instance instance = random_instance(rng, 60, rng.chance(0.5) ? 40 : 100'000, rng.chance(0.5) ? 900 : 1'000'000);
    const Fill fill = water_fill(instance.targets, instance.servers, instance.units);
    std::vector<std::uint64_t> on_server(std::max<std::size_t>(instance.servers.size(), 1));
    const auto server_of = [&](std::size_t j) { return instance.servers.empty() ? 0 : instance.targets[j].server; };
    for (std::size_t j = 0; j < fill.units.size(); ++j) {
      ASSERT_LE(fill.units[j], instance.targets[j].capacity);
      on_server[server_of(j)] += fill.units[j];
    }
    const auto marginal = [&](std::size_t j, double unit, double server_unit) {
      const FillTarget& target = instance.targets[j];
      double sum = target.a + target.b * (unit - 0.5);
      if (!instance.servers.empty()) {
        const FillServer& server = instance.servers[target.server];
        sum += server.alpha + server.beta * (server_unit - 0.5);
      }
      return sum;
    };
    for (std::size_t j = 0; j < fill.units.size(); ++j) {
      if (fill.units[j] == 0) continue;
      const auto from = static_cast<double>(on_server[server_of(j)]);
      const double saved = marginal(j, static_cast<double>(fill.units[j]), from);
      ASSERT_LE(saved, fill.level * (1 + 1e-9) + 1e-9);
      for (std::size_t k = 0; k < fill.units.size(); ++k) {
        if (k == j || fill.units[k] == instance.targets[k].capacity) continue;
        const auto to = server_of(k) == server_of(j) ? from : static_cast<double>(on_server[server_of(k)]) + 1;
        ASSERT_GE(marginal(k, static_cast<double>(fill.units[k]) + 1, to), saved * (1 - 1e-9) - 1e-9) << j << " to " << k;
      }
    }
  }
}

TEST(WaterFill, OneUnitMoreChangesOneTarget) {
  // On the way the units become too many to be taken one by one: both ways must agree.
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<FillTarget> targets(64);
    std::vector<FillServer> servers(rng.chance(0.5) ? 8 : 0);
    for (std::uint32_t j = 0; j < targets.size(); ++j) targets[j] = {rng.unit(), 0.05 + rng.unit(), 10, j / 8};
    for (FillServer& server : servers) server = {rng.unit(), 0.1 * rng.unit()};
    std::vector<std::uint64_t> before(targets.size());
    for (std::uint64_t units = 1; units <= 3 * targets.size(); ++units) {
      const Fill fill = water_fill(targets, servers, units);
      std::uint64_t changed = 0;
      for (std::size_t j = 0; j < targets.size(); ++j) {
        ASSERT_GE(fill.units[j], before[j]) << units << " units, target " << j;
        changed += fill.units[j] - before[j];
      }
      ASSERT_EQ(changed, 1U) << units << " units";
      before = fill.units;
    }
  }
}

TEST(WaterFill, OrderOfTargetsDoesNotChangeTheCost) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Instance instance = random_instance(rng, 40, 50, 500);
    const double before = cost(instance, water_fill(instance.targets, instance.servers, instance.units).units);
    for (std::size_t j = instance.targets.size(); j > 1; --j) std::swap(instance.targets[j - 1], instance.targets[rng.below(j)]);
    const double after = cost(instance, water_fill(instance.targets, instance.servers, instance.units).units);
    ASSERT_NEAR(before, after, 1e-9 * (1 + before));
  }
}

}  // namespace
}  // namespace iez::flow
