#include "planning/placing_price.hpp"

#include <gtest/gtest.h>

#include "planning/planner.hpp"
#include "planning/planning_test_support.hpp"

namespace iez::planning {
namespace {

// Files of one size on targets of which some are fuller: as fast as by default, and more even.
struct Uneven {
  explicit Uneven(std::vector<double> seconds) {
    for (std::uint32_t j = 0; j < 3; ++j) fill(table, j, Bytes::mib(256));
    for (std::uint32_t p = 0; p < seconds.size(); ++p) {
      files.push_back(file(64, p));
      files.push_back(file(64, p));
      phases.push_back({.seconds = seconds[p]});
    }
  }
  Problem problem() const { return {.table = table, .files = files, .phases = phases, .speed = {}, .load = {}}; }

  placement::TargetTable table = machine(1, 6);
  std::vector<File> files;
  std::vector<Phase> phases;
};

Placement with_stripes(std::size_t files) {
  Placement placement;
  for (std::uint32_t i = 0; i < files; ++i) {
    placement.files.push_back({.stripes = 1, .stripe_size = Bytes::mib(1), .object_bytes = Bytes::mib(64), .first = i});
    placement.targets.push_back(i % 6);
  }
  return placement;
}

TEST(PlacingPrice, IsATripOfEachPhaseAndSomethingForEachFile) {
  const Uneven uneven({1, 3});
  EXPECT_DOUBLE_EQ(placing_price(uneven.problem(), with_stripes(4)), (2 * kTrip + 4 * kEach) / 4);
}

TEST(PlacingPrice, PhasesThatNobodyTimedAndFilesThatAreLeftToLustreCostNothing) {
  EXPECT_DOUBLE_EQ(placing_price(Uneven({0, 0}).problem(), with_stripes(4)), 0);
  const Uneven uneven({1, 3});
  Placement left = with_stripes(4);
  left.files[2].stripes = left.files[3].stripes = 0;
  EXPECT_DOUBLE_EQ(placing_price(uneven.problem(), left), (kTrip + 2 * kEach) / 1);
}

TEST(PlacingPrice, WhatIsOnlyMoreEvenIsNotPlacedInShortRuns) {
  const auto verdict_of = [](double seconds) { return make_plan(Uneven({seconds}).problem())->verdict; };
  EXPECT_EQ(verdict_of(0), Verdict::more_even);  // nobody knows
  EXPECT_EQ(verdict_of(1), Verdict::as_good);
  EXPECT_EQ(verdict_of(60), Verdict::more_even);
}

TEST(PlacingPrice, AGainHasToBeWorthIt) {
  // Sizes that differ by up to a third: a plan saves some tenths of the time, but not of a tenth of a second.
  const auto table = machine(3, 5);
  std::vector<File> files;
  for (std::uint32_t i = 0; i < 45; ++i) files.push_back(file(30 + (i * 7 % 11), 0));
  const auto verdict_of = [&](double seconds) {
    return make_plan({.table = table, .files = files, .phases = {{.seconds = seconds}}, .speed = {}, .load = {}})->verdict;
  };
  EXPECT_EQ(verdict_of(60), Verdict::faster);
  EXPECT_EQ(verdict_of(0.1), Verdict::as_good);
}

}  // namespace
}  // namespace iez::planning
