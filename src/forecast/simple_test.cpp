#include "forecast/simple.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace iez::forecast {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

TEST(Simple, EachSaysWhatItsNameSays) {
  const std::vector<double> values = {2, 4, 9};
  EXPECT_THAT(simple_path(Simple::naive, values, 0, 2), ElementsAre(9, 9));
  EXPECT_THAT(simple_path(Simple::mean, values, 0, 2), ElementsAre(5, 5));
  EXPECT_THAT(simple_path(Simple::median, values, 0, 2), ElementsAre(4, 4));
  EXPECT_THAT(simple_path(Simple::drift, values, 0, 2), ElementsAre(12.5, 16));
  // The line through (0,2), (1,4), (2,9): slope 3.5, mean 5 at 1.
  EXPECT_THAT(simple_path(Simple::trend, values, 0, 2), ElementsAre(DoubleNear(12, 1e-9), DoubleNear(15.5, 1e-9)));
}

TEST(Simple, LocalFollowsAShift) {
  std::vector<double> values(20, 10.0);
  values.insert(values.end(), 20, 30.0);
  EXPECT_NEAR(simple_path(Simple::local, values, 0, 1)[0], 30, 0.1);
  EXPECT_NEAR(simple_path(Simple::mean, values, 0, 1)[0], 20, 1e-9);
}

TEST(Simple, AMissingValueIsNotAStepBack) {
  const std::vector<double> values = {1, kMissing, 3, kMissing};
  EXPECT_THAT(simple_path(Simple::drift, values, 0, 1), ElementsAre(DoubleEq(5)));
  EXPECT_THAT(simple_path(Simple::naive, values, 0, 1), ElementsAre(3));
}

TEST(Simple, PhasesAreSeriesOfTheirOwn) {
  const std::vector<double> values = {1, 100, 2, 110, 3};
  EXPECT_THAT(simple_path(Simple::drift, values, 2, 3), ElementsAre(120, 4, 130));
  EXPECT_THAT(simple_path(Simple::naive, values, 2, 3), ElementsAre(110, 3, 110));
}

TEST(Simple, APhaseNeverSeenTakesTheMeanOfAll) {
  EXPECT_THAT(simple_path(Simple::naive, std::vector<double>{2, 4}, 3, 2), ElementsAre(3, 2));
}

TEST(Simple, RollingKnowsOnlyWhatWasBefore) {
  const std::vector<double> values = {1, 2, 4, 8};
  const auto naive = simple_rolling(Simple::naive, values, 0, 4);
  EXPECT_TRUE(std::isnan(naive[0]));
  EXPECT_THAT(std::vector(naive.begin() + 1, naive.end()), ElementsAre(1, 2, 4));
  for (const Simple method : kSimple) {
    const auto said = simple_rolling(method, values, 0, 2);
    for (std::size_t i = 0; i < 2; ++i) {
      const std::span front = std::span(values).first(2 + i);
      EXPECT_DOUBLE_EQ(said[i], simple_path(method, front, 0, 1)[0]) << to_string(method);
    }
  }
}

TEST(Simple, AConstantStaysOne) {
  for (const Simple method : kSimple) {
    for (const double value : simple_path(method, std::vector<double>(11, 7.0), 4, 5))
      EXPECT_DOUBLE_EQ(value, 7) << to_string(method);
  }
}

}  // namespace
}  // namespace iez::forecast
