#include "placement/lustre_round_robin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "placement/lustre_test_support.hpp"

namespace iez::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A seed whose draws below `slots` begin with these.
std::uint64_t seed_drawing(std::uint64_t slots, const std::vector<std::uint64_t>& draws) {
  for (std::uint64_t seed = 0;; ++seed) {
    Rng rng(seed);
    if (std::ranges::all_of(draws, [&](std::uint64_t draw) { return rng.below(slots) == draw; })) return seed;
  }
}

Assignment assign(Policy& policy, const TargetTable& table, const std::vector<Demand>& demands) {
  auto answer = policy.assign(table, demands);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
  return answer ? *std::move(answer) : Assignment{.offsets = std::vector<std::uint64_t>(demands.size() + 1)};
}

// The order is 0 2 1 3. Slots, with start at 3: 0, 1, 2, ...
TEST(LustreRoundRobin, SingleObjectsGoAround) {
  LustreRoundRobin policy({.seed = seed_drawing(4, {3})});
  const Assignment answer = assign(policy, table_on({0, 0, 1, 1}), std::vector<Demand>(9));
  EXPECT_THAT(answer.targets, ElementsAre(0, 2, 1, 3, 0, 2, 1, 3, 0));
  EXPECT_EQ(policy.name(), "lustre-rr");
}

// 4 mod 2 is 0: each round begins one slot later. Slots 0 1, 3 0, 1 2, 0 1, 2 3, 1 2.
TEST(LustreRoundRobin, OffsetRises) {
  LustreRoundRobin policy({.seed = seed_drawing(4, {3})});
  const Assignment answer = assign(policy, table_on({0, 0, 1, 1}), std::vector<Demand>(6, {.count = 2}));
  EXPECT_THAT(answer.targets, ElementsAre(0, 2, 3, 0, 2, 1, 0, 2, 1, 3, 2, 1));
}

// 5 mod 2 is 1: rounds shift by themselves.
TEST(LustreRoundRobin, OffsetStaysWithOneSlotLeftOver) {
  LustreRoundRobin policy({.seed = seed_drawing(5, {4})});
  const Assignment answer = assign(policy, table_on({0, 0, 0, 0, 0}), std::vector<Demand>(6, {.count = 2}));
  EXPECT_THAT(answer.targets, ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1));
}

// (2000 / 4 + 30) * 4 = 2120 files, then a new start.
TEST(LustreRoundRobin, CreditEnds) {
  LustreRoundRobin policy({.seed = seed_drawing(4, {3, 1})});
  const Assignment answer = assign(policy, table_on({0, 0, 0, 0}), std::vector<Demand>(2122));
  for (std::uint32_t file = 0; file < 2120; ++file) ASSERT_EQ(answer.targets[file], file % 4) << file;
  EXPECT_EQ(answer.targets[2120], 2U);
  EXPECT_EQ(answer.targets[2121], 3U);
}

TEST(LustreRoundRobin, StateOutlivesTheCall) {
  const TargetTable table = table_on({0, 0, 1, 1, 2});
  const std::vector<Demand> demands(7, {.count = 2});
  LustreRoundRobin whole({.seed = 5});
  LustreRoundRobin parts({.seed = 5});
  const Assignment expected = assign(whole, table, demands);
  std::vector<std::uint32_t> got;
  for (const Demand& demand : demands) {
    const Assignment part = assign(parts, table, {demand});
    got.insert(got.end(), part.targets.begin(), part.targets.end());
  }
  EXPECT_EQ(got, expected.targets);
}

// A target more: the counter goes on, in the new order (of one server: that of the table).
TEST(LustreRoundRobin, CounterOutlivesTheTable) {
  LustreRoundRobin policy({.seed = seed_drawing(3, {2})});
  EXPECT_THAT(assign(policy, table_on({0, 0, 0}), std::vector<Demand>(3)).targets, ElementsAre(0, 1, 2));
  // start is 2, below 4: slot 3 is next.
  EXPECT_THAT(assign(policy, table_on({0, 0, 0, 0}), std::vector<Demand>(3)).targets, ElementsAre(3, 0, 1));
}

