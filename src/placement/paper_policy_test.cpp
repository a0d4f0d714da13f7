#include "placement/paper_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

using testing::UnorderedElementsAre;

double cost_of(Policy& policy, const TargetTable& table, const PaperCase& of) {
  const std::vector<Demand> demands(of.files, {of.object_bytes, of.count});
  const auto answer = policy.assign(table, demands);
  EXPECT_TRUE(answer);
  if (!answer) return 0;
  expect_placed(table, demands, *answer);
  return balance(table, added_by(table, demands, *answer)).ost_cost;
}

TargetTable loaded_table() {
  TargetTable table = paper_table();
  table.servers[0].load = 0.10;
  table.servers[1].load = 0.15;
  table.servers[2].load = 0.20;
  return table;
}

TEST(PaperFlow, LinearCostsDoNotBalance) {
  PaperFlowPolicy policy;
  const TargetTable table = loaded_table();
  EXPECT_NEAR(cost_of(policy, table, kIorWide), 1.85, 0.05);
  EXPECT_NEAR(cost_of(policy, table, kIorNarrow), 2.34, 0.01);
  EXPECT_NEAR(cost_of(policy, table, kHacc), 1.875, 0.01);
}

TEST(PaperFlow, FillsTheCheapestServersFirst) {
  // 64 files of 4: the 5 targets of the least loaded server take 40 objects each, the next server the other 56.
  PaperFlowPolicy policy;
  const TargetTable table = loaded_table();
  const std::vector<Demand> demands(64, {Bytes::mib(256), 4});
  const auto answer = policy.assign(table, demands);
  ASSERT_TRUE(answer);
  const auto objects = objects_on(table, *answer);
  for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(objects[j], 40U) << "the whole target";
  for (std::size_t j = 10; j < 15; ++j) EXPECT_EQ(objects[j], 0U);
}

TEST(PaperFlow, AUseOfTheTargetCountsLikeALoadOfTheServer) {
  TargetTable table = grid(2, 2);
  table.servers[0].load = 0.3;
  table.servers[1].load = 0.1;
  fill(table.targets[0], Bytes::gib(1));
  fill(table.targets[2], Bytes::gib(4));
  // Costs: 0.4, 0.3, 0.5, 0.1.
  const std::vector<Demand> demands{{Bytes::mib(1), 2}};
  for (const bool sequential : {false, true}) {
    const auto answer = sequential ? PaperSequentialPolicy().assign(table, demands) : PaperFlowPolicy().assign(table, demands);
    ASSERT_TRUE(answer);
    EXPECT_THAT(targets_of(*answer, 0), UnorderedElementsAre(1, 3));
  }
}

TEST(PaperFlow, ShortageAndOverstriping) {
  PaperFlowPolicy policy;
  TargetTable table = grid(1, 2, Bytes::gib(1));
  auto answer = policy.assign(table, std::vector<Demand>(3, {Bytes::gib(1), 1}));
  ASSERT_TRUE(answer);
  ASSERT_TRUE(answer->shortage);
  EXPECT_EQ(answer->shortage->placed, 0U);
  const std::vector<Demand> over{{Bytes::mib(512), 4, 2}};
  answer = policy.assign(table, over);
  ASSERT_TRUE(answer);
  expect_placed(table, over, *answer);
}

TEST(PaperFlow, TooManyArcsAreRefused) {
  PaperFlowPolicy policy;
  const TargetTable table = grid(10, 100);
  const std::vector<Demand> demands(20'001, {Bytes::mib(1), 1});
  const auto answer = policy.assign(table, demands);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::limit);
  EXPECT_EQ(answer.error().message, "policy 'paper' needs one arc for each file and target, 20022001 here: at most 20000000");
}

TEST(PaperSequential, WithoutLoadItIsOptimal) {
  PaperSequentialPolicy policy;
  const TargetTable table = paper_table();
  EXPECT_NEAR(cost_of(policy, table, kIorWide), 1.0254, 5e-5);
  EXPECT_NEAR(cost_of(policy, table, kIorNarrow), 1.0547, 5e-5);
  EXPECT_NEAR(cost_of(policy, table, kHacc), 1.0547, 5e-5);
}

TEST(PaperSequential, LoadOutweighsSpace) {
  PaperSequentialPolicy policy;
  const TargetTable table = loaded_table();
  EXPECT_NEAR(cost_of(policy, table, kIorWide), 1.11, 0.04);
  // 19, 17 and 15 objects on the targets of the three servers cost the same; the last of the 256 goes to any.
  const double narrow = cost_of(policy, table, kIorNarrow);
  EXPECT_GE(narrow, 0.475 / (64.0 / 150) - 1e-9);
  EXPECT_LE(narrow, 0.5 / (64.0 / 150) + 1e-9);
  EXPECT_NEAR(cost_of(policy, table, kHacc), 1.58, 0.01);
}

TEST(PaperSequential, Shortage) {
  PaperSequentialPolicy policy;
  TargetTable table = grid(1, 3, Bytes::gib(1));
  fill(table.targets[1], Bytes::mib(600));
  const auto answer = policy.assign(table, std::vector<Demand>{{Bytes::mib(1), 3}, {Bytes::mib(512), 3}});
  ASSERT_TRUE(answer);
  ASSERT_TRUE(answer->shortage);
  EXPECT_EQ(answer->shortage->demand, 1U);
  EXPECT_EQ(answer->shortage->placed, 2U);
}

TEST(PaperPolicies, KeepTheirPromises) {
  PaperFlowPolicy flow;
  PaperSequentialPolicy sequential;
  for (Policy* policy : {static_cast<Policy*>(&flow), static_cast<Policy*>(&sequential)}) {
    int placed = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      SCOPED_TRACE(std::string(policy->name()) + ", seed " + std::to_string(seed));
      Rng rng(seed);
      Instance instance = large_instance(rng);
      for (Server& server : instance.table.servers) server.load = rng.unit();
      const auto answer = policy->assign(instance.table, instance.demands);
      ASSERT_TRUE(answer);
      if (answer->shortage) continue;
      ++placed;
      expect_placed(instance.table, instance.demands, *answer);
      if (HasFailure()) return;
    }
    EXPECT_GT(placed, 80) << policy->name();
  }
}

}  // namespace
}  // namespace iez::placement
