#include "forecast/kalman.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "forecast/arima_model.hpp"
#include "forecast/dense_normal_test_support.hpp"
#include "forecast/difference.hpp"

namespace iez::forecast {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Filtered {
  double log_determinant = 0;
  double squares = 0;
  unsigned observations = 0;
};

Filtered run(KalmanFilter& filter, std::span<const double> values) {
  Filtered result;
  for (const double value : values) {
    const auto forecast = filter.forecast();
    if (std::isfinite(value)) {
      if (forecast.infinite > 0) {
        result.log_determinant += std::log(forecast.infinite);
      } else {
        result.log_determinant += std::log(forecast.finite);
        result.squares += std::pow(value - forecast.mean[0], 2) / forecast.finite;
        ++result.observations;
      }
      filter.observe(forecast, {value, 0});
    }
    filter.advance();
  }
  return result;
}

TEST(KalmanFilter, RandomWalkWithAGap) {
  KalmanFilter filter;
  ASSERT_TRUE(filter.start({}, {}, std::vector{1.0}));
  EXPECT_EQ(filter.unknown(), 1U);
  auto forecast = filter.forecast();
  EXPECT_EQ(forecast.infinite, 1);
  filter.observe(forecast, {10, 0});
  EXPECT_EQ(filter.unknown(), 0U);
  filter.advance();
  filter.advance();  // nothing seen
  forecast = filter.forecast();
  EXPECT_EQ(forecast.infinite, 0);
  EXPECT_EQ(forecast.mean[0], 10);
  EXPECT_EQ(forecast.finite, 2);
  filter.observe(forecast, {13, 0});
  filter.advance();
  forecast = filter.forecast();
  EXPECT_EQ(forecast.mean[0], 13);
  EXPECT_EQ(forecast.finite, 1);
}

TEST(KalmanFilter, FirstOrderAutoregressionWithAGap) {
  KalmanFilter filter;
  ASSERT_TRUE(filter.start(std::vector{0.6}, {}, {}));
  auto forecast = filter.forecast();
  EXPECT_NEAR(forecast.finite, 1 / 0.64, 1e-14);
  filter.observe(forecast, {2, 1});
  filter.advance();
  filter.advance();
  forecast = filter.forecast();
  EXPECT_NEAR(forecast.mean[0], 0.36 * 2, 1e-14);
  EXPECT_NEAR(forecast.mean[1], 0.36, 1e-14);
  EXPECT_NEAR(forecast.finite, 1 + 0.36, 1e-14);
}

// A straight line is found from two values, wherever they are; the third meets what is known.
TEST(KalmanFilter, TwoUnknownDirectionsNeedTwoValues) {
  KalmanFilter filter;
  ASSERT_TRUE(filter.start({}, {}, std::vector{2.0, -1.0}));
  const std::vector<double> values{kNan, 5, kNan, kNan, 11};
  const auto filtered = run(filter, values);
  EXPECT_EQ(filtered.observations, 0U);
  EXPECT_EQ(filter.unknown(), 0U);
  EXPECT_NEAR(filter.forecast().mean[0], 13, 1e-12);
}

TEST(KalmanFilter, SeasonsNotYetSeenStayUnknown) {
  KalmanFilter filter;
  ASSERT_TRUE(filter.start({}, {}, std::vector{0.0, 0.0, 1.0}));
  const std::vector<double> values{1, kNan, 3, 1, 2};
  const auto filtered = run(filter, values);
  EXPECT_EQ(filtered.observations, 1U);
  EXPECT_EQ(filter.unknown(), 0U);
  EXPECT_EQ(filter.forecast().infinite, 0);
  EXPECT_EQ(filter.forecast().mean[0], 3);
}

TEST(KalmanFilter, RefusesWhatIsNotStationary) {
  KalmanFilter filter;
  EXPECT_FALSE(filter.start(std::vector{1.0}, {}, {}));
  EXPECT_TRUE(filter.start(std::vector{0.5}, {}, {}));
}

TEST(KalmanFilter, AgreesWithInnovationsOnCompleteSeries) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  KalmanFilter filter;
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const ArimaOrder order = random_order(rng);
    auto parameters = random_parameters(rng, order);
    parameters.mean = 0;
    const auto model = expand(order, parameters);
    ASSERT_TRUE(model);
    const auto values = random_values(rng, difference_loss(order) + 1 + rng.below(80));
    ASSERT_TRUE(filter.start(model->phi, model->theta, model->delta));
    const auto filtered = run(filter, values);
    const auto expected = log_likelihood(values, order, parameters);
    ASSERT_TRUE(expected);
    ASSERT_EQ(filtered.observations, expected->observations);
    const double n = filtered.observations;
    const double found = -0.5 * (n * (std::log(2 * std::numbers::pi * filtered.squares / n) + 1) + filtered.log_determinant);
    EXPECT_NEAR(found, expected->log_likelihood, 1e-9 + 1e-10 * std::abs(found));
  }
}

TEST(KalmanFilter, AgreesWithADenseNormalWhereValuesAreMissing) {
  constexpr std::uint64_t kSeed = 6;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  unsigned compared = 0;
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const ArimaOrder order = random_order(rng);
    const auto parameters = random_parameters(rng, order);
    auto values = random_values(rng, difference_loss(order) + 10 + rng.below(30));
    const double share = 0.5 * rng.unit();
    for (double& value : values) {
      if (rng.chance(share)) value = kNan;
    }
    // Every season must have been seen, or the likelihood of these values is not defined.
    const auto found = log_likelihood(values, order, parameters);
    if (!found) continue;
    const auto expected = dense_normal(values, order, parameters);
    EXPECT_EQ(found->observations, expected.observations);
    EXPECT_NEAR(found->log_likelihood, expected.log_likelihood, 1e-7);
    EXPECT_NEAR(found->sigma2 / expected.sigma2, 1, 1e-7);
    ++compared;
  }
  EXPECT_GT(compared, 150U);
}

}  // namespace
}  // namespace iez::forecast