TEST(LustreRoundRobin, PoolsHaveTheirOwnState) {
  TargetTable table = table_on({0, 0, 0, 0, 0});
  const std::uint32_t a = add_pool(table, "a", {0, 1});
  const std::uint32_t b = add_pool(table, "b", {2, 3, 4});
  const auto demands = [&](std::uint32_t first, std::uint32_t second) {
    return std::vector<Demand>{{.pool = first}, {.pool = second}, {.pool = first}, {.pool = second}, {.pool = first}};
  };
  Rng rng(7);
  const auto start_a = static_cast<std::uint32_t>(rng.below(2));
  const auto start_b = static_cast<std::uint32_t>(rng.below(3));
  LustreRoundRobin policy({.seed = 7});
  EXPECT_THAT(assign(policy, table, demands(a, b)).targets,
              ElementsAre((start_a + 1) % 2, 2 + (start_b + 1) % 3, (start_a + 2) % 2, 2 + (start_b + 2) % 3, (start_a + 3) % 2));

  // The same pools at other places of the table: known by name.
  std::swap(table.pools[a], table.pools[b]);
  EXPECT_THAT(assign(policy, table, {{.pool = a}, {.pool = b}}).targets, ElementsAre(2 + (start_b + 3) % 3, (start_a + 4) % 2));
}

// The walk: 0, 2, 3 in the first attempt, nothing in the second; in the third 0 again, then 1. start is 12 after.
TEST(LustreRoundRobin, DegradedTargetsComeLast) {
  TargetTable table = table_on({0, 0, 0, 0});
  table.targets[1].degraded = true;
  LustreRoundRobin policy({.seed = seed_drawing(4, {3})});
  const Assignment answer = assign(policy, table, {{.count = 4}, {.count = 1}, {.count = 4}});
  EXPECT_THAT(targets_of(answer, 0), ElementsAre(0, 2, 3, 1));
  // start 12 - 4; 9 is slot 1, degraded; 10 is slot 2.
  EXPECT_THAT(targets_of(answer, 1), ElementsAre(2));
  // start 10 - 4, offset 1: slots 0, 1, 2, 3; at last 15 + 1 is slot 0, then 1.
  EXPECT_THAT(targets_of(answer, 2), ElementsAre(0, 2, 3, 1));
}

TEST(LustreRoundRobin, ADefaultCountMayFallShort) {
  TargetTable table = table_on({0, 0, 0, 0});
  table.targets[1].degraded = true;
  LustreRoundRobin policy({.seed = seed_drawing(4, {3}), .count_is_default = true});
  // A count of 4 is content with 3; one of 3 is not with fewer.
  const Assignment answer = assign(policy, table, {{.count = 4}, {.count = 3}});
  EXPECT_THAT(targets_of(answer, 0), ElementsAre(0, 2, 3));
  EXPECT_THAT(targets_of(answer, 1), SizeIs(3));

  table.targets[2].degraded = true;
  EXPECT_THAT(targets_of(assign(policy, table, {{.count = 4}}), 0), SizeIs(4));
}

TEST(LustreRoundRobin, ExcludedTargetsAreSkipped) {
  TargetTable table = table_on({0, 0, 0, 0});
  table.targets[2].exclusion = Exclusion::read_only;
  LustreRoundRobin policy({.seed = seed_drawing(4, {3})});
  EXPECT_THAT(assign(policy, table, std::vector<Demand>(5)).targets, ElementsAre(0, 1, 3, 0, 1));
}

