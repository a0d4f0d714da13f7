#include "placement/spread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

TEST(Spread, ShortListAndTableAgree) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Spread spread;
    std::map<std::uint32_t, std::uint32_t> model;
    for (int step = 0; step < 100; ++step) {
      if (step == 50 && rng.chance(0.5)) spread.make_dense(20);
      const auto at = static_cast<std::uint32_t>(rng.below(20));
      if (model.contains(at) && rng.chance(0.6)) {
        spread.remove_one(at);
        if (--model[at] == 0) model.erase(at);
      } else {
        const auto objects = static_cast<std::uint32_t>(rng.between(1, 3));
        spread.add(at, objects);
        model[at] += objects;
      }
    }
    for (std::uint32_t at = 0; at < 20; ++at) EXPECT_EQ(spread[at], model.contains(at) ? model[at] : 0);
    const auto counts = spread.counts();
    ASSERT_EQ(counts.size(), model.size());
    auto expected = model.begin();
    for (const TargetCount& entry : counts) {
      EXPECT_EQ(entry.target, expected->first);
      EXPECT_EQ(entry.objects, expected->second);
      ++expected;
    }
  }
}

TEST(SpreadClasses, LevelsAndSpreadsAgree) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = large_instance(rng);
    const auto classes = make_classes(instance.demands);
    Levels levels(instance.table, classes, {});
    const Spreads spreads = spread_classes(classes, levels);
    if (spreads.shortage) continue;
    ++placed;
    expect_consistent(instance, classes, levels, spreads);
    if (HasFailure()) return;
  }
  EXPECT_GT(placed, 200);
}

TEST(SpreadClasses, TrafficNeverRaisesTheLargestUtilisationOfOneClass) {
  // Enough objects for levelling all at once: with any weights the optimum by space alone is kept.
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Instance instance{.table = random_table(rng), .demands = {}};
    for (Target& target : instance.table.targets) {
      target.capacity = Bytes::gib(rng.between(1, 4) * 50);
      fill(target, Bytes::gib(rng.below(target.capacity.count >> 30U)));
    }
    for (Server& server : instance.table.servers) server.share = 0.05 + rng.unit();
    const auto members = static_cast<std::uint32_t>(usable(instance.table, kAnyPool).sound.size());
    if (members == 0) continue;
    const Demand demand{Bytes::mib(rng.between(1, 2000)), static_cast<std::uint32_t>(rng.between(members / 2 + 1, members))};
    instance.demands.assign(rng.between(1, 30), demand);
    const auto classes = make_classes(instance.demands);
    Levels plain(instance.table, classes, {.target = 0, .server = 0});
    const Spreads by_space = spread_classes(classes, plain);
    Levels weighed(instance.table, classes, {.target = 2 * rng.unit(), .server = 2 * rng.unit()});
    const Spreads by_traffic = spread_classes(classes, weighed);
    ASSERT_EQ(by_space.shortage.has_value(), by_traffic.shortage.has_value());
    if (by_space.shortage) continue;
    EXPECT_LE(weighed.max_utilisation(), plain.max_utilisation() * (1 + 1e-9));
  }
}

TEST(SpreadClasses, DegradedTargetsOnlyWhenNeeded) {
  TargetTable table = grid(2, 2);
  table.targets[1].degraded = true;
  table.targets[3].degraded = true;
  for (const std::uint32_t count : {1U, 2U, 3U, 4U}) {
    SCOPED_TRACE("count " + std::to_string(count));
    const std::vector<Demand> demands{{Bytes::gib(1), count}};
    const auto classes = make_classes(demands);
    Levels levels(table, classes, {});
    const Spreads spreads = spread_classes(classes, levels);
    ASSERT_FALSE(spreads.shortage);
    EXPECT_EQ(spreads.second_choice[0], count > 2);
  }
}

TEST(SpreadClasses, ShortageTellsTheFileAndWhatFound) {
  TargetTable table = grid(1, 4);
  fill(table.targets[2], Bytes::gib(10) - Bytes::mib(1));
  fill(table.targets[3], Bytes::gib(10) - Bytes::mib(1));
  // The large objects come first; the small ones would have fitted.
  const std::vector<Demand> demands{{Bytes::mib(1), 1}, {Bytes::gib(1), 3}};
  const auto classes = make_classes(demands);
  Levels levels(table, classes, {});
  const Spreads spreads = spread_classes(classes, levels);
  ASSERT_TRUE(spreads.shortage);
  EXPECT_EQ(spreads.shortage->demand, 1U);
  EXPECT_EQ(spreads.shortage->placed, 2U) << "two targets have room";
}

TEST(SpreadClasses, ShortageTellsWhatFoundWithDegradedTargetsToo) {
  TargetTable table = grid(1, 4);
  table.targets[1].degraded = true;
  fill(table.targets[2], Bytes::gib(10) - Bytes::mib(1));
  fill(table.targets[3], Bytes::gib(10) - Bytes::mib(1));
  const std::vector<Demand> demands{{Bytes::gib(1), 3}};
  const auto classes = make_classes(demands);
  Levels levels(table, classes, {});
  const Spreads spreads = spread_classes(classes, levels);
  ASSERT_TRUE(spreads.shortage);
  EXPECT_EQ(spreads.shortage->placed, 2U);
}

}  // namespace
}  // namespace iez::placement
