#include "placement/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TargetTable targets_of(const model::Cluster& cluster, const TargetOptions& options = {}) {
  auto table = make_targets(cluster, options);
  EXPECT_TRUE(table) << table.error().message;
  return table ? *std::move(table) : TargetTable{};
}

std::string complaint(const model::Cluster& cluster, const TargetOptions& options = {}) {
  const auto table = make_targets(cluster, options);
  EXPECT_FALSE(table);
  if (table) return {};
  EXPECT_EQ(table.error().code, Errc::invalid_argument);
  return table.error().message;
}

TEST(Targets, OrderedByIndexWithTheirUse) {
  model::Cluster cluster = cluster_of(2, 2);
  std::swap(cluster.osts[0], cluster.osts[3]);
  cluster.osts[1].free = Bytes::gib(4);
  cluster.osts[1].available = Bytes::gib(3);
  const TargetTable table = targets_of(cluster);
  ASSERT_EQ(table.targets.size(), 4U);
  for (std::uint32_t j = 0; j < 4; ++j) EXPECT_EQ(table.targets[j].ost.value, j);
  EXPECT_EQ(table.targets[1].server, 0U);
  EXPECT_EQ(table.targets[3].server, 1U);
  EXPECT_EQ(table.targets[1].used, Bytes::gib(6));
  EXPECT_EQ(table.targets[1].available, Bytes::gib(3)) << "what root reserves is neither used nor available";
  EXPECT_THAT(table.pools[kAnyPool].members, ElementsAre(0, 1, 2, 3));
}

TEST(Targets, EveryReasonToLeaveOneOut) {
  model::Cluster cluster = cluster_of(2, 4);
  cluster.osts[0].state.active = false;
  cluster.osts[1].state.read_only = true;
  cluster.osts[2].state.no_create = true;
  cluster.osts[3].available = {};
  cluster.osts[4].total = cluster.osts[4].free = cluster.osts[4].available = {};
  cluster.osts[6].state.degraded = true;
  const TargetTable table = targets_of(cluster, {.excluded = {{5}}});
  std::vector<Exclusion> found;
  found.reserve(table.targets.size());
  for (const Target& target : table.targets) found.push_back(target.exclusion);
  EXPECT_THAT(found, ElementsAre(Exclusion::inactive, Exclusion::read_only, Exclusion::no_create, Exclusion::full,
                                 Exclusion::no_size, Exclusion::excluded, Exclusion::none, Exclusion::none));
  const Usable members = usable(table, kAnyPool);
  EXPECT_THAT(members.sound, ElementsAre(7));
  EXPECT_THAT(members.second, ElementsAre(6));
}

TEST(Targets, NamesOfExclusions) {
  EXPECT_EQ(to_string(Exclusion::none), "usable");
  EXPECT_EQ(to_string(Exclusion::inactive), "inactive");
  EXPECT_EQ(to_string(Exclusion::read_only), "read-only");
  EXPECT_EQ(to_string(Exclusion::no_create), "closed to new objects");
  EXPECT_EQ(to_string(Exclusion::full), "full");
  EXPECT_EQ(to_string(Exclusion::no_size), "of no size");
  EXPECT_EQ(to_string(Exclusion::excluded), "excluded");
}

TEST(Targets, ReservationsAddUpAndCanFill) {
  const TargetTable table =
      targets_of(cluster_of(1, 3), {.reservations = {{{0}, Bytes::gib(2)}, {{0}, Bytes::gib(3)}, {{1}, Bytes::gib(12)}}});
  EXPECT_EQ(table.targets[0].reserved, Bytes::gib(5));
  EXPECT_EQ(table.targets[0].used, Bytes::gib(5));
  EXPECT_EQ(table.targets[0].available, Bytes::gib(5));
  EXPECT_EQ(table.targets[0].exclusion, Exclusion::none);
  EXPECT_EQ(table.targets[1].available, Bytes{}) << "more reserved than there is";
  EXPECT_EQ(table.targets[1].exclusion, Exclusion::full);
  EXPECT_EQ(table.targets[2].reserved, Bytes{});
}

TEST(Targets, PoolsHoldPositionsOnce) {
  model::Cluster cluster = cluster_of(2, 3);
  for (model::Ost& ost : cluster.osts) ost.index.value += 10;
  cluster.pools = {{.name = "flash", .osts = {{14}, {11}, {14}}}, {.name = "empty", .osts = {}}};
  const TargetTable table = targets_of(cluster);
  EXPECT_EQ(table.find_pool(""), kAnyPool);
  ASSERT_EQ(table.find_pool("flash"), 1U);
  EXPECT_EQ(table.find_pool("flas"), std::nullopt);
  EXPECT_THAT(table.pools[1].members, ElementsAre(1, 4));
  EXPECT_TRUE(usable(table, 2).sound.empty());
}

TEST(Targets, SharesFollowBandwidthAndLoad) {
  model::Cluster cluster = cluster_of(4, 1);
  cluster.servers[0].bandwidth = {2e9};
  cluster.servers[1].bandwidth = {4e9};
  cluster.servers[3].cpu = 0.6;
  cluster.servers[3].memory = 0.4;
  const TargetTable table = targets_of(cluster);
  // Unknown bandwidths count as the mean of the known, 3; the load of server 3 is 0.5.
  const double sum = 2 + 4 + 3 + 1.5;
  EXPECT_DOUBLE_EQ(table.servers[0].share, 2 / sum);
  EXPECT_DOUBLE_EQ(table.servers[1].share, 4 / sum);
  EXPECT_DOUBLE_EQ(table.servers[2].share, 3 / sum);
  EXPECT_DOUBLE_EQ(table.servers[3].share, 1.5 / sum);
  EXPECT_EQ(table.servers[2].load, std::nullopt);
  EXPECT_DOUBLE_EQ(table.servers[3].load.value(), 0.5);
}

