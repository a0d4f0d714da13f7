#include "placement/balanced.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "placement/bounds.hpp"
#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

Assignment assigned(const Instance& instance, const BalancedOptions& options = {}) {
  auto answer = BalancedPolicy(options).assign(instance.table, instance.demands);
  EXPECT_TRUE(answer);
  return answer ? *std::move(answer) : Assignment{};
}

double reached(const Instance& instance) { return highest_after(instance.table, instance.demands, assigned(instance)); }

std::vector<std::uint64_t> objects_per_server(const Instance& instance, const Assignment& answer) {
  std::vector<std::uint64_t> objects(instance.table.servers.size());
  for (const std::uint32_t target : answer.targets) ++objects[instance.table.targets[target].server];
  return objects;
}

class GoldenPlacement : public testing::TestWithParam<std::size_t> {};

TEST_P(GoldenPlacement, ReachesTheProvenOptimum) {
  const std::string path = IEZ_TEST_DATA "/../golden/placement/alloc_cases.json";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const auto cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 13U) << "name the new cases in INSTANTIATE_TEST_SUITE_P";
  const auto& golden = cases.at(GetParam());
  SCOPED_TRACE(golden.at("name").get<std::string>());
  const auto capacities = golden.at("cap").get<std::vector<std::uint64_t>>();
  const auto used = golden.at("used").get<std::vector<std::uint64_t>>();
  Instance instance{.table = grid(1, static_cast<std::uint32_t>(capacities.size())), .demands = {}};
  for (std::size_t j = 0; j < capacities.size(); ++j) {
    instance.table.targets[j].capacity = {capacities[j]};
    fill(instance.table.targets[j], {used[j]});
  }
  for (const auto& wanted : golden.at("files")) {
    instance.demands.push_back({{wanted.at("obj_bytes").get<std::uint64_t>()}, wanted.at("stripe_count").get<std::uint32_t>()});
  }
  const auto optimum = golden.at("opt_max_util").get<double>();
  const auto linear = golden.at("lb_lp_max_util").get<double>();
  const auto integral = golden.at("lb_int_max_util").get<double>();
  const bool proven = golden.at("opt_proven").get<bool>();

  const LowerBound bound = lower_bound(instance.table, make_classes(instance.demands), 256);
  EXPECT_GE(bound.linear, linear * (1 - 1e-6));
  EXPECT_GE(bound.value(), integral * (1 - 1e-6));
  EXPECT_LE(bound.value(), optimum * (1 + 1e-9));

  const Assignment answer = assigned(instance);
  expect_placed(instance.table, instance.demands, answer);
  const Balance after = balance(instance.table, added_by(instance.table, instance.demands, answer));
  if (proven) {
    EXPECT_NEAR(after.max_utilisation, optimum, 1e-9 * optimum);
    EXPECT_NEAR(after.ost_cost, golden.at("opt_OSTCost").get<double>(), 1e-8);
  } else {
    EXPECT_LE(after.max_utilisation, 1.016 * std::max(linear, integral));
    EXPECT_GE(after.max_utilisation, golden.at("opt_dual_bound").get<double>() * (1 - 1e-9));
  }
}

INSTANTIATE_TEST_SUITE_P(Balanced, GoldenPlacement, testing::Range<std::size_t>(0, 13));

TEST(Balanced, NothingToPlace) {
  const Assignment answer = assigned({.table = paper_table(), .demands = {}});
  EXPECT_EQ(answer.offsets.size(), 1U);
  EXPECT_TRUE(answer.targets.empty());
}

TEST(Balanced, KeepsItsPromises) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = large_instance(rng);
    const Assignment answer = assigned(instance, {.search_effort = 20'000});
    if (answer.shortage) {
      EXPECT_LT(answer.shortage->demand, instance.demands.size());
      continue;
    }
    ++placed;
    expect_placed(instance.table, instance.demands, answer);
    expect_degraded_last(instance.table, instance.demands, answer);
    const double bound = lower_bound(instance.table, make_classes(instance.demands), kBoundSizes).value();
    EXPECT_LE(bound, highest_after(instance.table, instance.demands, answer) * (1 + 1e-9));
    if (HasFailure()) return;
  }
  EXPECT_GT(placed, 250);
}

