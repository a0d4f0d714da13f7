#include "congestion/burst_cost.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "base/rng.hpp"

namespace iez::congestion {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Bursts of `burst` requests, of one client after the other.
Duration serve(BurstCost& cost, Duration now, int bursts, int burst, Duration a, Duration b) {
  for (int i = 0; i < bursts; ++i) {
    for (int k = 0; k < burst; ++k) {
      now += k == 0 ? a + b : a;
      cost.finish(now, static_cast<std::uint32_t>(i), true);
    }
  }
  return now;
}

TEST(BurstCost, KnowsNothingAtFirst) {
  BurstCost cost;
  EXPECT_FALSE(cost.knee(0.1).has_value());
  EXPECT_FALSE(cost.cost().has_value());
  cost.finish(seconds(1), 0, true);  // one reply is no gap
  EXPECT_FALSE(cost.cost().has_value());
}

TEST(BurstCost, LearnsBothCosts) {
  BurstCost cost;
  serve(cost, seconds(5), 100, 8, milliseconds(4), milliseconds(6));
  ASSERT_TRUE(cost.cost().has_value());
  EXPECT_NEAR(cost.cost()->a, 0.004, 1e-9);
  EXPECT_NEAR(cost.cost()->b, 0.006, 1e-9);
  EXPECT_NEAR(*cost.knee(0.1), 13.5, 1e-6);  // 1.5 x 0.9 / 0.1
  EXPECT_NEAR(*cost.knee(0.5), 1.5, 1e-6);
  EXPECT_EQ(*cost.knee(0.9), 1);  // never below 1
}

TEST(BurstCost, TheKneeLosesWhatItIsAllowedTo) {
  BurstCost cost;
  serve(cost, seconds(0), 400, 5, microseconds(4090), microseconds(5435));
  const double a = cost.cost()->a;
  const double b = cost.cost()->b;
  for (const double loss : {0.02, 0.08, 0.2}) EXPECT_NEAR(a / (a + b / *cost.knee(loss)), 1 - loss, 1e-9);
}

TEST(BurstCost, WithoutPositioningBurstsSaveNothing) {
  BurstCost cost;
  serve(cost, seconds(0), 100, 4, milliseconds(4), milliseconds(0));
  EXPECT_EQ(*cost.knee(0.05), 1);
}

TEST(BurstCost, LeavesOutGapsOfAnIdleServer) {
  BurstCost cost;
  Duration now = serve(cost, seconds(0), 100, 4, milliseconds(4), milliseconds(4));
  for (int i = 0; i < 100; ++i) {
    now += seconds(1);
    cost.finish(now, static_cast<std::uint32_t>(i), false);
  }
  EXPECT_NEAR(cost.cost()->a, 0.004, 1e-9);
  EXPECT_NEAR(cost.cost()->b, 0.004, 1e-9);
}

TEST(BurstCost, OnePauseDoesNotSpoilIt) {
  BurstCost cost;
  const Duration now = serve(cost, seconds(0), 500, 4, milliseconds(4), milliseconds(4));
  cost.finish(now + seconds(3600), 499, true);
  EXPECT_NEAR(cost.cost()->a, 0.004, 0.0002);
}

TEST(BurstCost, ASlowerServerKeepsItsRatioAllTheWay) {
  BurstCost cost;
  Duration now = serve(cost, seconds(0), 400, 12, milliseconds(4), milliseconds(6));
  const double knee = *cost.knee(0.08);
  for (int i = 0; i < 400; ++i) {
    now = serve(cost, now, 10, 12, milliseconds(8), milliseconds(12));
    EXPECT_NEAR(*cost.knee(0.08), knee, 0.12 * knee);
  }
  EXPECT_NEAR(cost.cost()->a, 0.008, 1e-5);
}

TEST(BurstCost, OneClientAloneKeepsWhatWasKnown) {
  BurstCost cost;
  Duration now = serve(cost, seconds(0), 100, 8, milliseconds(4), milliseconds(6));
  const double knee = *cost.knee(0.1);
  for (int i = 0; i < 50000; ++i) {
    now += milliseconds(5);
    cost.finish(now, 3, true);
  }
  EXPECT_NEAR(*cost.knee(0.1), knee, 0.35 * knee);  // the last changes still fade while they have weight
  EXPECT_NEAR(cost.cost()->a, 0.005, 1e-4);
}

TEST(BurstCost, TheMeanOfAllGapsIsKept) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  BurstCost cost;
  Duration now{};
  std::uint32_t client = 0;
  for (int i = 0; i < 30000; ++i) {
    const bool change = rng.chance(0.3);
    client += change ? 1 : 0;
    now += Duration(rng.below(8'000'000)) + (change ? Duration(rng.below(12'000'000)) : Duration(0));
    cost.finish(now, client, true);
  }
  EXPECT_NEAR(cost.cost()->a + 0.3 * cost.cost()->b, 0.0058, 0.0003);
  EXPECT_NEAR(cost.cost()->a, 0.004, 0.0003);
}

TEST(BurstCost, TimeThatStandsStillOrGoesBackIsNoGap) {
  BurstCost cost;
  cost.finish(seconds(5), 0, true);
  cost.finish(seconds(5), 0, true);
  cost.finish(seconds(4), 0, true);
  EXPECT_FALSE(cost.cost().has_value());
}

}  // namespace
}  // namespace iez::congestion
