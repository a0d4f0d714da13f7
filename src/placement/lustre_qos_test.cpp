#include "placement/lustre_qos.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "placement/lustre_test_support.hpp"

namespace iez::placement {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::SizeIs;

// Free space in units of 256 bytes.
void set_free(TargetTable& table, const std::vector<std::uint64_t>& units) {
  for (std::size_t i = 0; i < units.size(); ++i) table.targets[i].available = Bytes{units[i] * 256};
}

Assignment assign(Policy& policy, const TargetTable& table, const std::vector<Demand>& demands) {
  auto answer = policy.assign(table, demands);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
  return answer ? *std::move(answer) : Assignment{.offsets = std::vector<std::uint64_t>(demands.size() + 1)};
}

// Penalties of a table by hand.
// A struct: its tests speak of its members all the time.
struct Penalties : public testing::Test {
  void start(const std::vector<std::uint32_t>& servers, const std::vector<std::uint64_t>& units) {
    table = table_on(servers);
    see(units);
    penalties.restart(table);
  }

  void see(const std::vector<std::uint64_t>& units) {
    set_free(table, units);
    view.refresh(table);
    if (view.take_changed()) penalties.mark_dirty();
  }

  std::vector<std::uint64_t> weights() const {
    std::vector<std::uint64_t> result;
    result.reserve(table.targets.size());
    for (std::uint32_t i = 0; i < table.targets.size(); ++i) result.push_back(penalties.weight(view, i));
    return result;
  }

