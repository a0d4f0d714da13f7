#include "forecast/polynomial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"

namespace iez::forecast {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Polynomial, PartialAutocorrelationsOfSecondAndThirdOrder) {
  // phi1 = r1 (1 - r2), phi2 = r2; then c(j) = phi(j) - r3 phi(3 - j).
  std::vector<double> c(2);
  coefficients_from_partial(std::vector{0.5, -0.25}, c);
  EXPECT_THAT(c, ElementsAre(DoubleNear(0.625, 1e-15), DoubleNear(-0.25, 1e-15)));
  c.resize(3);
  coefficients_from_partial(std::vector{0.5, -0.25, 0.5}, c);
  EXPECT_THAT(c, ElementsAre(DoubleNear(0.75, 1e-15), DoubleNear(-0.5625, 1e-15), DoubleNear(0.5, 1e-15)));
}

TEST(Polynomial, PartialAutocorrelationsComeBack) {
  constexpr std::uint64_t kSeed = 1;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> partial(rng.below(9));
    for (double& r : partial) r = 1.8 * rng.unit() - 0.9;
    std::vector<double> values(partial.size());
    coefficients_from_partial(partial, values);
    ASSERT_TRUE(partial_from_coefficients(values));
    for (std::size_t i = 0; i < partial.size(); ++i) EXPECT_NEAR(values[i], partial[i], 1e-8) << i;
  }
}

TEST(Polynomial, TellsUnstable) {
  const auto stable = [](std::vector<double> c) { return partial_from_coefficients(c); };
  EXPECT_TRUE(stable({}));
  EXPECT_TRUE(stable({0.999}));
  EXPECT_FALSE(stable({1.0}));
  EXPECT_FALSE(stable({-1.5}));
  EXPECT_TRUE(stable({1.2, -0.4}));
  EXPECT_FALSE(stable({0.6, 0.5}));    // positive at 0, negative at 1
  EXPECT_FALSE(stable({0.0, -1.01}));  // a pair of complex roots inside
  EXPECT_FALSE(stable({std::nan("")}));
}

TEST(Polynomial, SeasonalProducts) {
  std::vector<double> product;
  // (1 - 0.5 B)(1 - 0.2 B^3) = 1 - 0.5 B - 0.2 B^3 + 0.1 B^4
  multiply_seasonal(std::vector{0.5}, std::vector{0.2}, 3, 1, product);
  EXPECT_THAT(product, ElementsAre(0.5, 0, 0.2, DoubleNear(-0.1, 1e-15)));
  // (1 + 0.5 B)(1 + 0.2 B^3) = 1 + 0.5 B + 0.2 B^3 + 0.1 B^4
  multiply_seasonal(std::vector{0.5}, std::vector{0.2}, 3, -1, product);
  EXPECT_THAT(product, ElementsAre(0.5, 0, 0.2, DoubleNear(0.1, 1e-15)));
  // Lags that meet add up: (1 - a B - b B^2)(1 - c B^2).
  multiply_seasonal(std::vector{0.5, 0.25}, std::vector{0.125}, 2, 1, product);
  EXPECT_THAT(product, ElementsAre(0.5, 0.375, -0.0625, -0.03125));
  multiply_seasonal({}, {}, 0, 1, product);
  EXPECT_THAT(product, testing::IsEmpty());
}

TEST(Polynomial, DistanceOfTheNearestRoot) {
  EXPECT_NEAR(unit_root_distance(std::vector{0.8}), 0.25, 1e-9);
  EXPECT_NEAR(unit_root_distance(std::vector{-0.8}), 0.25, 1e-9);
  EXPECT_NEAR(unit_root_distance(std::vector{0.0, -1 / 1.21}), 0.1, 1e-9);                       // roots +- 1.1 i
  EXPECT_NEAR(unit_root_distance(std::vector{1 / 1.5 + 1 / 1.2, -1 / (1.5 * 1.2)}), 0.2, 1e-9);  // roots 1.5 and 1.2
  EXPECT_EQ(unit_root_distance({}), 1);
  EXPECT_EQ(unit_root_distance(std::vector{0.1}), 1);
  EXPECT_EQ(unit_root_distance(std::vector{1.0}), 0);
  EXPECT_EQ(unit_root_distance(std::vector{3.0}), 0);
}

}  // namespace
}  // namespace iez::forecast
