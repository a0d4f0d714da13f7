#include "model/cluster.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::model {
namespace {

Ost ost(std::uint32_t index, std::size_t oss, std::uint64_t total, std::uint64_t used) {
  return {.index = OstIndex{index},
          .oss = oss,
          .total = Bytes::gib(total),
          .free = Bytes::gib(total - used),
          .available = Bytes::gib(total - used)};
}

Cluster cluster(std::vector<Ost> osts, std::size_t servers) {
  Cluster result{.name = "test", .osts = std::move(osts)};
  result.servers.resize(servers);
  return result;
}

TEST(Cluster, UseOfOneTarget) {
  EXPECT_DOUBLE_EQ(utilisation(ost(0, 0, 10, 4)), 0.4);
  EXPECT_EQ(used(ost(0, 0, 10, 4)), Bytes::gib(4));
  EXPECT_EQ(utilisation(Ost{}), 0) << "a target of no size";
  EXPECT_EQ(used(Ost{.total = Bytes{5}, .free = Bytes{6}}), Bytes{0}) << "counters read at different moments";
  EXPECT_FALSE(full(ost(0, 0, 10, 4)));
  EXPECT_TRUE(full(Ost{.total = Bytes{10}, .free = Bytes{1}, .available = Bytes{0}})) << "the rest is root's";
  EXPECT_FALSE(full(Ost{}));
}

TEST(Cluster, CostIsOneWhenBalanced) {
  const Cluster even = cluster({ost(0, 0, 10, 4), ost(1, 0, 10, 4), ost(2, 1, 20, 8)}, 2);
  EXPECT_DOUBLE_EQ(ost_cost(even), 1);
  EXPECT_DOUBLE_EQ(oss_cost(even), 1);
  EXPECT_EQ(ost_cost(cluster({ost(0, 0, 10, 0)}, 1)), 1) << "an empty file system is balanced";
  EXPECT_EQ(ost_cost(Cluster{}), 1);
}

TEST(Cluster, CostIsMostUsedOverMean) {
  const Cluster uneven = cluster({ost(0, 0, 10, 9), ost(1, 0, 10, 1), ost(2, 1, 10, 5)}, 2);
  EXPECT_DOUBLE_EQ(ost_cost(uneven), 0.9 / 0.5);
  EXPECT_DOUBLE_EQ(oss_cost(uneven), 1) << "both servers are half full";
}

// The mean is of bytes, not of fractions: with unequal sizes a mean of fractions would depend on the placement.
TEST(Cluster, MeanIsWeightedBySize) {
  const Cluster unequal = cluster({ost(0, 0, 10, 10), ost(1, 1, 90, 0)}, 2);
  EXPECT_DOUBLE_EQ(ost_cost(unequal), 1.0 / 0.1);
}

TEST(Cluster, CostNeverFallsBelowOne) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Ost> osts;
    for (std::uint32_t i = 0; i < 1 + rng.below(20); ++i) {
      const std::uint64_t total = 1 + rng.below(100);
      osts.push_back(ost(i, rng.below(4), total, rng.below(total + 1)));
    }
    const Cluster random = cluster(std::move(osts), 4);
    ASSERT_GE(ost_cost(random), 1 - 1e-12);
    ASSERT_GE(oss_cost(random), 1 - 1e-12);
    ASSERT_GE(ost_cost(random), oss_cost(random) - 1e-12) << "a server is never fuller than its fullest target";
  }
}

TEST(Cluster, UsageSums) {
  const Cluster two = cluster({ost(0, 0, 10, 4), ost(1, 1, 20, 5)}, 2);
  EXPECT_EQ(usage(two).total, Bytes::gib(30));
  EXPECT_EQ(usage(two).used, Bytes::gib(9));
  EXPECT_EQ(usage(two, 1).osts, 1U);
  EXPECT_EQ(usage(two, 1).available, Bytes::gib(15));
}

}  // namespace
}  // namespace iez::model
