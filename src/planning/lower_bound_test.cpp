#include "planning/lower_bound.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "planning/planner.hpp"
#include "planning/planning_test_support.hpp"

namespace iez::planning {
namespace {

constexpr double kMib = 1 << 20U;

double sum_of(const std::vector<double>& times) { return std::accumulate(times.begin(), times.end(), 0.0); }

Placement planned(const Problem& problem) { return make_plan(problem, {.compare = false})->placement; }

TEST(LowerBound, RoomForOnePhaseIsNotRoomForTwo) {
  auto table = machine(1, 2);
  fill(table, 1, Bytes::gib(10) - Bytes::mib(10));
  const std::vector<File> files{file(10, 0), file(10, 0), file(10, 1), file(10, 1)};
  const Problem problem{.table = table, .files = files, .phases = std::vector<Phase>(2), .speed = {}, .load = {}};
  const Placement placement = planned(problem);
  EXPECT_NEAR(sum_of(phase_bounds(problem, placement)), 20 * kMib, 0.001 * kMib);
  // One of the phases has both of its files on the first target.
  EXPECT_NEAR(lower_bound(problem, placement), 30 * kMib, 0.1 * kMib);
}

TEST(LowerBound, RoomThatAFileMayComeToNeedIsTaken) {
  auto table = machine(1, 2);
  fill(table, 1, Bytes::gib(10) - Bytes::mib(10));
  std::vector<File> files{file(10, 0), file(10, 0)};
  const Problem problem{.table = table, .files = files, .phases = std::vector<Phase>(1), .speed = {}, .load = {}};
  EXPECT_NEAR(lower_bound(problem, planned(problem)), 10 * kMib, 0.001 * kMib);
  for (File& one : files) one.room = Bytes::mib(11);
  EXPECT_NEAR(lower_bound(problem, planned(problem)), 20 * kMib, 0.001 * kMib);
}

// Others keep the second target busy for as long as either phase takes. So both files are on the first one, and reading them
// takes twice as long as it might; or one of the phases does.
TEST(LowerBound, WhatWritingPutsTogetherIsReadTogether) {
  const auto table = machine(1, 2);
  std::vector<File> files{file(20, 0), file(20, 1)};
  for (File& one : files) one.read_phase = 2;
  const Problem problem{.table = table, .files = files, .phases = {{1}, {1}, {0}}, .speed = {}, .load = {0, 20 * kMib}};
  const Placement placement = planned(problem);
  EXPECT_NEAR(sum_of(phase_bounds(problem, placement)), 60 * kMib, 0.001 * kMib);
  EXPECT_NEAR(lower_bound(problem, placement), 80 * kMib, 0.5 * kMib);
}

// Never above what trying all placements gives: scarce room that phases share, and files of several phases that are read
// together, with targets of other speeds and others that write meanwhile.
TEST(LowerBound, HoldsAgainstAllPlacements) {
  double ratios = 0;
  int problems = 0;
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    auto table = machine(1, 2 + static_cast<std::uint32_t>(rng.below(2)));
    const auto targets = static_cast<std::uint32_t>(table.targets.size());
    auto phases = static_cast<std::uint32_t>(1 + rng.below(3));
    std::vector<File> files;
    const std::uint64_t count = 3 + rng.below(5);
    for (std::uint64_t i = 0; i < count; ++i) {
      files.push_back(file(rng.chance(0.5) ? 30 : 1 + rng.below(60), static_cast<std::uint32_t>(rng.below(phases))));
      if (rng.chance(0.5)) files.back().room = Bytes{files.back().bytes.count + files.back().bytes.count / 10};
    }
    if (rng.chance(0.5)) {
      for (File& one : files) {
        if (rng.chance(0.8)) one.read_phase = phases;
      }
      ++phases;
    }
    for (std::uint32_t j = 1; j < targets; ++j) {
      if (rng.chance(0.5)) fill(table, j, Bytes::gib(10) - Bytes::mib(rng.below(120)));
    }
    std::vector<double> speed;
    std::vector<double> load;
    for (std::uint32_t j = 0; j < targets; ++j) {
      speed.push_back(rng.chance(0.3) ? 2 : 1);
      load.push_back(rng.chance(0.4) ? kMib * static_cast<double>(rng.below(60)) : 0);
    }
    if (rng.chance(0.5)) speed.clear();
    if (rng.chance(0.5)) load.clear();
    const Problem problem{
        .table = table, .files = files, .phases = std::vector<Phase>(phases, {1}), .speed = speed, .load = load};
    const auto plan = make_plan(problem, {.compare = false});
    ASSERT_TRUE(plan);
    if (plan->verdict == Verdict::no_room) continue;
    expect_sound(problem, plan->placement);
    const double best = BruteForce(problem).best();
    const double bound = lower_bound(problem, plan->placement);
    EXPECT_LE(bound, best * (1 + 1e-9));
    EXPECT_GE(plan->score.seconds, best * (1 - 1e-9));
    better += bound > sum_of(phase_bounds(problem, plan->placement)) * 1.001 ? 1 : 0;
    ratios += plan->score.seconds / best;
    ++problems;
  }
  EXPECT_GT(better, 50);  // else the bounds of several phases are not tested
  EXPECT_LT(ratios / problems, 1.02);
}

}  // namespace
}  // namespace iez::planning
