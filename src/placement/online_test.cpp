#include "placement/online.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "placement/balanced.hpp"
#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr double kWidth = 1.0 / BucketQueue::kBuckets;

double fullest(const OnlineAllocator& online, const TargetTable& table) {
  double most = 0;
  for (std::uint32_t j = 0; j < table.targets.size(); ++j) {
    most = std::max(most, static_cast<double>(online.used(j).count) / static_cast<double>(table.targets[j].capacity.count));
  }
  return most;
}

TEST(Online, TheLeastUsedWithTheObject) {
  TargetTable table = grid(1, 3);
  fill(table.targets[0], Bytes::gib(1));
  table.targets[2].capacity = Bytes::gib(100);
  fill(table.targets[2], Bytes::gib(15));
  OnlineAllocator online(table);
  std::vector<std::uint32_t> targets;
  EXPECT_FALSE(online.place({Bytes::gib(1), 1}, targets));
  EXPECT_THAT(targets, ElementsAre(1)) << "0.1 against 0.2 and 0.16";
  EXPECT_FALSE(online.place({Bytes::gib(1), 1}, targets));
  EXPECT_THAT(targets, ElementsAre(2)) << "0.16 against 0.2 and 0.2";
  EXPECT_EQ(online.used(1), Bytes::gib(1));
  EXPECT_EQ(online.available(1), Bytes::gib(9));
}

TEST(Online, EqualTargetsTakeTurnsServersAlternating) {
  const TargetTable table = grid(3, 2);
  OnlineAllocator online(table);
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> targets;
  for (int i = 0; i < 12; ++i) {
    EXPECT_FALSE(online.place({Bytes{1}, 1}, targets));
    order.push_back(targets.front());
  }
  EXPECT_THAT(order, ElementsAre(0, 2, 4, 1, 3, 5, 0, 2, 4, 1, 3, 5));
}

TEST(Online, KeepsItsPromises) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = large_instance(rng);
    OnlineAllocator online(instance.table);
    Assignment answer{.offsets = {0}};
    std::vector<Demand> done;
    std::vector<std::uint32_t> targets;
    for (const Demand& demand : instance.demands) {
      const auto shortage = online.place(demand, targets);
      if (shortage) {
        EXPECT_TRUE(targets.empty());
        EXPECT_LT(shortage->placed, demand.count);
        continue;
      }
      done.push_back(demand);
      answer.targets.insert(answer.targets.end(), targets.begin(), targets.end());
      answer.offsets.push_back(answer.targets.size());
      ++placed;
    }
    expect_placed(instance.table, done, answer);
    expect_degraded_last(instance.table, done, answer);
    const auto added = added_by(instance.table, done, answer);
    for (std::uint32_t j = 0; j < added.size(); ++j) {
      EXPECT_EQ(online.used(j), instance.table.targets[j].used + added[j]);
      EXPECT_EQ(online.available(j), instance.table.targets[j].available - added[j]);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(placed, 1500);
}

