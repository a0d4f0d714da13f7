#include "placement/levels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

TEST(Levels, LeavesOutWhatTakesNothing) {
  TargetTable table = grid(2, 2);
  table.targets[1].exclusion = Exclusion::excluded;
  table.targets[2].degraded = true;
  const std::uint32_t pool = add_pool(table, "some", {1, 2, 3});
  const Levels levels(table, {}, {});
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels.servers(), 2U);
  std::vector<std::uint32_t> positions;
  positions.reserve(levels.size());
  for (std::uint32_t at = 0; at < levels.size(); ++at) positions.push_back(levels[at].position);
  EXPECT_THAT(positions, testing::UnorderedElementsAre(0, 2, 3));
  EXPECT_EQ(levels.pool(kAnyPool).sound.size() + levels.pool(kAnyPool).second.size(), 3U);
  EXPECT_EQ(levels.pool(kAnyPool).sound.size(), 2U);
  ASSERT_EQ(levels.pool(pool).sound.size(), 1U);
  EXPECT_EQ(levels[levels.pool(pool).sound[0]].position, 3U);
}

TEST(Levels, SpaceOnlyIsAsIfNothingElseWeighed) {
  TargetTable table = grid(3, 2);
  table.targets[0].reserved = Bytes::gib(2);
  fill(table.targets[0], Bytes::gib(3));
  const std::vector<DemandClass> classes = make_classes(std::vector<Demand>(3, {Bytes::gib(1), 2}));
  const Levels all(table, classes, {});
  const Levels space = all.space_only();
  const Levels expected(table, classes, {.target = 0, .server = 0});
  EXPECT_TRUE(all.weighs_traffic());
  EXPECT_FALSE(space.weighs_traffic());
  ASSERT_EQ(space.size(), expected.size());
  for (std::uint32_t at = 0; at < space.size(); ++at) {
    EXPECT_EQ(space[at].position, expected[at].position);
    EXPECT_EQ(space[at].used, expected[at].used);
    EXPECT_EQ(space[at].cost(), expected[at].cost());
    EXPECT_EQ(space.server(space[at].server).cost(), 0);
  }
}

TEST(Levels, CostsByHand) {
  // Two servers, the second with three times the bandwidth; 8 GiB are planned, 2 of them by others on target 0.
  TargetTable table = grid(2, 2);
  table.servers[0].share = 0.25;
  table.servers[1].share = 0.75;
  table.targets[0].reserved = Bytes::gib(2);
  fill(table.targets[0], Bytes::gib(3));
  const std::vector<Demand> demands(3, {Bytes::gib(1), 2});
  Levels levels(table, make_classes(demands), {.target = 0.1, .server = 0.2});
  EXPECT_TRUE(levels.weighs_traffic());
  std::uint32_t first = 0;
  while (levels[first].position != 0) ++first;
  const double gib = static_cast<double>(Bytes::gib(1).count);
  // Fair parts: 2 GiB for server 0, 1 GiB for each of its targets.
  EXPECT_NEAR(levels[first].per_byte * gib, 0.1 / 1, 1e-12);
  EXPECT_NEAR(levels.server(levels[first].server).per_byte * gib, 0.2 / 2, 1e-12);
  EXPECT_NEAR(levels[first].cost(), 0.3 + 0.1 * 2, 1e-12);
  EXPECT_NEAR(levels.server(levels[first].server).cost(), 0.2, 1e-12);
  std::uint32_t last = 0;
  while (levels[last].position != 3) ++last;
  EXPECT_NEAR(levels[last].per_byte * gib, 0.1 / 3, 1e-12);
  EXPECT_NEAR(levels.server(levels[last].server).per_byte * gib, 0.2 / 6, 1e-12);

  levels.add(last, Bytes::gib(6).count);
  EXPECT_DOUBLE_EQ(levels[last].utilisation(), 0.6);
  EXPECT_EQ(levels[last].available, Bytes::gib(4).count);
  EXPECT_NEAR(levels[last].cost(), 0.6 + 0.2, 1e-12);
  EXPECT_NEAR(levels.server(levels[last].server).cost(), 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(levels.max_utilisation(), 0.6);
  EXPECT_DOUBLE_EQ(levels[last].after(Bytes::gib(1).count), 0.7);
  levels.remove(last, Bytes::gib(6).count);
  EXPECT_DOUBLE_EQ(levels.max_utilisation(), 0.3);
  EXPECT_EQ(levels.server(levels[last].server).planned, 0U);
}

TEST(Levels, TrafficDoesNotMatterWithoutWeightsOrBytes) {
  const TargetTable table = grid(2, 2);
  const std::vector<Demand> demands{{Bytes::gib(1), 2}};
  EXPECT_FALSE(Levels(table, make_classes(demands), {.target = 0, .server = 0}).weighs_traffic());
  EXPECT_FALSE(Levels(table, {}, {}).weighs_traffic());
  EXPECT_FALSE(Levels(grid(1, 4), make_classes(demands), {.target = 0, .server = 1}).weighs_traffic());
  EXPECT_FALSE(Levels(grid(1, 1), make_classes(demands), {}).weighs_traffic());
}

TEST(Levels, NoUsableTarget) {
  TargetTable table = grid(1, 1);
  table.targets[0].exclusion = Exclusion::inactive;
  const Levels levels(table, {}, {});
  EXPECT_EQ(levels.size(), 0U);
  EXPECT_EQ(levels.max_utilisation(), 0);
}

TEST(Levels, OrderDependsOnWhatTargetsAre) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = large_instance(rng);
    TargetTable permuted = instance.table;
    for (std::size_t j = permuted.targets.size(); j > 1; --j) std::swap(permuted.targets[j - 1], permuted.targets[rng.below(j)]);
    const auto classes = make_classes(instance.demands);
    const Levels one(instance.table, classes, {});
    const Levels two(permuted, classes, {});
    ASSERT_EQ(one.size(), two.size());
    for (std::uint32_t at = 0; at < one.size(); ++at) {
      EXPECT_EQ(one[at].used, two[at].used);
      EXPECT_EQ(one[at].capacity, two[at].capacity);
      EXPECT_EQ(one[at].available, two[at].available);
      EXPECT_EQ(one[at].server, two[at].server);
    }
  }
}

}  // namespace
}  // namespace iez::placement