// As good as the best of all placements, and refused only where there is none.
void expect_exact(const Variety& variety) {
  int feasible = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = small_instance(rng, variety);
    const double best = BruteForce(instance).best();
    const Assignment answer = assigned(instance);
    ASSERT_EQ(answer.shortage.has_value(), std::isinf(best));
    if (answer.shortage) continue;
    ++feasible;
    EXPECT_NEAR(highest_after(instance.table, instance.demands, answer), best, 1e-9 * best);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(feasible, 300);
}

TEST(Balanced, ExactForOneClass) { expect_exact({.sizes = false, .counts = false}); }

TEST(Balanced, OneObjectGoesWhereTheLargestUtilisationStaysLow) {
  // The emptier target is behind the slower server; traffic comes second.
  Instance instance{.table = grid(2, 1), .demands = {{Bytes::gib(1), 1}}};
  fill(instance.table.targets[0], Bytes::gib(2));
  fill(instance.table.targets[1], Bytes::mib(2300));
  instance.table.servers[0].share = 0.2;
  instance.table.servers[1].share = 0.8;
  EXPECT_DOUBLE_EQ(reached(instance), 0.3);
}

TEST(Balanced, ExactForEqualSizesAndCapacities) { expect_exact({.capacities = false, .sizes = false}); }

