#include "forecast/arma_likelihood.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "forecast/arima_model.hpp"
#include "forecast/dense_normal_test_support.hpp"
#include "forecast/difference.hpp"

namespace iez::forecast {
namespace {

double squares(std::span<const double> u) {
  double sum = 0;
  for (const double v : u) sum += v * v;
  return sum;
}

TEST(ArmaLikelihood, FirstOrderAutoregressionByHand) {
  // x1 has variance 1 / (1 - 0.36); then e = x(t) - 0.6 x(t - 1).
  ArmaLikelihood likelihood(3);
  ASSERT_TRUE(likelihood.factor(std::vector{0.6}, {}));
  EXPECT_NEAR(likelihood.log_determinant(), -std::log(0.64), 1e-14);
  std::vector<double> u(3);
  likelihood.whiten(std::vector{5.0, 4.0, -1.0}, u);
  EXPECT_NEAR(u[0], 5 * 0.8, 1e-14);
  EXPECT_NEAR(u[1], 1, 1e-14);
  EXPECT_NEAR(u[2], -1 - 2.4, 1e-14);
}

TEST(ArmaLikelihood, FirstOrderMovingAverageByHand) {
  // theta = 1, on the boundary: r = 2, 3/2, 4/3; e2 = x2 - e1 / 2, e3 = x3 - 2/3 e2.
  ArmaLikelihood likelihood(3);
  ASSERT_TRUE(likelihood.factor({}, std::vector{1.0}));
  EXPECT_NEAR(likelihood.log_determinant(), std::log(4), 1e-14);
  std::vector<double> u(3);
  likelihood.whiten(std::vector{2.0, 3.0, 1.0}, u);
  EXPECT_NEAR(u[0], 2 / std::sqrt(2), 1e-14);
  EXPECT_NEAR(u[1], 2 / std::sqrt(1.5), 1e-14);
  EXPECT_NEAR(u[2], (1 - 4.0 / 3) / std::sqrt(4.0 / 3), 1e-14);
}

TEST(ArmaLikelihood, FewerValuesThanCoefficients) {
  ArmaLikelihood likelihood(1);
  ASSERT_TRUE(likelihood.factor(std::vector{0.3, 0.2, -0.1}, std::vector{0.5, 0.5}));
  ArmaMoments moments;
  ASSERT_TRUE(moments.compute(std::vector{0.3, 0.2, -0.1}, std::vector{0.5, 0.5}, 1));
  EXPECT_NEAR(likelihood.log_determinant(), std::log(moments.autocovariance()[0]), 1e-13);
  ArmaLikelihood nothing(0);
  ASSERT_TRUE(nothing.factor(std::vector{0.3}, std::vector{0.5}));
  EXPECT_EQ(nothing.log_determinant(), 0);
}

TEST(ArmaLikelihood, RefusesWhatIsNotStationary) {
  ArmaLikelihood likelihood(5);
  EXPECT_FALSE(likelihood.factor(std::vector{1.1}, {}));
  EXPECT_TRUE(likelihood.factor(std::vector{0.9}, {})) << "and can be used again";
}

TEST(ArmaLikelihood, AgreesWithADenseNormal) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const ArimaOrder order = random_order(rng);
    const auto parameters = random_parameters(rng, order);
    const auto values = random_values(rng, difference_loss(order) + 1 + rng.below(40));
    const auto expected = dense_normal(values, order, parameters);
    const auto found = log_likelihood(values, order, parameters);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->log_likelihood, expected.log_likelihood, 1e-8);
    EXPECT_NEAR(found->sigma2 / expected.sigma2, 1, 1e-9);
    EXPECT_EQ(found->observations, expected.observations);
  }
}

// The shortcut of stationary rows must not show: a longer series, models that settle soon and late.
TEST(ArmaLikelihood, TheStationaryRecursionIsExactEnough) {
  constexpr std::uint64_t kSeed = 4;
  Rng rng(kSeed);
  const auto values = random_values(rng, 250);
  for (const double theta : {0.05, 0.5, -0.8, 0.95, -0.99, 1.0}) {
    for (const unsigned period : {2U, 7U}) {
      SCOPED_TRACE(testing::Message() << "theta " << theta << " period " << period);
      const ArimaOrder order{.p = 1, .q = 2, .sq = 1, .period = period};
      const ArimaParameters parameters{.ar = {0.5}, .ma = {0.0, theta}, .seasonal_ma = {theta * 0.9}};
      const auto found = log_likelihood(values, order, parameters);
      ASSERT_TRUE(found);
      const double expected = dense_normal(values, order, parameters).log_likelihood;
      EXPECT_NEAR(found->log_likelihood, expected, 1e-11 * std::abs(expected));
    }
  }
}

TEST(ArmaLikelihood, NotInvertibleIsTheSameLawAsItsMirror) {
  // theta and 1 / theta give the same autocorrelations; the variances differ by theta^2.
  const std::vector<double> x{1, -2, 0.5, 3, -1, 0.25, 2};
  ArmaLikelihood likelihood(x.size());
  std::vector<double> u(x.size());
  ASSERT_TRUE(likelihood.factor({}, std::vector{0.4}));
  likelihood.whiten(x, u);
  const double determinant = likelihood.log_determinant();
  const double sum = squares(u);
  ASSERT_TRUE(likelihood.factor({}, std::vector{2.5}));
  likelihood.whiten(x, u);
  EXPECT_NEAR(likelihood.log_determinant(), determinant + 7 * std::log(6.25), 1e-12);
  EXPECT_NEAR(squares(u) * 6.25, sum, 1e-12);
}

}  // namespace
}  // namespace iez::forecast
