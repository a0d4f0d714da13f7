#include "placement/lustre_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/lustre_test_support.hpp"

namespace iez::placement {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

std::vector<std::uint32_t> order_on(const std::vector<std::uint32_t>& servers) {
  return lustre_order(table_on(servers), kAnyPool);
}

TEST(LustreOrder, SpreadsServers) {
  EXPECT_THAT(order_on({0, 0, 1, 1}), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(order_on({0, 0, 0, 1}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(order_on({0, 0, 1, 1, 1, 1}), ElementsAre(2, 3, 0, 4, 5, 1));
  EXPECT_THAT(order_on({0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2}),
              ElementsAre(0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14));
}

TEST(LustreOrder, OfOneServerOrOneTargetEachIsTheTable) {
  EXPECT_THAT(order_on({0, 0, 0, 0, 0}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(order_on({4, 3, 2, 1, 0}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(order_on({0}), ElementsAre(0));
  EXPECT_THAT(order_on({}), IsEmpty());
}

// Server 1 has its second target before server 0 has.
TEST(LustreOrder, AmongEqualsTheFirstToHaveSoMany) { EXPECT_THAT(order_on({0, 1, 1, 0}), ElementsAre(1, 0, 2, 3)); }

// Three servers of 2, 2 and 1: slots 0 and 2 are 0 and 1; 2 wants slot 0, gets 1; 3 wants 2, gets 3; 4 wants 0, gets 4.
TEST(LustreOrder, ProbesForward) { EXPECT_THAT(order_on({0, 0, 1, 1, 2}), ElementsAre(0, 2, 1, 3, 4)); }

// The ring has 3 slots; server 1 has 4 targets, of which 2 are members: 2 wants slot 0, and 5 wants slot 3 / 4 = 0, gets 1.
TEST(LustreOrder, CountsTargetsOutsideOfThePool) {
  TargetTable table = table_on({0, 0, 1, 1, 1, 1});
  const std::uint32_t pool = add_pool(table, "some", {0, 2, 5});
  EXPECT_THAT(lustre_order(table, pool), ElementsAre(2, 5, 0));
  EXPECT_THAT(lustre_order(table, add_pool(table, "none", {})), IsEmpty());
}

TEST(LustreOrder, HoldsTargetsThatTakeNothing) {
  TargetTable table = table_on({0, 0, 1, 1});
  table.targets[2].exclusion = Exclusion::inactive;
  table.targets[0].degraded = true;
  EXPECT_THAT(lustre_order(table, kAnyPool), ElementsAre(0, 2, 1, 3));
}

// Servers in a list as Lustre keeps it: with each target, its server moves before the first that has fewer.
std::vector<std::uint32_t> naive_order(const TargetTable& table, std::uint32_t pool) {
  std::vector<std::uint32_t> list;
  std::vector<std::size_t> targets(table.servers.size());
  for (const Target& target : table.targets) {
    std::erase(list, target.server);
    ++targets[target.server];
    const auto before =
        std::ranges::find_if(list, [&](std::uint32_t server) { return targets[server] < targets[target.server]; });
    list.insert(before, target.server);
  }
  constexpr std::uint32_t kFree = ~std::uint32_t{0};
  const auto& members = table.pools[pool].members;
  std::vector<std::uint32_t> order(members.size(), kFree);
  for (const std::uint32_t server : list) {
    std::size_t j = 0;
    for (const std::uint32_t member : members) {
      if (table.targets[member].server != server) continue;
      std::size_t slot = j++ * members.size() / targets[server];
      while (order[slot] != kFree) slot = (slot + 1) % order.size();
      order[slot] = member;
    }
  }
  return order;
}

TEST(LustreOrder, IsThatOfANaiveSearch) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const TargetTable table = random_table(rng);
    for (std::uint32_t pool = 0; pool < table.pools.size(); ++pool) {
      ASSERT_THAT(lustre_order(table, pool), ElementsAreArray(naive_order(table, pool)));
    }
  }
}

}  // namespace
}  // namespace iez::placement
