#include "placement/classes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

using testing::ElementsAre;

TEST(Classes, NoneOfNothing) { EXPECT_TRUE(make_classes({}).empty()); }

TEST(Classes, LargestObjectsFirstThenLargestCounts) {
  const std::vector<Demand> demands{{Bytes::mib(1), 4}, {Bytes::mib(2), 2}, {Bytes::mib(1), 4},
                                    {Bytes::mib(2), 3}, {Bytes::mib(1), 4}, {Bytes::mib(2), 2}};
  const auto classes = make_classes(demands);
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_EQ(classes[0].demand, demands[3]);
  EXPECT_THAT(classes[0].members, ElementsAre(3));
  EXPECT_EQ(classes[1].demand, demands[1]);
  EXPECT_THAT(classes[1].members, ElementsAre(1, 5));
  EXPECT_THAT(classes[2].members, ElementsAre(0, 2, 4));
  EXPECT_EQ(classes[2].files(), 3U);
  EXPECT_EQ(classes[2].objects(), 12U);
  EXPECT_EQ(classes[2].most_per_target(), 3U);
}

TEST(Classes, PoolAndOverstripingSetFilesApart) {
  const Demand plain{Bytes::mib(1), 4};
  Demand pooled = plain;
  pooled.pool = 1;
  Demand shared = plain;
  shared.per_target = 2;
  const std::vector<Demand> demands{plain, pooled, shared, plain};
  const auto classes = make_classes(demands);
  EXPECT_EQ(classes.size(), 3U);
  EXPECT_EQ(std::ranges::find(classes, shared, &DemandClass::demand)->most_per_target(), 2U);
}

TEST(Classes, TheOrderOfDemandsDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<Demand> demands = large_instance(rng).demands;
    for (std::size_t i = 0; i < 20; ++i) demands.push_back(demands[rng.below(demands.size())]);
    const auto classes = make_classes(demands);
    std::vector<std::uint32_t> all;
    for (const DemandClass& group : classes) {
      EXPECT_TRUE(std::ranges::is_sorted(group.members));
      for (const std::uint32_t i : group.members) EXPECT_EQ(demands[i], group.demand);
      all.insert(all.end(), group.members.begin(), group.members.end());
    }
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), demands.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
    for (std::size_t i = demands.size(); i > 1; --i) std::swap(demands[i - 1], demands[rng.below(i)]);
    const auto again = make_classes(demands);
    ASSERT_EQ(again.size(), classes.size());
    EXPECT_TRUE(
        std::ranges::is_sorted(classes, std::greater{}, [](const DemandClass& group) { return group.demand.object_bytes; }));
    for (std::size_t k = 0; k < classes.size(); ++k) {
      EXPECT_EQ(again[k].demand, classes[k].demand);
      EXPECT_EQ(again[k].files(), classes[k].files());
    }
  }
}

}  // namespace
}  // namespace iez::placement
