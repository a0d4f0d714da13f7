#include "forecast/arma_moments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "forecast/dense_normal_test_support.hpp"
#include "forecast/polynomial.hpp"

namespace iez::forecast {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(ArmaMoments, FirstOrders) {
  ArmaMoments moments;
  // AR(1): phi^h / (1 - phi^2)
  ASSERT_TRUE(moments.compute(std::vector{0.5}, {}, 3));
  EXPECT_THAT(moments.autocovariance(),
              ElementsAre(DoubleNear(4.0 / 3, 1e-14), DoubleNear(2.0 / 3, 1e-14), DoubleNear(1.0 / 3, 1e-14)));
  EXPECT_THAT(moments.psi(), ElementsAre(1, 0.5, 0.25));
  // MA(1): 1 + theta^2, theta, 0
  ASSERT_TRUE(moments.compute({}, std::vector{0.5}, 3));
  EXPECT_THAT(moments.autocovariance(), ElementsAre(1.25, 0.5, 0));
  EXPECT_THAT(moments.ma_autocovariance(), ElementsAre(1.25, 0.5));
  EXPECT_THAT(moments.cross_covariance(), ElementsAre(1.25, 0.5));
  // ARMA(1,1): (1 + 2 phi theta + theta^2) / (1 - phi^2), (1 + phi theta)(phi + theta) / (1 - phi^2)
  ASSERT_TRUE(moments.compute(std::vector{0.5}, std::vector{0.25}, 2));
  EXPECT_THAT(moments.autocovariance(), ElementsAre(DoubleNear(1.3125 / 0.75, 1e-14), DoubleNear(1.125 * 0.75 / 0.75, 1e-14)));
  EXPECT_THAT(moments.cross_covariance(), ElementsAre(DoubleNear(1 + 0.25 * 0.75, 1e-14), DoubleNear(0.25, 1e-14)));
}

TEST(ArmaMoments, RefusesWhatIsNotStationary) {
  ArmaMoments moments;
  EXPECT_FALSE(moments.compute(std::vector{1.0}, {}, 2));
  EXPECT_FALSE(moments.compute(std::vector{0.6, 0.5}, {}, 2));
  EXPECT_TRUE(moments.compute(std::vector{1 - 1e-9}, {}, 2));
}

TEST(ArmaMoments, AgreeWithSumsOverInnovations) {
  constexpr std::uint64_t kSeed = 2;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  ArmaMoments moments;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    ArimaOrder order = random_order(rng);
    const auto parameters = random_parameters(rng, order);
    std::vector<double> phi;
    std::vector<double> theta;
    multiply_seasonal(parameters.ar, parameters.seasonal_ar, order.period, 1, phi);
    multiply_seasonal(parameters.ma, parameters.seasonal_ma, order.period, -1, theta);
    ASSERT_TRUE(moments.compute(phi, theta, 20));
    const auto expected = dense_autocovariance(order, parameters, 20);
    for (std::size_t h = 0; h < 20; ++h) {
      EXPECT_NEAR(moments.autocovariance()[h], static_cast<double>(expected[h]), 1e-10 * static_cast<double>(expected[0])) << h;
    }
  }
}

}  // namespace
}  // namespace iez::forecast
