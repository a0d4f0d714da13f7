#include "forecast/arima_starts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "forecast/dense_normal_test_support.hpp"

namespace iez::forecast {
namespace {

using testing::Each;
using testing::SizeIs;

TEST(RegressionStart, FindsTheNeighbourhood) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  std::vector<double> x{0};
  double last = 0;
  for (int t = 0; t < 2000; ++t) {
    const double e = random_normal(rng);
    x.push_back(0.7 * x.back() + e + 0.4 * last);
    last = e;
  }
  const auto point = regression_start(x, {.p = 1, .q = 1});
  ASSERT_THAT(point, SizeIs(2));
  EXPECT_NEAR(point[0], 0.7, 0.1);
  EXPECT_NEAR(point[1], -0.4, 0.1) << "moving averages are written as 1 - c B";
}

TEST(RegressionStart, IsAlwaysStable) {
  constexpr std::uint64_t kSeed = 8;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 200; ++round) {
    const ArimaOrder order = random_order(rng);
    auto values = random_values(rng, rng.below(60));
    if (rng.chance(0.3)) {
      for (std::size_t t = 1; t < values.size(); ++t) values[t] = 1.3 * values[t - 1];
    }
    const auto point = regression_start(values, order);
    EXPECT_THAT(point, SizeIs(order.p + order.q + order.sp + order.sq));
    for (const double r : point) EXPECT_LT(std::abs(r), 1);
  }
}

TEST(RegressionStart, ShortOrZeroSeries) {
  EXPECT_THAT(regression_start(std::vector{1.0, 2.0}, {.p = 2, .q = 1}), Each(0.0));
  EXPECT_THAT(regression_start(std::vector<double>(30, 0.0), {.p = 2, .q = 1}), Each(0.0));
  EXPECT_THAT(regression_start({}, {}), SizeIs(0));
}

TEST(SpreadStart, FillsTheCube) {
  for (const std::size_t size : {1U, 3U, 10U}) {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < 20; ++i) {
      const auto a = spread_start(i, size);
      ASSERT_THAT(a, SizeIs(size));
      for (const double r : a) EXPECT_LE(std::abs(r), 0.9);
      for (std::size_t j = 0; j < i; ++j) {
        const auto b = spread_start(j, size);
        double distance = 0;
        for (std::size_t k = 0; k < size; ++k) distance = std::max(distance, std::abs(a[k] - b[k]));
        nearest = std::min(nearest, distance);
      }
    }
    EXPECT_GT(nearest, 0.02) << size;
  }
}

}  // namespace
}  // namespace iez::forecast