TEST(Balanced, NearTheOptimumOfMixedInstances) {
  int feasible = 0;
  int optimal = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = small_instance(rng, {.overstripe = rng.chance(0.2)});
    const double best = BruteForce(instance).best();
    const Assignment answer = assigned(instance, {.search_effort = 50'000});
    if (std::isinf(best)) {
      EXPECT_TRUE(answer.shortage);
      continue;
    }
    if (answer.shortage) continue;
    expect_placed(instance.table, instance.demands, answer);
    ++feasible;
    const double factor = highest_after(instance.table, instance.demands, answer) / best;
    worst = std::max(worst, factor);
    optimal += factor < 1 + 1e-9 ? 1 : 0;
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_GT(feasible, 300);
  EXPECT_LE(worst, 1.05);
  EXPECT_GE(optimal, feasible * 97 / 100);
}

TEST(Balanced, PermutationsDoNotMatter) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Instance instance{.table = grid(4, 5), .demands = {}};
    for (Server& server : instance.table.servers) server.share = 0.2 + rng.unit();
    for (Target& target : instance.table.targets) {
      target.capacity = Bytes::gib(rng.between(10, 12));
      fill(target, Bytes::mib(rng.below(2000)));
    }
    for (int i = 0; i < 25; ++i) {
      instance.demands.push_back({Bytes::mib(rng.between(1, 500)), static_cast<std::uint32_t>(rng.between(1, 20))});
    }
    Instance permuted = instance;
    auto& targets = permuted.table.targets;
    for (std::size_t j = targets.size(); j > 1; --j) std::swap(targets[j - 1], targets[rng.below(j)]);
    for (std::uint32_t j = 0; j < targets.size(); ++j) targets[j].ost = {j};
    for (std::size_t i = permuted.demands.size(); i > 1; --i) std::swap(permuted.demands[i - 1], permuted.demands[rng.below(i)]);
    const BalancedOptions options{.search_effort = 100'000};
    const double one = highest_after(instance.table, instance.demands, assigned(instance, options));
    const double two = highest_after(permuted.table, permuted.demands, assigned(permuted, options));
    EXPECT_DOUBLE_EQ(one, two);
  }
}

TEST(Balanced, WhatIsNearEnoughIsNotTriedAgain) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = large_instance(rng);
    const auto highest = [&](double near) {
      const Assignment answer = assigned(instance, {.search_effort = 4'000, .bound_sizes = 0, .near = near});
      return answer.shortage ? 0 : highest_after(instance.table, instance.demands, answer);
    };
    const double bound = lower_bound(instance.table, make_classes(instance.demands), 0).value();
    const double twice = highest(0);
    EXPECT_LE(twice, highest(1e9) * (1 + 1e-12));
    EXPECT_LE(highest(0.01), std::max(1.01 * bound, twice) * (1 + 1e-9));
    better += twice < highest(1e9) * (1 - 1e-9) ? 1 : 0;
  }
  EXPECT_GT(better, 0) << "a second attempt that never helps would pass, too";
}

TEST(Balanced, SameAnswerEveryTime) {
  Rng rng(7);
  const Instance instance = large_instance(rng);
  const Assignment one = assigned(instance);
  EXPECT_EQ(one.targets, assigned(instance).targets);
  EXPECT_EQ(one.offsets, assigned(instance).offsets);
}

TEST(Balanced, ServersOfAnEmptyMachineEndEven) {
  for (const std::uint32_t count : {1U, 4U, 8U, 15U}) {
    for (const std::size_t files : {16U, 64U, 100U}) {
      SCOPED_TRACE(std::to_string(files) + " files of " + std::to_string(count));
      const Instance instance{.table = paper_table(), .demands = std::vector<Demand>(files, {Bytes::mib(16), count})};
      const auto objects = objects_per_server(instance, assigned(instance));
      EXPECT_LE(*std::ranges::max_element(objects) - *std::ranges::min_element(objects), 1U);
    }
  }
}

TEST(Balanced, OneStripeForEachServer) {
  for (const std::uint32_t servers : {2U, 3U, 8U}) {
    const Instance instance{.table = grid(servers, 5), .demands = {{Bytes::gib(1), servers}}};
    for (const std::uint64_t objects : objects_per_server(instance, assigned(instance))) EXPECT_EQ(objects, 1U) << servers;
  }
}

// Two servers of empty targets, and a third whose use leaves them room to differ.
Instance with_room_to_choose(double first_share, double second_share) {
  Instance instance{.table = grid(3, 4), .demands = std::vector<Demand>(60, {Bytes::mib(100), 4})};
  for (std::uint32_t j = 8; j < 12; ++j) fill(instance.table.targets[j], Bytes::gib(7));
  instance.table.servers[0].share = first_share;
  instance.table.servers[1].share = second_share;
  instance.table.servers[2].share = 1 - first_share - second_share;
  return instance;
}

TEST(Balanced, AServerOfLessBandwidthGetsLessTraffic) {
  auto instance = with_room_to_choose(1.0 / 3, 1.0 / 3);
  auto objects = objects_per_server(instance, assigned(instance));
  EXPECT_EQ(objects[0], objects[1]);
  instance = with_room_to_choose(0.4, 0.2);
  objects = objects_per_server(instance, assigned(instance));
  EXPECT_GT(objects[0], objects[1] + 10);
  EXPECT_DOUBLE_EQ(reached(instance), 0.7) << "and nobody pays for it in space";
}

TEST(Balanced, ABusyServerGetsLessTraffic) {
  model::Cluster cluster = cluster_of(3, 4);
  for (std::size_t j = 8; j < 12; ++j) cluster.osts[j].free = cluster.osts[j].available = Bytes::gib(3);
  cluster.servers[1].cpu = 0.9;
  cluster.servers[1].memory = 0.7;
  const auto table = make_targets(cluster, {});
  ASSERT_TRUE(table);
  const Instance instance{.table = *table, .demands = std::vector<Demand>(60, {Bytes::mib(100), 4})};
  const auto objects = objects_per_server(instance, assigned(instance));
  EXPECT_GT(objects[0], objects[1] + 10);
}

TEST(Balanced, SpaceComesBeforeTraffic) {
  // Empty but for this batch: 512 objects on 15 targets can be 34 and 35, and 35 is not passed for the sake of a slow server.
  Instance instance{.table = paper_table(), .demands = std::vector<Demand>(64, {Bytes::mib(128), 8})};
  instance.table.servers[2].share = 0.01;
  EXPECT_DOUBLE_EQ(reached(instance), 0.4375);
  const auto objects = objects_per_server(instance, assigned(instance));
  EXPECT_EQ(objects[2], 512U - 2 * 5 * 35) << "but the slow server has what is left";
}

TEST(Balanced, ReservationsOfOthersCountAsTraffic) {
  // Equally full, but what target 0 has is still to be written.
  Instance instance{.table = grid(2, 1), .demands = {{Bytes::gib(1), 1}}};
  fill(instance.table.targets[0], Bytes::gib(2));
  fill(instance.table.targets[1], Bytes::gib(2));
  instance.table.targets[0].reserved = Bytes::gib(2);
  EXPECT_EQ(assigned(instance).targets.front(), 1U);
}

TEST(Balanced, PlacesEmptyObjectsToo) {
  const Instance instance{.table = paper_table(), .demands = {{Bytes{}, 4}, {Bytes::mib(1), 15}, {Bytes{}, 15}}};
  expect_placed(instance.table, instance.demands, assigned(instance));
}

TEST(Balanced, UsesTheLastByte) {
  // Every target takes two objects exactly.
  Instance instance{.table = grid(1, 4, Bytes::mib(64)), .demands = std::vector<Demand>(4, {Bytes::mib(32), 2})};
  expect_placed(instance.table, instance.demands, assigned(instance));
  instance.demands.push_back({Bytes{1}, 1});
  EXPECT_TRUE(assigned(instance).shortage);
}

// Levelling alone would leave no room for the last file.
TEST(Balanced, FindsRoomWhereItIsScarce) {
  TargetTable table = grid(1, 2);
  std::vector<Demand> demands;
  for (const std::uint64_t gib : {6U, 4U, 4U, 3U, 3U}) demands.push_back({Bytes::gib(gib)});
  BalancedPolicy policy;
  auto answer = policy.assign(table, demands);
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->shortage);
  expect_placed(table, demands, *answer);

  // Only the first target is in the small pool, and the file that may go anywhere must leave it.
  table.pools.push_back({"small", {0}});
  demands = {{Bytes::gib(8)}, {.object_bytes = Bytes::gib(5), .pool = 1}};
  answer = policy.assign(table, demands);
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->shortage);
  EXPECT_EQ(answer->targets, (std::vector<std::uint32_t>{1, 0}));
}