  TargetTable table;
  LustreView view{false};
  LustrePenalties penalties{LustreQosOptions{}};
};

TEST_F(Penalties, UnitsRoundDown) {
  start({0, 0, 1}, {1001, 503, 2003});
  ASSERT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  EXPECT_EQ(penalties.target_unit(0), 25U);   // 26 * 1001 / 512 = 50; / 2
  EXPECT_EQ(penalties.target_unit(1), 12U);   // 26 * 503 / 512 = 25; / 2
  EXPECT_EQ(penalties.target_unit(2), 50U);   // 26 * 2003 / 512 = 101; / 2
  EXPECT_EQ(penalties.server_unit(0), 38U);   // 26 * 1504 / 256 = 152; / (2 * 1); / 2
  EXPECT_EQ(penalties.server_unit(1), 101U);  // 26 * 2003 / 256 = 203; / (1 * 1); / 2
  EXPECT_THAT(weights(), ElementsAre(1001, 503, 2003));
}

TEST_F(Penalties, ChargesAndRelaxes) {
  start({0, 0, 1}, {1001, 503, 2003});
  ASSERT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  penalties.charge(view, 2, 0);
  EXPECT_EQ(penalties.target_penalty(2), 100U);  // 0 / 2 + 3 * 50 - 50
  EXPECT_EQ(penalties.server_penalty(1), 101U);  // 0 / 2 + 2 * 101 - 101
  EXPECT_THAT(weights(), ElementsAre(1001, 503, 1802));
  penalties.charge(view, 2, 0);
  EXPECT_EQ(penalties.target_penalty(2), 150U);  // 100 / 2 + 150 - 50
  EXPECT_EQ(penalties.server_penalty(1), 151U);  // 101 / 2 + 202 - 101
  penalties.charge(view, 0, 0);
  EXPECT_EQ(penalties.target_penalty(0), 50U);  // 75 - 25
  EXPECT_EQ(penalties.target_penalty(1), 0U);
  EXPECT_EQ(penalties.target_penalty(2), 100U);
  EXPECT_EQ(penalties.server_penalty(0), 38U);
  EXPECT_EQ(penalties.server_penalty(1), 50U);
  EXPECT_THAT(weights(), ElementsAre(913, 465, 1853));
}

TEST_F(Penalties, OneServerDoublesItsTargets) {
  start({0, 0}, {1001, 503});
  ASSERT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  EXPECT_EQ(penalties.target_unit(0), 100U);  // (26 * 1001 / 512 = 50) / 1 * 2
  EXPECT_EQ(penalties.target_unit(1), 50U);
  EXPECT_EQ(penalties.server_unit(0), 38U);  // (26 * 1504 / 256 = 152) / (2 * 1) / 2
  penalties.charge(view, 0, 0);
  EXPECT_EQ(penalties.target_penalty(0), 100U);  // 2 * 100 - 100
  EXPECT_EQ(penalties.server_penalty(0), 0U);    // 1 * 38 - 38
}

// Inactive targets are not among the active ones, but still among their server's. Empty ones are active.
TEST_F(Penalties, CountsActiveTargets) {
  start({0, 0, 1, 1, 2}, {1001, 503, 2003, 7777, 0});
  table.targets[3].exclusion = Exclusion::inactive;
  see({1001, 503, 2003, 7777, 0});
  ASSERT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  EXPECT_EQ(penalties.target_unit(0), 16U);  // 50 / 3
  EXPECT_EQ(penalties.target_unit(3), 0U);
  EXPECT_EQ(penalties.server_unit(1), 50U);  // 203 / (2 * 1) / 2: server 2 has no space
  EXPECT_EQ(penalties.server_unit(2), 0U);
}

TEST_F(Penalties, WeightIsNeverNegative) {
  start({0, 1}, {1'000'000, 1000});
  LustrePenalties eager({.qos_prio_free = 0});
  eager.restart(table);
  ASSERT_TRUE(eager.prepare(table, view, kAnyPool, 0));
  EXPECT_EQ(eager.target_unit(1), 500U);  // 256 * 1000 / 512 / 1
  EXPECT_EQ(eager.server_unit(1), 500U);
  eager.charge(view, 1, 0);  // 1000 - 500 each
  EXPECT_EQ(eager.weight(view, 1), 0U);
  eager.charge(view, 1, 0);  // 250 + 1000 - 500 each
  EXPECT_EQ(eager.target_penalty(1), 750U);
  EXPECT_EQ(eager.weight(view, 1), 0U);
}

// maxage is 5: penalties are halved once for each 40 s idle, beginning after 48 s, and gone after 1288 s.
TEST_F(Penalties, IdleOnesAge) {
  const auto after = [&](std::int64_t idle) {
    start({0, 0, 1}, {1'000'001, 503, 2'000'003});
    EXPECT_TRUE(penalties.prepare(table, view, kAnyPool, 100));
    penalties.charge(view, 2, 100);
    penalties.mark_dirty();
    EXPECT_TRUE(penalties.prepare(table, view, kAnyPool, 100 + idle));
    return std::pair(penalties.target_penalty(2), penalties.server_penalty(1));
  };
  const auto [target, server] = after(0);
  EXPECT_EQ(target, 2 * 50'781U);  // 26 * 2000003 / 512 = 101562; / 2; times 3 - 1
  EXPECT_EQ(server, 101'562U);     // 26 * 2000003 / 256 = 203125; / 2; times 2 - 1
  EXPECT_EQ(after(47), std::pair(target, server));
  EXPECT_EQ(after(48), std::pair(target / 2, server / 2));
  EXPECT_EQ(after(79), std::pair(target / 2, server / 2));
  EXPECT_EQ(after(80), std::pair(target / 4, server / 4));
  EXPECT_EQ(after(400), std::pair(target / 1024, server / 1024));
  EXPECT_EQ(after(1287), std::pair(target >> 32U, server >> 32U));
  EXPECT_EQ(after(1288), std::pair(std::uint64_t{0}, std::uint64_t{0}));
}

TEST_F(Penalties, AgeOnlyWhenDirty) {
  start({0, 0, 1}, {1001, 503, 2003});
  ASSERT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  penalties.charge(view, 2, 0);
  ASSERT_TRUE(penalties.prepare(table, view, kAnyPool, 100'000));
  EXPECT_EQ(penalties.target_penalty(2), 100U);
}

// 256000 * 213 / 256 = 213000: the least must be above.
TEST_F(Penalties, BalancedAtTheThreshold) {
  start({0, 0, 1}, {256'000, 213'000, 230'000});
  EXPECT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  see({256'000, 213'001, 230'000});
  EXPECT_FALSE(penalties.prepare(table, view, kAnyPool, 0));
  // Empty targets are left out of the comparison.
  see({256'000, 0, 230'000});
  EXPECT_FALSE(penalties.prepare(table, view, kAnyPool, 0));
  see({0, 0, 0});
  EXPECT_FALSE(penalties.prepare(table, view, kAnyPool, 0));

  LustrePenalties always({.qos_threshold_rr = 0});
  see({1000, 1000, 1000});
  always.restart(table);
  EXPECT_TRUE(always.prepare(table, view, kAnyPool, 0));
  LustrePenalties never({.qos_threshold_rr = 100});
  see({1000, 1, 1});
  never.restart(table);
  EXPECT_FALSE(never.prepare(table, view, kAnyPool, 0));
}

TEST_F(Penalties, TheBalancedStateResets) {
  start({0, 0, 1}, {1001, 503, 2003});
  ASSERT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  penalties.charge(view, 2, 0);
  see({1001, 1000, 1000});
  EXPECT_FALSE(penalties.prepare(table, view, kAnyPool, 0));
  EXPECT_EQ(penalties.target_penalty(2), 100U);
  see({1001, 504, 2003});
  EXPECT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  EXPECT_EQ(penalties.target_penalty(2), 0U);
  EXPECT_EQ(penalties.server_penalty(1), 0U);
  // And not again.
  penalties.charge(view, 2, 0);
  see({1001, 503, 2003});
  EXPECT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  EXPECT_EQ(penalties.target_penalty(2), 100U);
}

TEST_F(Penalties, PoolsHaveTheirOwnUnitsAndVerdict) {
  start({0, 0, 1, 1}, {1001, 503, 2003, 2002});
  const std::uint32_t uneven = add_pool(table, "uneven", {0, 1});
  const std::uint32_t even = add_pool(table, "even", {2, 3});
  const std::uint32_t single = add_pool(table, "single", {3});
  EXPECT_TRUE(penalties.prepare(table, view, uneven, 0));
  EXPECT_EQ(penalties.target_unit(0), 50U);  // two members
  EXPECT_EQ(penalties.target_unit(2), 0U);
  EXPECT_EQ(penalties.server_unit(0), 0U);  // made for the whole file system only
  penalties.charge(view, 0, 0);
  EXPECT_EQ(penalties.target_penalty(0), 150U);  // 4 active ones in all: 200 - 50
  EXPECT_FALSE(penalties.prepare(table, view, single, 0));
  EXPECT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  EXPECT_EQ(penalties.target_unit(0), 16U);  // 50 / 3

  // The verdict lasts 5 s.
  EXPECT_FALSE(penalties.prepare(table, view, even, 10));
  see({1001, 503, 2003, 100});
  EXPECT_FALSE(penalties.prepare(table, view, even, 14));
  EXPECT_TRUE(penalties.prepare(table, view, even, 15));
}

TEST_F(Penalties, HugeTargetsDoNotOverflow) {
  start({0, 0, 1}, {1, 1, 1});
  for (Target& target : table.targets) target.available = Bytes{~std::uint64_t{0}};
  table.targets[0].available = Bytes{1 << 20U};
  view.refresh(table);
  penalties.mark_dirty();
  ASSERT_TRUE(penalties.prepare(table, view, kAnyPool, 0));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46U;
  EXPECT_EQ(penalties.weight(view, 1), kMost);
  EXPECT_EQ(penalties.target_unit(1), 26 * kMost / 512 / 2);
  EXPECT_EQ(penalties.server_unit(1), 26 * kMost / 256 / 2);
}

TEST(LustreQos, SharesFollowFreeSpace) {
  constexpr std::uint64_t kSeed = 1;
  SCOPED_TRACE(kSeed);
  TargetTable table = table_on({0, 1, 2, 3}, Bytes{1'000'000'000'000});
  const std::vector<std::uint64_t> gigabytes{199, 44, 209, 168};
  for (std::size_t i = 0; i < 4; ++i) table.targets[i].available = Bytes{gigabytes[i] * 1'000'000'000};
  LustreQos policy({.seed = kSeed});
  EXPECT_EQ(policy.name(), "lustre-qos");
  constexpr double kFiles = 400'000;
  const auto objects = objects_on(table, assign(policy, table, std::vector<Demand>(static_cast<std::size_t>(kFiles))));
  const std::vector<double> shares{.318, .076, .334, .272};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(static_cast<double>(objects[i]) / kFiles, shares[i], 0.003) << i;
}

TEST(LustreQos, EvenSpaceIsRoundRobin) {
  TargetTable table = table_on({0, 0, 1, 1, 1});
  const std::vector<Demand> demands(50, {.object_bytes = Bytes::mib(1), .count = 2});
  LustreQos even({.seed = 3});
  LustreRoundRobin ring({.seed = 3});
  EXPECT_THAT(assign(even, table, demands).targets, ElementsAreArray(assign(ring, table, demands).targets));

  table.targets[2].available = Bytes::gib(2);
  LustreQos uneven({.seed = 3});
  LustreQos off({.seed = 3, .qos_threshold_rr = 100});
  LustreRoundRobin again({.seed = 3});
  const auto rounds = assign(again, table, demands).targets;
  EXPECT_NE(assign(uneven, table, demands).targets, rounds);
  EXPECT_EQ(assign(off, table, demands).targets, rounds);
}

TEST(LustreQos, TooFewCandidatesIsRoundRobin) {
  TargetTable table = table_on({0, 0, 1, 1});
  table.targets[0].available = Bytes::gib(1);
  table.targets[1].degraded = true;
  const std::vector<Demand> demands(20, {.count = 4});
  LustreQos policy({.seed = 4});
  LustreRoundRobin ring({.seed = 4});
  EXPECT_EQ(assign(policy, table, demands).targets, assign(ring, table, demands).targets);

  // Three will do for a default count of four, and then QOS keeps off the degraded one.
  LustreQos lenient({.seed = 4, .count_is_default = true});
  const Assignment answer = assign(lenient, table, demands);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    EXPECT_THAT(targets_of(answer, i), SizeIs(3));
    EXPECT_EQ(std::ranges::count(answer.of(i), 1U), 0);
  }
}

TEST(LustreQos, OverstripingIsLeftToTheRing) {
  TargetTable table = table_on({0, 0, 0});
  table.targets[0].available = Bytes::gib(1);
  const std::vector<Demand> demands(10, {.count = 7, .per_target = 3});
  LustreQos policy({.seed = 6});
  LustreRoundRobin ring({.seed = 6});
  EXPECT_EQ(assign(policy, table, demands).targets, assign(ring, table, demands).targets);
}

TEST(LustreQos, OneActiveTargetIsRoundRobin) {
  TargetTable table = table_on({0, 0, 1});
  table.targets[0].exclusion = Exclusion::inactive;
  table.targets[2].exclusion = Exclusion::full;
  LustreQos policy({.seed = 6});
  EXPECT_THAT(assign(policy, table, std::vector<Demand>(3)).targets, ElementsAre(1, 1, 1));
}

// Without weight, candidates are taken in their order.
TEST(LustreQos, TargetsWithoutWeightAreTakenInOrder) {
  TargetTable table = table_on({0, 0, 0, 0});
  set_free(table, {1000, 0, 0, 0});
  LustreQos policy({.seed = 2, .qos_threshold_rr = 0});
  const Assignment answer = assign(policy, table, {{.count = 4}});
  EXPECT_THAT(answer.targets, ElementsAre(0, 1, 2, 3));
}

// Even at first; the first file leaves its target half of the other's space, but only where that is seen.
TEST(LustreQos, HeedsBytesIfSeen) {
  constexpr std::uint64_t kSeed = 8;
  SCOPED_TRACE(kSeed);
  const TargetTable table = table_on({0, 0});
  std::vector<Demand> demands(20'001);
  demands[0].object_bytes = Bytes::gib(5);
  LustreQos seeing({.seed = kSeed, .bytes_visible = true});
  const Assignment seen = assign(seeing, table, demands);
  const auto halved = static_cast<double>(std::ranges::count(seen.targets, seen.targets[0]));
  EXPECT_NEAR(halved / 20'000, 1.0 / 3, 0.03);

  LustreQos blind({.seed = kSeed});
  const Assignment unseen = assign(blind, table, demands);
  // Until the ring draws a new start.
  for (std::size_t i = 1; i < 2060; ++i) ASSERT_NE(unseen.targets[i], unseen.targets[i - 1]) << i;
}

TEST(LustreQos, FullTargetsDropOut) {
  TargetTable table = table_on({0, 0, 1});
  table.targets[0].available = Bytes::gib(5);
  LustreQos policy({.seed = 9, .bytes_visible = true});
  const std::vector<Demand> demands(30, {.object_bytes = Bytes::gib(1)});
  const auto answer = policy.assign(table, demands);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::not_found);
  EXPECT_THAT(answer.error().message, HasSubstr("demand 25: none of the 3 targets of the file system"));
}

TEST(LustreQos, RejectsOptions) {
  const auto message = [](const LustreQosOptions& options) {
    LustreQos policy(options);
    const auto answer = policy.assign(table_on({0, 1}), std::vector<Demand>(1));
    return answer ? "" : answer.error().message;
  };
  EXPECT_THAT(message({.qos_threshold_rr = 101}), HasSubstr("qos_threshold_rr is 101 %: expected 0 to 100"));
  EXPECT_THAT(message({.qos_prio_free = 200}), HasSubstr("qos_prio_free is 200 %: expected 0 to 100"));
  EXPECT_THAT(message({.qos_maxage = seconds{0}}), HasSubstr("qos_maxage is 0 s: expected 1 s to 86400 s"));
  EXPECT_THAT(message({.between_creates = seconds{-1}}), HasSubstr("between_creates is -1000000000 ns: expected 0 or more"));
  EXPECT_EQ(message({.qos_threshold_rr = 100, .qos_prio_free = 100}), "");
}

TEST(LustreQos, KeepsThePromises) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const TargetTable table = random_table(rng);
    const auto demands = random_demands(table, rng, 40);
    const LustreQosOptions options{.seed = seed, .count_is_default = rng.chance(0.5), .between_creates = seconds{rng.below(100)}};
    LustreQos policy(options);
    LustreQos again(options);
    const Assignment answer = assign(policy, table, demands);
    expect_sound(table, demands, answer);
    EXPECT_EQ(assign(again, table, demands).targets, answer.targets);
  }
}

// Empty and idle, it is the round robin.
TEST(LustreQos, CostsOfThePaper) {
  const auto make = [](std::uint64_t seed) { return std::make_unique<LustreQos>(LustreQosOptions{.seed = seed}); };
  EXPECT_NEAR(paper_costs(kIorWide, 300, make).mean, 1.0254, 0.0001);
  EXPECT_NEAR(paper_costs(kIorNarrow, 300, make).mean, 1.10, 0.01);
  EXPECT_NEAR(paper_costs(kHacc, 300, make).mean, 1.08, 0.01);
}

}  // namespace
}  // namespace iez::placement
