#include "sim/latency_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.hpp"

namespace iez::sim {
namespace {

TEST(LatencyHistogram, IsEmptyAtFirst) {
  const auto stats = LatencyHistogram().stats();
  EXPECT_EQ(stats.count, 0U);
  EXPECT_EQ(stats.mean, 0);
  EXPECT_EQ(stats.max, 0);
}

TEST(LatencyHistogram, KnowsAConstant) {
  LatencyHistogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.add(std::chrono::milliseconds(250));
  const auto stats = histogram.stats();
  EXPECT_EQ(stats.count, 1000U);
  EXPECT_NEAR(stats.mean, 0.25, 1e-12);
  EXPECT_NEAR(stats.deviation, 0, 1e-9);
  EXPECT_NEAR(stats.p50, 0.25, 0.0025);
  EXPECT_DOUBLE_EQ(stats.max, 0.25);
}

TEST(LatencyHistogram, TakesTheShortestAndTheLongest) {
  LatencyHistogram histogram;
  histogram.add(Duration::zero());
  histogram.add(std::chrono::hours(24 * 365));
  const auto stats = histogram.stats();
  EXPECT_EQ(stats.count, 2U);
  EXPECT_DOUBLE_EQ(stats.max, 365.0 * 86400);
  EXPECT_LE(stats.p50, 2e-6);
}

TEST(LatencyHistogram, ForgetsWhenCleared) {
  LatencyHistogram histogram;
  histogram.add(std::chrono::seconds(3));
  histogram.clear();
  EXPECT_EQ(histogram.stats().count, 0U);
  EXPECT_EQ(histogram.stats().max, 0);
}

TEST(LatencyHistogram, QuantilesAreWithinOnePerCent) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    LatencyHistogram histogram;
    std::vector<double> all;
    double sum = 0;
    for (int i = 0; i < 5000; ++i) {
      // Over seven orders of magnitude.
      const auto latency = Duration(static_cast<Duration::rep>(std::exp(rng.unit() * 16) * 1e4));
      histogram.add(latency);
      all.push_back(std::chrono::duration<double>(latency).count());
      sum += all.back();
    }
    std::sort(all.begin(), all.end());
    const auto stats = histogram.stats();
    EXPECT_NEAR(stats.mean, sum / 5000, 1e-9 * sum);
    EXPECT_NEAR(stats.p50, all[2499], 0.01 * all[2499]);
    EXPECT_NEAR(stats.p99, all[4949], 0.01 * all[4949]);
    EXPECT_DOUBLE_EQ(stats.max, all.back());
  }
}

}  // namespace
}  // namespace iez::sim