TEST(Online, TheGapStaysWithinTheLargestObject) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Bytes capacity = Bytes::gib(1000);
    TargetTable table = grid(static_cast<std::uint32_t>(rng.between(1, 5)), 4, capacity);
    const auto targets_count = static_cast<std::uint32_t>(table.targets.size());
    for (Target& target : table.targets) fill(target, Bytes::mib(rng.below(rng.chance(0.5) ? 100 : 20'000)));
    OnlineAllocator online(table);
    const auto gap = [&] {
      std::uint64_t least = online.used(0).count;
      std::uint64_t most = least;
      for (std::uint32_t j = 1; j < targets_count; ++j) {
        least = std::min(least, online.used(j).count);
        most = std::max(most, online.used(j).count);
      }
      return static_cast<double>(most - least);
    };
    // Targets within a bucket count as equally used.
    const double slack = kWidth * static_cast<double>(capacity.count);
    double allowed = gap();
    std::vector<std::uint32_t> targets;
    for (int file = 0; file < 100; ++file) {
      const Demand demand{Bytes::mib(rng.between(1, 3000)), static_cast<std::uint32_t>(rng.between(1, targets_count))};
      ASSERT_FALSE(online.place(demand, targets));
      allowed = std::max(allowed, static_cast<double>(demand.object_bytes.count) + slack);
      ASSERT_LE(gap(), allowed) << "file " << file;
    }
  }
}

TEST(Online, AsGoodAsPlanningForOneClassOnEqualTargets) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    TargetTable table = grid(static_cast<std::uint32_t>(rng.between(1, 4)), 5, Bytes::gib(100));
    for (Target& target : table.targets) fill(target, Bytes::mib(rng.below(40'000)));
    const Demand demand{Bytes::mib(rng.between(1, 900)), static_cast<std::uint32_t>(rng.between(1, table.targets.size()))};
    const std::vector<Demand> demands(rng.between(1, 50), demand);
    const auto batch = BalancedPolicy().assign(table, demands);
    ASSERT_TRUE(batch);
    ASSERT_FALSE(batch->shortage);
    OnlineAllocator online(table);
    std::vector<std::uint32_t> targets;
    for (const Demand& each : demands) ASSERT_FALSE(online.place(each, targets));
    EXPECT_NEAR(fullest(online, table), highest_after(table, demands, *batch), kWidth);
  }
}

TEST(Online, AShortageChangesNothing) {
  TargetTable table = grid(1, 4);
  fill(table.targets[3], Bytes::gib(10));
  table.targets[3].exclusion = Exclusion::full;
  OnlineAllocator online(table);
  std::vector<std::uint32_t> targets{1, 2, 3};
  const auto shortage = online.place({Bytes::gib(1), 4}, targets);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->placed, 3U);
  EXPECT_TRUE(targets.empty());
  for (std::uint32_t j = 0; j < 3; ++j) {
    EXPECT_EQ(online.used(j), Bytes{});
    EXPECT_EQ(online.available(j), Bytes::gib(10));
  }
  EXPECT_FALSE(online.place({Bytes::gib(10), 3}, targets)) << "all that there is";
  EXPECT_TRUE(online.place({Bytes{1}, 1}, targets));
  EXPECT_FALSE(online.place({Bytes{}, 3}, targets)) << "an empty object needs no room";
}

TEST(Online, ATargetWithoutRoomIsAskedAgainForSmallerFiles) {
  TargetTable table = grid(1, 2);
  table.targets[0].available = Bytes::mib(10);
  OnlineAllocator online(table);
  std::vector<std::uint32_t> targets;
  EXPECT_FALSE(online.place({Bytes::mib(20), 1}, targets));
  EXPECT_THAT(targets, ElementsAre(1)) << "target 0 is as empty, but closed to so much";
  EXPECT_FALSE(online.place({Bytes::mib(10), 1}, targets));
  EXPECT_THAT(targets, ElementsAre(0));
}

TEST(Online, Overstriping) {
  OnlineAllocator online(grid(1, 3));
  std::vector<std::uint32_t> targets;
  EXPECT_FALSE(online.place({Bytes::mib(1), 6, 2}, targets));
  EXPECT_THAT(targets, UnorderedElementsAre(0, 0, 1, 1, 2, 2));
  const auto shortage = online.place({Bytes::mib(1), 7, 2}, targets);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->placed, 6U);
}

TEST(Online, DegradedWhenTheSoundAreExhausted) {
  TargetTable table = grid(1, 3);
  table.targets[0].degraded = true;
  fill(table.targets[1], Bytes::gib(5));
  OnlineAllocator online(table);
  std::vector<std::uint32_t> targets;
  EXPECT_FALSE(online.place({Bytes::gib(1), 2}, targets));
  EXPECT_THAT(targets, UnorderedElementsAre(1, 2));
  EXPECT_FALSE(online.place({Bytes::gib(1), 3}, targets));
  EXPECT_THAT(targets, UnorderedElementsAre(0, 1, 2));
  EXPECT_FALSE(online.place({Bytes::gib(8), 2}, targets));
  EXPECT_THAT(targets, UnorderedElementsAre(0, 2)) << "target 1 has 3 GiB left";
}