// Three slots, seven objects: 0 1 2 0 1 2 0; start is 9, then 6 with offset 1, so slot 8 mod 3 = 2 is first.
TEST(LustreRoundRobin, Overstripes) {
  LustreRoundRobin policy({.seed = seed_drawing(3, {2})});
  const Assignment answer = assign(policy, table_on({0, 0, 0}), std::vector<Demand>(2, {.count = 7, .per_target = 3}));
  EXPECT_THAT(targets_of(answer, 0), ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(targets_of(answer, 1), ElementsAre(2, 0, 1, 2, 0, 1, 2));
}

// With one of three out, one round of three slots finds two objects; the second attempt finds the others.
TEST(LustreRoundRobin, OverstripesInTheSecondAttempt) {
  TargetTable table = table_on({0, 0, 0});
  table.targets[1].exclusion = Exclusion::inactive;
  LustreRoundRobin policy({.seed = seed_drawing(3, {2})});
  EXPECT_THAT(assign(policy, table, {{.count = 3, .per_target = 2}}).targets, ElementsAre(0, 2, 0));
}

TEST(LustreRoundRobin, FullTargetsDropOutIfBytesAreSeen) {
  const TargetTable table = table_on({0, 0});
  const std::vector<Demand> demands{{.object_bytes = Bytes::gib(10)}, {}, {}, {.count = 2}};
  LustreRoundRobin blind({.seed = seed_drawing(2, {1})});
  EXPECT_THAT(assign(blind, table, demands).targets, ElementsAre(0, 1, 0, 0, 1));
  LustreRoundRobin seeing({.seed = seed_drawing(2, {1}), .bytes_visible = true});
  EXPECT_THAT(assign(seeing, table, demands).targets, ElementsAre(0, 1, 1, 1));
}

TEST(LustreRoundRobin, FailsWithoutTargets) {
  TargetTable table = table_on({0, 0});
  LustreRoundRobin policy({.bytes_visible = true});
  const std::vector<Demand> demands(3, {.object_bytes = Bytes::gib(10)});
  const auto full = policy.assign(table, demands);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::not_found);
  EXPECT_THAT(full.error().message, HasSubstr("demand 2: none of the 2 targets of the file system takes new objects"));

  const std::uint32_t none = add_pool(table, "none", {});
  const auto empty = policy.assign(table, std::vector<Demand>{{.pool = none}});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("pool 'none'"));
  EXPECT_TRUE(assign(policy, table, {}).targets.empty());
}

TEST(LustreRoundRobin, KeepsThePromises) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const TargetTable table = random_table(rng);
    const auto demands = random_demands(table, rng, 40);
    const LustreRoundRobinOptions options{.seed = seed, .count_is_default = rng.chance(0.5)};
    LustreRoundRobin policy(options);
    LustreRoundRobin again(options);
    const Assignment answer = assign(policy, table, demands);
    expect_sound(table, demands, answer);
    EXPECT_EQ(assign(again, table, demands).targets, answer.targets);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      if (demands[i].per_target > 1) continue;
      const std::uint32_t count = demands[i].count;
      EXPECT_GE(answer.of(i).size(), options.count_is_default ? count - count / 4 : count);
    }
  }
}

// Sixty-four files of 1 GiB leave at best 35 objects on a target where the mean is 34.13; the ring does just that. With narrower
// or fewer files it falls short of the best, 1.0547, by where it begins.
TEST(LustreRoundRobin, CostsOfThePaper) {
  const auto make = [](std::uint64_t seed) { return std::make_unique<LustreRoundRobin>(LustreRoundRobinOptions{.seed = seed}); };
  const Costs wide = paper_costs(kIorWide, 500, make);
  EXPECT_NEAR(wide.least, 1.0254, 0.0001);
  EXPECT_NEAR(wide.most, 1.0254, 0.0001);
  const Costs narrow = paper_costs(kIorNarrow, 500, make);
  EXPECT_NEAR(narrow.mean, 1.10, 0.01);
  EXPECT_NEAR(narrow.least, 1.0547, 0.0001);
  EXPECT_NEAR(narrow.most, 1.1133, 0.0001);
  const Costs hacc = paper_costs(kHacc, 500, make);
  EXPECT_NEAR(hacc.mean, 1.08, 0.01);
  EXPECT_NEAR(hacc.least, 1.0547, 0.0001);
  EXPECT_NEAR(hacc.most, 1.1133, 0.0001);
}

}  // namespace
}  // namespace iez::placement