TEST(Targets, ALoadedServerKeepsATenth) {
  model::Cluster cluster = cluster_of(2, 1);
  cluster.servers[0].cpu = cluster.servers[0].memory = 1;
  const TargetTable table = targets_of(cluster, {.cpu_limit = 1, .memory_limit = 1});
  EXPECT_DOUBLE_EQ(table.servers[0].share, 0.1 / 1.1);
  EXPECT_EQ(table.targets[0].exclusion, Exclusion::none) << "at the limit is not above it";
}

TEST(Targets, BusyServersAreSecondChoice) {
  model::Cluster cluster = cluster_of(3, 1);
  cluster.servers[0].cpu = 0.96;
  cluster.servers[1].memory = 0.99;
  const TargetTable table = targets_of(cluster);
  EXPECT_THAT(usable(table, kAnyPool).sound, ElementsAre(2));
  EXPECT_THAT(usable(table, kAnyPool).second, ElementsAre(0, 1));
  EXPECT_EQ(table.targets[0].exclusion, Exclusion::none);
}

TEST(Targets, AbsurdBandwidthsStayShares) {
  model::Cluster cluster = cluster_of(3, 1);
  cluster.servers[0].bandwidth = cluster.servers[1].bandwidth = BytesPerSecond{1e308};
  cluster.servers[2].bandwidth = BytesPerSecond{1e-308};
  const TargetTable table = targets_of(cluster);
  EXPECT_NEAR(table.servers[0].share, 0.5, 1e-5);
  EXPECT_GT(table.servers[2].share, 0);
}

TEST(Targets, WhatMakesNoSenseIsNamed) {
  model::Cluster twice = cluster_of(1, 2);
  twice.osts[1].index = twice.osts[0].index;
  EXPECT_EQ(complaint(twice), "OST 0 occurs twice in the cluster");
  model::Cluster nowhere = cluster_of(1, 2);
  nowhere.osts[1].oss = 7;
  EXPECT_EQ(complaint(nowhere), "OST 1 is on server 7, but there are 1 servers");
  model::Cluster pools = cluster_of(1, 2);
  pools.pools = {{.name = "flash", .osts = {{9}}}};
  EXPECT_EQ(complaint(pools), "pool 'flash' names OST 9, which the cluster does not have");
  pools.pools = {{.name = "flash", .osts = {{0}}}, {.name = "flash", .osts = {{1}}}};
  EXPECT_EQ(complaint(pools), "pool 'flash' occurs twice");
  pools.pools = {{.name = "", .osts = {{0}}}};
  EXPECT_EQ(complaint(pools), "a pool has no name");
  const model::Cluster sound = cluster_of(1, 2);
  EXPECT_EQ(complaint(sound, {.excluded = {{5}}}), "the list of excluded OSTs names OST 5, which the cluster does not have");
  EXPECT_EQ(complaint(sound, {.reservations = {{{6}, Bytes::mib(1)}}}),
            "a reservation names OST 6, which the cluster does not have");
  EXPECT_THAT(complaint(sound, {.cpu_limit = 1.5}), HasSubstr("the CPU limit is 1.5: expected a share from 0 to 1"));
  EXPECT_THAT(complaint(sound, {.memory_limit = -0.1}), HasSubstr("the memory limit is -0.1"));
  EXPECT_THAT(complaint(sound, {.cpu_weight = std::numeric_limits<double>::quiet_NaN()}), HasSubstr("the CPU weight is nan"));
  EXPECT_THAT(complaint(sound, {.memory_weight = 2}), HasSubstr("the memory weight is 2"));
}

TEST(Targets, NoTargetsAtAll) {
  const TargetTable table = targets_of({});
  EXPECT_TRUE(table.targets.empty());
  EXPECT_TRUE(usable(table, kAnyPool).sound.empty());
  EXPECT_EQ(balance(table, {}).ost_cost, 1);
}

TEST(Balance, ByHand) {
  TargetTable table = table_on({0, 0, 1}, Bytes::gib(10));
  table.targets[2].capacity = Bytes::gib(20);
  fill(table.targets[0], Bytes::gib(5));
  EXPECT_DOUBLE_EQ(balance(table, {}).max_utilisation, 0.5);
  EXPECT_DOUBLE_EQ(balance(table, {}).mean_utilisation, 5.0 / 40);
  EXPECT_DOUBLE_EQ(balance(table, {}).ost_cost, 4);
  EXPECT_DOUBLE_EQ(balance(table, {}).oss_cost, 2) << "5 of 20 on server 0, 5 of 40 in all";
  const std::vector<Bytes> added{{}, Bytes::gib(5), Bytes::gib(10)};
  const Balance after = balance(table, added);
  EXPECT_DOUBLE_EQ(after.max_utilisation, 0.5);
  EXPECT_DOUBLE_EQ(after.ost_cost, 1);
  EXPECT_DOUBLE_EQ(after.oss_cost, 1);
}

TEST(Balance, TargetsOfNoSizeDoNotCount) {
  TargetTable table = table_on({0, 1}, Bytes::gib(10));
  table.targets[1].capacity = table.targets[1].available = {};
  table.targets[1].used = Bytes::gib(1);
  EXPECT_EQ(balance(table, {}).max_utilisation, 0);
  EXPECT_EQ(balance(table, {}).oss_cost, 1);
}

}  // namespace
}  // namespace iez::placement