TEST(Online, ReleaseAndNewsOfATarget) {
  OnlineAllocator online(grid(1, 2));
  std::vector<std::uint32_t> targets;
  EXPECT_FALSE(online.place({Bytes::gib(4), 2}, targets));
  online.release(1, Bytes::gib(3));
  EXPECT_EQ(online.used(1), Bytes::gib(1));
  EXPECT_EQ(online.available(1), Bytes::gib(9));
  EXPECT_FALSE(online.place({Bytes::gib(1), 1}, targets));
  EXPECT_THAT(targets, ElementsAre(1));
  online.release(1, Bytes::gib(50));
  EXPECT_EQ(online.used(1), Bytes{}) << "never below nothing";
  EXPECT_EQ(online.available(1), Bytes::gib(10));

  online.set_state(1, Bytes{}, Bytes::gib(10), false);
  EXPECT_FALSE(online.place({Bytes::gib(1), 1}, targets));
  EXPECT_THAT(targets, ElementsAre(0)) << "target 1 is closed";
  EXPECT_TRUE(online.place({Bytes::gib(1), 2}, targets));
  online.release(1, Bytes::gib(1));
  EXPECT_TRUE(online.place({Bytes::gib(1), 2}, targets)) << "a release does not open it";
  online.set_state(1, Bytes::gib(9), Bytes::gib(1), true);
  EXPECT_FALSE(online.place({Bytes::mib(1), 1}, targets));
  EXPECT_THAT(targets, ElementsAre(0)) << "fuller than the other now";
  EXPECT_FALSE(online.place({Bytes::gib(1), 2}, targets));
}

TEST(Online, PoolsShareTheirTargets) {
  TargetTable table = grid(1, 3);
  const std::uint32_t pool = add_pool(table, "some", {1, 2});
  OnlineAllocator online(table);
  std::vector<std::uint32_t> targets;
  EXPECT_FALSE(online.place({Bytes::gib(2), 2, 1, pool}, targets));
  EXPECT_THAT(targets, UnorderedElementsAre(1, 2));
  EXPECT_TRUE(online.place({Bytes::gib(2), 3, 1, pool}, targets));
  EXPECT_FALSE(online.place({Bytes::gib(1), 1}, targets));
  EXPECT_THAT(targets, ElementsAre(0)) << "the pool's files are seen by all";
}

TEST(Online, ManyCapacitiesShareQueues) {
  // 200 capacities: queues are shared, and still no target ends far above the best there was.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    TargetTable table = grid(10, 20);
    for (Target& target : table.targets) {
      target.capacity = Bytes::mib(rng.between(100'000, 400'000));
      fill(target, Bytes{});
    }
    OnlineAllocator online(table);
    std::vector<std::uint32_t> targets;
    Bytes total;
    Bytes room;
    for (const Target& target : table.targets) room += target.capacity;
    for (int file = 0; file < 2000; ++file) {
      ASSERT_FALSE(online.place({Bytes::mib(500), 8}, targets));
      total += Bytes::mib(4000);
    }
    const double mean = static_cast<double>(total.count) / static_cast<double>(room.count);
    EXPECT_LE(fullest(online, table), mean * 1.01 + 500.0 / 100'000);
  }
}

TEST(Online, NoTargets) {
  OnlineAllocator online(grid(0, 0));
  std::vector<std::uint32_t> targets;
  const auto shortage = online.place({Bytes{1}, 1}, targets);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->placed, 0U);
}

}  // namespace
}  // namespace iez::placement
