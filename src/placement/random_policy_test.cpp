#include "placement/random_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "placement/lustre_test_support.hpp"

namespace iez::placement {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

Assignment assign(RandomPolicy& policy, const TargetTable& table, const std::vector<Demand>& demands) {
  auto answer = policy.assign(table, demands);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
  return answer ? *std::move(answer) : Assignment{.offsets = std::vector<std::uint64_t>(demands.size() + 1)};
}

// Each of the 20 ordered pairs of 5 targets is due 1000 times; 5 standard deviations are 154.
TEST(RandomPolicy, IsUniformOverPairs) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  RandomPolicy policy({.seed = kSeed});
  const Assignment answer = assign(policy, table_on({0, 0, 1, 1, 2}), std::vector<Demand>(20'000, {.count = 2}));
  std::map<std::vector<std::uint32_t>, int> seen;
  for (std::size_t i = 0; i < 20'000; ++i) ++seen[targets_of(answer, i)];
  EXPECT_EQ(seen.size(), 20U);
  for (const auto& [pair, times] : seen) EXPECT_NEAR(times, 1000, 154) << pair[0] << ' ' << pair[1];
  EXPECT_EQ(policy.name(), "random");
}

TEST(RandomPolicy, DegradedOnlyForTheRest) {
  TargetTable table = table_on({0, 0, 0, 0, 0});
  table.targets[1].degraded = true;
  table.targets[4].degraded = true;
  table.targets[3].exclusion = Exclusion::read_only;
  RandomPolicy policy({.seed = 1});
  std::vector<std::uint64_t> third(5);
  for (int i = 0; i < 200; ++i) {
    EXPECT_THAT(assign(policy, table, {{.count = 2}}).targets, UnorderedElementsAre(0, 2));
    const Assignment three = assign(policy, table, {{.count = 3}});
    ASSERT_EQ(three.targets.size(), 3U);
    ++third[three.targets[2]];
  }
  EXPECT_EQ(third[1] + third[4], 200U);
  EXPECT_GT(third[1], 50U);
  EXPECT_GT(third[4], 50U);
}

TEST(RandomPolicy, OverstripesInRounds) {
  TargetTable table = table_on({0, 0, 0, 0});
  table.targets[3].degraded = true;
  RandomPolicy policy({.seed = 2});
  EXPECT_THAT(assign(policy, table, {{.count = 3, .per_target = 2}}).targets, UnorderedElementsAre(0, 1, 2));
  EXPECT_THAT(assign(policy, table, {{.count = 6, .per_target = 2}}).targets, UnorderedElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(assign(policy, table, {{.count = 8, .per_target = 2}}).targets, UnorderedElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(RandomPolicy, KeepsThePromises) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const TargetTable table = random_table(rng);
    const auto demands = random_demands(table, rng, 40);
    RandomPolicy policy({.seed = seed});
    RandomPolicy again({.seed = seed});
    const Assignment answer = assign(policy, table, demands);
    expect_sound(table, demands, answer);
    for (std::size_t i = 0; i < demands.size(); ++i) EXPECT_EQ(answer.of(i).size(), demands[i].count);
    EXPECT_EQ(assign(again, table, demands).targets, answer.targets);
  }
}

TEST(RandomPolicy, FailsWithoutTargets) {
  TargetTable table = table_on({0, 0});
  for (Target& target : table.targets) target.exclusion = Exclusion::full;
  RandomPolicy policy({.seed = 3});
  const auto answer = policy.assign(table, std::vector<Demand>(1));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::not_found);
  EXPECT_THAT(answer.error().message, HasSubstr("demand 0: none of the 2 targets of the file system takes new objects"));
}

TEST(RandomPolicy, CostsOfThePaper) {
  const auto make = [](std::uint64_t seed) { return std::make_unique<RandomPolicy>(RandomPolicyOptions{.seed = seed}); };
  EXPECT_NEAR(paper_costs(kIorWide, 1000, make).mean, 1.21, 0.02);
  EXPECT_NEAR(paper_costs(kIorNarrow, 1000, make).mean, 1.39, 0.02);
  EXPECT_NEAR(paper_costs(kHacc, 1000, make).mean, 1.29, 0.02);
}

}  // namespace
}  // namespace iez::placement
