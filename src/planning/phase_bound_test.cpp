#include "planning/phase_bound.hpp"

#include <gtest/gtest.h>

#include "planning/phase_solver.hpp"
#include "planning/planning_test_support.hpp"

namespace iez::planning {
namespace {

class PhaseBoundTest : public testing::Test {
 protected:
  double bound(const std::vector<Item>& items, double most = 1e6) {
    const Problem problem{.table = table_, .files = {}, .phases = {{.seconds = 1}}, .speed = speed_, .load = load_};
    PhaseLoad load(problem);
    load.begin(problem.phases[0]);
    std::vector<std::uint32_t> targets;
    std::vector<std::uint64_t> room;
    for (std::uint32_t j = 0; j < table_.targets.size(); ++j) {
      targets.push_back(j);
      room.push_back(table_.targets[j].available.count);
    }
    return PhaseBound(load, items, targets, room).value(most);
  }

  placement::TargetTable table_ = machine(1, 3);
  std::vector<double> speed_;
  std::vector<double> load_;
};

TEST_F(PhaseBoundTest, BytesAreSpreadAtBest) { EXPECT_NEAR(bound(std::vector<Item>(300, {.bytes = 2})), 200, 1e-2); }

TEST_F(PhaseBoundTest, EqualObjectsAreCounted) {
  EXPECT_NEAR(bound({{.bytes = 10}, {.bytes = 10}, {.bytes = 10}, {.bytes = 10}}), 20, 1e-3);
  load_ = {0, 15, 0};
  EXPECT_NEAR(bound({{.bytes = 10}, {.bytes = 10}, {.bytes = 10}}), 20, 1e-3);
  load_ = {0, 0, 0};
  speed_ = {1, 1, 2};
  EXPECT_NEAR(bound({{.bytes = 10}, {.bytes = 10}, {.bytes = 10}, {.bytes = 10}}), 10, 1e-3);
}

TEST_F(PhaseBoundTest, ALargeObjectLeavesNoRoomForAnother) {
  // Two of 100 take a target each; of three of 60 two share the last one.
  EXPECT_NEAR(bound({{.bytes = 100}, {.bytes = 100}, {.bytes = 60}, {.bytes = 60}, {.bytes = 60}}), 160, 1e-3);
  // The mean is 107, but the three of 40 would fit beside nothing else than each other.
  EXPECT_NEAR(bound({{.bytes = 100}, {.bytes = 100}, {.bytes = 40}, {.bytes = 40}, {.bytes = 40}}), 120, 1e-3);
}

TEST_F(PhaseBoundTest, PairsMeet) {
  EXPECT_NEAR(bound({{.bytes = 60}, {.bytes = 55}, {.bytes = 50}, {.bytes = 45}, {.bytes = 41}}), 96, 1e-3);
}

TEST_F(PhaseBoundTest, WhatRemainsBesideLargeObjectsIsCounted) {
  speed_ = {2, 1, 1};
  // Before 47, 64 takes the fast target alone; on the others three of 30 fit by bytes, not by number.
  EXPECT_NEAR(bound({{.bytes = 64}, {.bytes = 30}, {.bytes = 30}, {.bytes = 30}}), 47, 1e-3);
}

TEST_F(PhaseBoundTest, TwoSizesAreWeighed) {
  // Before 15.5 a target holds two of 6, or one and two of 3.5, or four of 3.5: if 6 counts twice, 4 at most, and all three 12
  // of 13.
  EXPECT_NEAR(bound({{.bytes = 6},
                     {.bytes = 6},
                     {.bytes = 6},
                     {.bytes = 6},
                     {.bytes = 3.5},
                     {.bytes = 3.5},
                     {.bytes = 3.5},
                     {.bytes = 3.5},
                     {.bytes = 3.5}}),
              15.5, 1e-3);
}

TEST_F(PhaseBoundTest, ObjectsOfAFileAreApart) {
  load_ = {0, 10, 500};
  EXPECT_NEAR(bound({{.bytes = 10, .count = 3}}), 510, 1e-2);
  EXPECT_NEAR(bound({{.bytes = 10, .count = 2}}), 20, 1e-3);
}

TEST_F(PhaseBoundTest, FullTargetsDoNotCount) {
  fill(table_, 0, Bytes::gib(10) - Bytes{5});
  EXPECT_NEAR(bound({{.bytes = 10}, {.bytes = 10}, {.bytes = 10}}), 20, 1e-3);
}

TEST_F(PhaseBoundTest, SlowServersCount) {
  model::Cluster cluster{.name = "test"};
  cluster.servers = {{.name = "a", .bandwidth = BytesPerSecond{1e9}}, {.name = "b", .bandwidth = BytesPerSecond{3e9}}};
  for (std::uint32_t j = 0; j < 4; ++j) {
    cluster.osts.push_back(
        {.index = {j}, .oss = j / 2, .total = Bytes::gib(10), .free = Bytes::gib(10), .available = Bytes::gib(10)});
  }
  table_ = *placement::make_targets(cluster, {});
  // The first server has a quarter of the bandwidth, one target's worth.
  EXPECT_NEAR(bound(std::vector<Item>(6, {.bytes = 10})), 20, 1e-3);
  EXPECT_NEAR(bound(std::vector<Item>(7, {.bytes = 10})), 30, 1e-3);
}

TEST_F(PhaseBoundTest, ObjectsOfAFileMeetWhatOthersMoveOnTheServer) {
  model::Cluster cluster{.name = "test"};
  cluster.servers = {{.name = "a", .bandwidth = BytesPerSecond{1e9}}, {.name = "b", .bandwidth = BytesPerSecond{3e9}}};
  for (std::uint32_t j = 0; j < 4; ++j) {
    cluster.osts.push_back(
        {.index = {j}, .oss = j / 2, .total = Bytes::gib(10), .free = Bytes::gib(10), .available = Bytes::gib(10)});
  }
  table_ = *placement::make_targets(cluster, {});
  // Of three objects one is on the first server, which does one target's worth and is busy until 50, though not on both of its
  // targets. That takes until 60; half an object on each of them, as far as the bound knows, until 55.
  load_ = {50, 0, 0, 0};
  EXPECT_NEAR(bound({{.bytes = 10, .count = 3}}), 55, 1e-3);
}

// Never above what trying all placements gives.
TEST_F(PhaseBoundTest, HoldsAgainstAllPlacements) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    table_ = machine(1 + static_cast<std::uint32_t>(rng.below(2)), 2);
    load_.clear();
    speed_.clear();
    for (std::size_t j = 0; j < table_.targets.size(); ++j) {
      load_.push_back(rng.chance(0.3) ? static_cast<double>(rng.below(80)) : 0);
      speed_.push_back(rng.chance(0.3) ? 2 : 1);
    }
    std::vector<File> files;
    std::vector<Item> items;
    for (std::uint64_t i = 0; i < 1 + rng.below(7); ++i) {
      files.push_back({.bytes = {1 + rng.below(100)}, .phase = 0, .stripes = 1});
      if (i > 0 && seed % 2 == 0) files.back().bytes = files[rng.below(i)].bytes;
      items.push_back({.bytes = static_cast<double>(files.back().bytes.count)});
    }
    const Problem problem{.table = table_, .files = files, .phases = {{.seconds = 1}}, .speed = speed_, .load = load_};
    const double best = BruteForce(problem).best();
    EXPECT_LE(bound(items, best), best * (1 + 1e-9));
    EXPECT_GE(bound(items, best), 0.7 * best);
  }
}

}  // namespace
}  // namespace iez::planning
