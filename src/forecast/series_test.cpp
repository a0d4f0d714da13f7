#include "forecast/series.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.hpp"

namespace iez::forecast {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Roughly normal: the sum of 12 uniform draws.
double noise(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.unit();
  return sum;
}

TEST(Series, ObservationsLeaveOutTheMissing) {
  const std::vector<double> values = {1, kMissing, 3};
  const auto there = observations(values);
  ASSERT_EQ(there.size(), 2U);
  EXPECT_EQ(there[1].time, 2);
  EXPECT_EQ(there[1].value, 3);
}

TEST(Series, MedianOfEvenAndOdd) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

TEST(Series, ConstantTakesRoundingAndMissingValues) {
  EXPECT_TRUE(constant(std::vector<double>{}));
  EXPECT_TRUE(constant(std::vector<double>{kMissing}));
  EXPECT_TRUE(constant(std::vector<double>{0, 0, 0}));
  EXPECT_TRUE(constant(std::vector<double>{0.1 + 0.2, kMissing, 0.3}));
  EXPECT_FALSE(constant(std::vector<double>{1, 1 + 1e-9}));
  EXPECT_FALSE(constant(std::vector<double>{-1, 1}));
}

TEST(Series, KpssOfAKnownSeries) {
  // 1, 2, 3, 4, 5: residuals -2..2, partial sums -2, -3, -3, -2, 0: squares 26. Window 4 * (5/100)^.25 = 1: products of lag 1 are
  // 2, 0, 0, 2, weighted 2 * 1/2. 26 / (5 * (10 + 4)).
  EXPECT_NEAR(kpss(std::vector<double>{1, 2, 3, 4, 5}), 26.0 / 70.0, 1e-12);
  EXPECT_EQ(kpss(std::vector<double>{1, 2, 3}), 0);
  EXPECT_EQ(kpss(std::vector<double>{5, 5, 5, 5, 5}), 0);
}

TEST(Series, DifferencesByKind) {
  Rng rng(20);
  SCOPED_TRACE("seed 20");
  std::vector<double> level;
  std::vector<double> walk;
  std::vector<double> twice;
  double position = 0;
  double speed = 0;
  double place = 0;
  for (int i = 0; i < 200; ++i) {
    level.push_back(10 + noise(rng));
    position += noise(rng);
    walk.push_back(position);
    speed += noise(rng);
    place += speed;
    twice.push_back(place);
  }
  EXPECT_EQ(differences_needed(level, 2), 0U);
  EXPECT_EQ(differences_needed(walk, 2), 1U);
  EXPECT_EQ(differences_needed(twice, 2), 2U);
  EXPECT_EQ(differences_needed(twice, 1), 1U);
  EXPECT_EQ(differences_needed(std::vector<double>(50, 3.0), 2), 0U);
}

TEST(Season, FoundInEveryPhaseAndLength) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    for (const unsigned period : {2U, 3U, 7U, 8U, 24U}) {
      SCOPED_TRACE(period);
      std::vector<double> phases;
      phases.reserve(period);
      for (unsigned i = 0; i < period; ++i) phases.push_back(10 + 10 * rng.unit());
      phases[rng.below(period)] += 60;
      std::vector<double> values;
      values.reserve(6 * period + 3);
      for (unsigned i = 0; i < 6 * period + 3; ++i) {
        values.push_back(phases[i % period] + 0.02 * noise(rng) + 0.05 * static_cast<double>(i));
      }
      const auto season = find_season(values);
      ASSERT_TRUE(season);
      EXPECT_EQ(season->period, period);
      EXPECT_GT(season->strength, 0.9);
    }
  }
}

TEST(Season, OnePhaseThatGrows) {
  Rng rng(4);
  SCOPED_TRACE("seed 4");
  std::vector<double> values;
  values.reserve(72);
  for (int i = 0; i < 72; ++i) values.push_back((i % 8 == 7 ? 100 + 5 * i : 10) + 0.1 * noise(rng));
  const auto season = find_season(values);
  ASSERT_TRUE(season);
  EXPECT_EQ(season->period, 8U);
}

TEST(Season, NotFoundInNoiseLinesConstantsAndShortSeries) {
  unsigned found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    std::vector<double> values;
    values.reserve(72);
    for (int i = 0; i < 72; ++i) values.push_back(noise(rng));
    found += find_season(values) ? 1U : 0U;
  }
  EXPECT_LE(found, 4U) << "of 200 series of noise";
  std::vector<double> line;
  line.reserve(60);
  for (int i = 0; i < 60; ++i) line.push_back(i);
  EXPECT_FALSE(find_season(line));
  EXPECT_FALSE(find_season(std::vector<double>(60, 4.0)));
  EXPECT_FALSE(find_season(std::vector<double>{1, 2, 1, 2}));
  EXPECT_FALSE(find_season(std::vector<double>{}));
}

TEST(Season, MissingValuesDoNotHideIt) {
  std::vector<double> values;
  values.reserve(60);
  for (int i = 0; i < 60; ++i) values.push_back(i % 7 == 3 ? kMissing : (i % 5 == 0 ? 50 : 5));
  const auto season = find_season(values);
  ASSERT_TRUE(season);
  EXPECT_EQ(season->period, 5U);
}

}  // namespace
}  // namespace iez::forecast
