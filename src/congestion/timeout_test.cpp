#include "congestion/timeout.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace iez::congestion {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Timeout, DeviationOfTheSource) {
  // 1024 clients at 170 MB/s in requests of 1 MB: about 6 s, 10 % of 60 s.
  const LatencyDeviation d = latency_deviation(1024, 170.13, seconds(60));
  EXPECT_NEAR(std::chrono::duration<double>(d.deviation).count(), 6.02, 0.01);
  EXPECT_NEAR(d.part, 0.1003, 0.0001);
}

TEST(Timeout, DeviationByHand) {
  const LatencyDeviation d = latency_deviation(100, 50, seconds(40), 3);
  EXPECT_EQ(d.deviation, seconds(6));
  EXPECT_DOUBLE_EQ(d.part, 0.15);
  EXPECT_EQ(latency_deviation(0, 50, seconds(40)).deviation, seconds(0));
  EXPECT_EQ(latency_deviation(4'000'000'000U, 1e-9, seconds(40)).deviation, Duration::max());
}

TEST(Timeout, OfTheDefaults) {
  EXPECT_EQ(request_timeout({}), seconds(95));
  EXPECT_EQ(request_timeout({.l_max = seconds(25), .lambda = 1.1, .l_net = seconds(0)}), milliseconds(27500));
}

TEST(Timeout, LambdaMustLeaveRoomForTheDeviation) {
  const Result<Duration> good = checked_timeout({}, 1024, 170);
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(*good, seconds(95));

  const RccParameters edge{.l_max = seconds(10), .lambda = 1.5, .l_net = seconds(0)};
  EXPECT_TRUE(checked_timeout(edge, 500, 100).has_value());  // P = 0.5 exactly
  const Result<Duration> bad = checked_timeout(edge, 510, 100);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, Errc::invalid_argument);
  EXPECT_EQ(
      bad.error().message,
      "lambda is 1.5; with 510 clients and 100.0 operations a second the latency varies by 51.0 % of l_max, so lambda must be "
      "at least 1.51");
}

TEST(Timeout, NeedsToKnowTheSpeed) {
  const Result<Duration> unknown = checked_timeout({}, 10, 0);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message, "IOPS is 0; it must be more than 0");
}

}  // namespace
}  // namespace iez::congestion
