#include "forecast/difference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace iez::forecast {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Difference, Polynomials) {
  EXPECT_THAT(difference_coefficients({}), IsEmpty());
  EXPECT_THAT(difference_coefficients({.d = 1}), ElementsAre(1));
  EXPECT_THAT(difference_coefficients({.d = 3}), ElementsAre(3, -3, 1));
  EXPECT_THAT(difference_coefficients({.d = 1, .sd = 1, .period = 4}), ElementsAre(1, 0, 0, 1, -1));
  EXPECT_THAT(difference_coefficients({.sd = 2, .period = 2}), ElementsAre(0, 2, 0, -1));
  EXPECT_EQ(difference_loss({.d = 2, .sd = 1, .period = 12}), 14U);
}

TEST(Difference, Values) {
  const std::vector<double> squares{0, 1, 4, 9, 16, 25};
  EXPECT_THAT(difference(squares, {}), ElementsAre(0, 1, 4, 9, 16, 25));
  EXPECT_THAT(difference(squares, {.d = 1}), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(difference(squares, {.d = 2}), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(difference(squares, {.sd = 1, .period = 2}), ElementsAre(4, 8, 12, 16));
  EXPECT_THAT(difference(squares, {.d = 1, .sd = 1, .period = 2}), ElementsAre(4, 4, 4));
  EXPECT_THAT(difference(squares, {.d = 6}), IsEmpty());
  EXPECT_THAT(difference(squares, {.d = 1, .sd = 1, .period = 9}), IsEmpty());
  EXPECT_THAT(difference({}, {.d = 1}), IsEmpty());
}

TEST(Difference, MissingValuesSpread) {
  const std::vector<double> values{1, std::numeric_limits<double>::quiet_NaN(), 4, 6};
  const auto w = difference(values, {.d = 1});
  ASSERT_EQ(w.size(), 3U);
  EXPECT_TRUE(std::isnan(w[0]));
  EXPECT_TRUE(std::isnan(w[1]));
  EXPECT_EQ(w[2], 2);
}

}  // namespace
}  // namespace iez::forecast
