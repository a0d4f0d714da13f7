#include "congestion/iops_estimator.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "base/rng.hpp"

namespace iez::congestion {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(IopsEstimator, KnowsNothingBeforeTheFirstReply) {
  IopsEstimator estimator(seconds(10));
  EXPECT_EQ(estimator.iops(), 0);
  EXPECT_EQ(estimator.depth(), 0U);
  estimator.arrive(seconds(100));
  EXPECT_EQ(estimator.iops(), 0);
  EXPECT_EQ(estimator.depth(), 1U);
}

TEST(IopsEstimator, IsSensibleBeforeTheWindowIsFull) {
  IopsEstimator estimator(seconds(10));
  estimator.arrive(seconds(100));
  estimator.finish(seconds(100) + milliseconds(10));
  EXPECT_DOUBLE_EQ(estimator.iops(), 100);
  estimator.arrive(seconds(200));
  estimator.finish(seconds(200) + milliseconds(30));
  EXPECT_DOUBLE_EQ(estimator.iops(), 50);  // two in 40 ms of work
}

TEST(IopsEstimator, CountsBusyTimeOnly) {
  IopsEstimator estimator(seconds(10));
  for (int i = 0; i < 100; ++i) {
    estimator.arrive(seconds(i));
    estimator.finish(seconds(i) + milliseconds(5));
  }
  EXPECT_NEAR(estimator.iops(), 200, 1e-9);
}

TEST(IopsEstimator, CountsOverlappingRequestsOnce) {
  IopsEstimator estimator(seconds(10));
  for (int i = 0; i < 4; ++i) estimator.arrive(seconds(0));
  EXPECT_EQ(estimator.depth(), 4U);
  for (int i = 1; i <= 4; ++i) estimator.finish(milliseconds(100 * i));
  EXPECT_DOUBLE_EQ(estimator.iops(), 10);
  EXPECT_EQ(estimator.depth(), 0U);
}

TEST(IopsEstimator, ForgetsWhatIsOlderThanTheWindow) {
  IopsEstimator estimator(seconds(10));
  estimator.arrive(seconds(0));
  Duration now{};
  const auto work = [&](int count, Duration each) {
    for (int i = 0; i < count; ++i) {
      now += each;
      estimator.arrive(now);
      estimator.finish(now);
    }
  };
  work(2000, milliseconds(10));
  EXPECT_NEAR(estimator.iops(), 100, 2);
  work(100, milliseconds(50));  // 5 s, half a window
  EXPECT_GT(estimator.iops(), 45);
  EXPECT_LT(estimator.iops(), 75);
  work(100, milliseconds(50));  // a full window at the new speed
  EXPECT_NEAR(estimator.iops(), 20, 0.5);
}

TEST(IopsEstimator, AnIdleServerKeepsWhatItKnew) {
  IopsEstimator estimator(seconds(10));
  estimator.arrive(seconds(0));
  estimator.finish(milliseconds(20));
  estimator.arrive(hours(5));
  EXPECT_DOUBLE_EQ(estimator.iops(), 50);
}

TEST(IopsEstimator, LeavesOutAClockThatJumps) {
  IopsEstimator estimator(seconds(10));
  estimator.arrive(seconds(0));
  estimator.arrive(seconds(0));
  estimator.finish(milliseconds(20));
  estimator.finish(hours(2));  // busy, but longer than the window: not a speed
  EXPECT_DOUBLE_EQ(estimator.iops(), 100);
  estimator.arrive(hours(1));  // back: stands still
  estimator.finish(hours(1));
  EXPECT_DOUBLE_EQ(estimator.iops(), 150);
  EXPECT_EQ(estimator.depth(), 0U);
}

TEST(IopsEstimator, DepthNeverFallsBelowZero) {
  IopsEstimator estimator(seconds(10));
  estimator.finish(seconds(1));
  EXPECT_EQ(estimator.depth(), 0U);
  EXPECT_EQ(estimator.iops(), 0);
  estimator.arrive(seconds(2));
  estimator.finish(seconds(3));
  estimator.finish(seconds(4));
  EXPECT_EQ(estimator.depth(), 0U);
  EXPECT_DOUBLE_EQ(estimator.iops(), 1);
}

TEST(IopsEstimator, FindsTheRateOfARandomServer) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    IopsEstimator estimator(seconds(10));
    Duration now{};
    for (int i = 0; i < 20000; ++i) {
      if (rng.chance(0.1)) now += milliseconds(rng.below(3000));  // idle
      estimator.arrive(now);
      now += Duration(rng.below(10'000'001));  // 5 ms in the mean
      estimator.finish(now);
    }
    EXPECT_NEAR(estimator.iops(), 200, 10);
  }
}

TEST(IopsEstimator, TakesTheShortestWindow) {
  IopsEstimator estimator(Duration(1));
  for (int i = 0; i < 50; ++i) {
    estimator.arrive(Duration(2 * i));
    estimator.finish(Duration(2 * i + 1));
  }
  EXPECT_NEAR(estimator.iops(), 1e9, 0.2e9);
}

}  // namespace
}  // namespace iez::congestion
