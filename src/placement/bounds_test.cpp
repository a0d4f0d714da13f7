#include "placement/bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

LowerBound bound_of(const TargetTable& table, std::vector<Demand> demands, std::size_t sizes = 64) {
  return lower_bound(table, make_classes(demands), sizes);
}

TEST(LowerBound, NothingToPlace) {
  TargetTable table = grid(1, 3);
  fill(table.targets[1], Bytes::gib(4));
  EXPECT_DOUBLE_EQ(bound_of(table, {}).value(), 0.4);
  EXPECT_EQ(bound_of({}, {}).value(), 0);
}

TEST(LowerBound, TheFullestCountsEvenIfItTakesNothing) {
  TargetTable table = grid(1, 3);
  fill(table.targets[1], Bytes::gib(9));
  table.targets[1].exclusion = Exclusion::read_only;
  EXPECT_DOUBLE_EQ(bound_of(table, {{Bytes::gib(1), 1}}).value(), 0.9);
}

TEST(LowerBound, LinearIsTheMeanOfAnEvenMachine) {
  const LowerBound bound = bound_of(paper_table(), std::vector<Demand>(64, {Bytes::mib(128), 8}));
  EXPECT_NEAR(bound.linear, 64.0 / 150, 1e-8);
  EXPECT_NEAR(bound.integral, 0.4375, 1e-8) << "512 objects on 15 targets: one has 35";
}

TEST(LowerBound, WithoutSizesLinearOnly) {
  const LowerBound bound = bound_of(paper_table(), std::vector<Demand>(64, {Bytes::mib(128), 8}), 0);
  EXPECT_NEAR(bound.value(), 64.0 / 150, 1e-8);
}

TEST(LowerBound, AFileOnAllTargetsMeetsTheFullest) {
  TargetTable table = grid(1, 4);
  fill(table.targets[2], Bytes::gib(5));
  EXPECT_NEAR(bound_of(table, {{Bytes::gib(1), 4}}).value(), 0.6, 1e-8);
  EXPECT_NEAR(bound_of(table, {{Bytes::gib(1), 3}}).value(), 0.5, 1e-8);
}

TEST(LowerBound, WideFilesMeet) {
  // Two files on 3 of 4 targets share 2; 1 + 2 GiB there, and no size alone tells.
  const LowerBound bound = bound_of(grid(1, 4), {{Bytes::gib(1), 3}, {Bytes::gib(2), 3}});
  EXPECT_NEAR(bound.value(), 0.3, 1e-8);
}

TEST(LowerBound, RoomThatIsNotAvailableIsNone) {
  // Half of target 0 is kept from us: 8 GiB of objects of 1 GiB leave at least 5 for the other.
  TargetTable table = grid(1, 2);
  table.targets[0].available = Bytes::gib(3);
  EXPECT_NEAR(bound_of(table, std::vector<Demand>(8, {Bytes::gib(1), 1})).value(), 0.5, 1e-8);
}

TEST(LowerBound, OverstripingLoosens) {
  // Four objects on two targets, two to each at most: 2 GiB on the target that has 5 already.
  TargetTable table = grid(1, 2);
  fill(table.targets[0], Bytes::gib(5));
  EXPECT_NEAR(bound_of(table, {{Bytes::gib(1), 4, 2}}).value(), 0.7, 1e-8);
  EXPECT_NEAR(bound_of(table, {{Bytes::gib(1), 4, 4}}).value(), 0.5, 1e-8);
}

TEST(LowerBound, NeverAboveTheOptimum) {
  int feasible = 0;
  int tight = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Instance instance = small_instance(rng, {.overstripe = rng.chance(0.3)});
    if (rng.chance(0.2)) instance.table.targets[0].available = Bytes{instance.table.targets[0].available.count / 3};
    if (rng.chance(0.2)) {
      const std::uint32_t pool = add_pool(instance.table, "some", {0, 1});
      for (Demand& demand : instance.demands) {
        if (demand.count <= 2 * demand.per_target && rng.chance(0.5)) demand.pool = pool;
      }
    }
    const double best = BruteForce(instance).best();
    if (std::isinf(best)) continue;
    ++feasible;
    const LowerBound bound = bound_of(instance.table, instance.demands);
    EXPECT_LE(bound.existing, best * (1 + 1e-12));
    EXPECT_LE(bound.linear, best * (1 + 1e-9));
    EXPECT_LE(bound.value(), best * (1 + 1e-9));
    EXPECT_GE(bound.value(), bound.linear);
    EXPECT_GE(bound.value(), bound.existing);
    tight += bound.value() >= best * (1 - 1e-7) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(feasible, 500);
  EXPECT_GT(tight, feasible / 2) << "a bound of 0 would pass, too";
}

TEST(LowerBound, IsTheOptimumOfOneSize) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = small_instance(rng, {.sizes = false});
    const double best = BruteForce(instance).best();
    if (std::isinf(best)) continue;
    EXPECT_NEAR(bound_of(instance.table, instance.demands).value(), best, 1e-7 * best);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace iez::placement
