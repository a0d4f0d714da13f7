#include "placement/deal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "placement/balanced.hpp"
#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

using testing::ElementsAre;

struct Hand {
  DemandClass group;
  std::vector<TargetCount> counts;
  Assignment dealt;
};

Hand hand_of(std::uint32_t files, const Demand& demand, std::vector<TargetCount> counts) {
  Hand hand{.group = {.demand = demand, .members = {}}, .counts = std::move(counts), .dealt = {}};
  hand.dealt.offsets.push_back(0);
  for (std::uint32_t i = 0; i < files; ++i) {
    hand.group.members.push_back(i);
    hand.dealt.offsets.push_back(hand.dealt.offsets.back() + demand.count);
  }
  hand.dealt.targets.assign(hand.dealt.offsets.back(), 999);
  deal(hand.group, hand.counts, hand.dealt);
  return hand;
}

// Counts that a class may have: up to most_per_target() on each of some targets.
std::vector<TargetCount> random_counts(Rng& rng, std::uint32_t files, const Demand& demand, std::uint32_t targets) {
  std::vector<TargetCount> counts(targets);
  for (std::uint32_t j = 0; j < targets; ++j) counts[j].target = j;
  for (std::uint64_t left = std::uint64_t{files} * demand.count; left > 0;) {
    TargetCount& entry = counts[rng.below(targets)];
    if (entry.objects == files * demand.per_target) continue;
    ++entry.objects;
    --left;
  }
  return counts;
}

TEST(Deal, OneFile) {
  const Hand hand = hand_of(1, {Bytes::mib(1), 3}, {{4, 1}, {5, 1}, {9, 1}});
  std::vector<std::uint32_t> targets = targets_of(hand.dealt, 0);
  std::ranges::sort(targets);
  EXPECT_THAT(targets, ElementsAre(4, 5, 9));
}

TEST(Deal, OneStripeEach) {
  const Hand hand = hand_of(3, {Bytes::mib(1), 1}, {{4, 2}, {7, 1}});
  EXPECT_THAT(hand.dealt.targets, ElementsAre(4, 4, 7));
}

// What a program writes at the same time is to lie on other targets.
TEST(Deal, NeighboursShareFewTargets) {
  std::vector<TargetCount> counts;
  counts.reserve(16);
  for (std::uint32_t j = 0; j < 16; ++j) counts.push_back({j, 16});
  const Hand hand = hand_of(64, {Bytes::mib(1), 4}, counts);
  std::size_t shared = 0;
  for (std::size_t file = 1; file < 64; ++file) {
    const auto before = targets_of(hand.dealt, file - 1);
    for (const std::uint32_t target : targets_of(hand.dealt, file)) shared += std::ranges::count(before, target) > 0 ? 1U : 0U;
  }
  EXPECT_LE(shared, 63U) << "one of four would be shared by chance";
}

TEST(Deal, WritesOnlyItsOwnFiles) {
  DemandClass group{.demand = {Bytes::mib(1), 2}, .members = {1}};
  Assignment assignment{.offsets = {0, 1, 3, 4}, .targets = {77, 77, 77, 77}};
  const std::vector<TargetCount> counts{{0, 1}, {1, 1}};
  deal(group, counts, assignment);
  EXPECT_EQ(assignment.targets[0], 77U);
  EXPECT_EQ(assignment.targets[1] + assignment.targets[2], 1U);
  EXPECT_EQ(assignment.targets[3], 77U);
}

TEST(Deal, EveryFileItsCountOnDistinctTargets) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto targets = static_cast<std::uint32_t>(rng.between(1, 30));
    const auto files = static_cast<std::uint32_t>(rng.between(1, 40));
    Demand demand{.object_bytes = Bytes::mib(1)};
    demand.per_target = static_cast<std::uint32_t>(rng.between(1, 3));
    demand.count = static_cast<std::uint32_t>(rng.between(1, std::uint64_t{targets} * demand.per_target));
    const Hand hand = hand_of(files, demand, random_counts(rng, files, demand, targets));
    std::vector<std::uint32_t> found(targets);
    for (std::uint32_t i = 0; i < files; ++i) {
      const auto own = hand.dealt.of(i);
      for (const std::uint32_t target : own) {
        ASSERT_LT(target, targets) << "a stripe was left out";
        ++found[target];
        EXPECT_LE(std::ranges::count(own, target), demand.per_target);
      }
    }
    for (const TargetCount& entry : hand.counts) EXPECT_EQ(found[entry.target], entry.objects);
    if (HasFailure()) return;
  }
}

TEST(Deal, FirstStripesAreSpread) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto targets = static_cast<std::uint32_t>(rng.between(4, 40));
    const Demand demand{Bytes::mib(1), static_cast<std::uint32_t>(rng.between(2, targets))};
    const auto files = static_cast<std::uint32_t>(rng.between(demand.count, 400));
    // Even, as on an empty machine.
    std::vector<TargetCount> counts(targets);
    const std::uint64_t objects = std::uint64_t{files} * demand.count;
    for (std::uint32_t j = 0; j < targets; ++j) {
      counts[j] = {j, static_cast<std::uint32_t>(objects / targets + (j < objects % targets ? 1 : 0))};
    }
    const Hand hand = hand_of(files, demand, counts);
    std::vector<std::uint32_t> first(targets);
    for (std::uint32_t i = 0; i < files; ++i) ++first[hand.dealt.of(i).front()];
    const double fair = static_cast<double>(files) / targets;
    EXPECT_LE(*std::ranges::max_element(first), 2 * fair + 2) << files << " files of " << demand.count << " on " << targets;
  }
}

TEST(Deal, NeighboursAreMostlyOnOtherServers) {
  BalancedPolicy policy;
  for (const std::uint32_t count : {3U, 4U, 8U, 15U}) {
    SCOPED_TRACE("count " + std::to_string(count));
    const TargetTable table = paper_table();
    const std::vector<Demand> demands(64, {Bytes::mib(8), count});
    const auto answer = policy.assign(table, demands);
    ASSERT_TRUE(answer);
    std::size_t pairs = 0;
    std::size_t apart = 0;
    std::vector<std::uint32_t> first(table.targets.size());
    for (std::size_t i = 0; i < demands.size(); ++i) {
      const auto own = answer->of(i);
      ++first[own.front()];
      for (std::size_t k = 1; k < own.size(); ++k, ++pairs) {
        if (table.targets[own[k - 1]].server != table.targets[own[k]].server) ++apart;
      }
    }
    EXPECT_GT(static_cast<double>(apart), 0.7 * static_cast<double>(pairs));
    EXPECT_LE(*std::ranges::max_element(first), 2 * (64 / 15) + 2);
  }
}

}  // namespace
}  // namespace iez::placement