TEST(Balanced, RefusesHardlyAnythingThatFits) {
  int feasible = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Instance instance = small_instance(rng, {});
    for (Target& target : instance.table.targets) target.available.count /= 4;
    const double best = BruteForce(instance).best();
    if (!std::isfinite(best)) continue;
    ++feasible;
    BalancedPolicy policy;
    const auto answer = policy.assign(instance.table, instance.demands);
    ASSERT_TRUE(answer);
    if (answer->shortage) ++refused;
  }
  EXPECT_GT(feasible, 200);
  // Whether all fit is a packing problem: a few are refused, or get fewer stripes, although they would.
  EXPECT_LE(refused * 100, 3 * feasible) << refused << " of " << feasible;
}

TEST(Balanced, SecondChoiceOnlyForWhatTheSoundTargetsCannotHold) {
  TargetTable table = grid(3, 5);
  for (std::uint32_t at = 0; at < 7; ++at) fill(table.targets[at], Bytes::gib(5));
  for (std::uint32_t at = 7; at < 15; ++at) table.targets[at].degraded = true;
  const std::vector<Demand> demands{{.object_bytes = Bytes::gib(1), .count = 8}};
  BalancedPolicy policy;
  const auto answer = policy.assign(table, demands);
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::ranges::count_if(answer->targets, [](std::uint32_t at) { return at >= 7; }), 1);
}

}  // namespace
}  // namespace iez::placement
