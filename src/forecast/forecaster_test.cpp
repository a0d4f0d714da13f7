#include "forecast/forecaster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "forecast/backtest.hpp"

namespace iez::forecast {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double noise(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.unit();
  return sum;
}

std::vector<double> checkpoints(Rng& rng, std::size_t count) {
  std::vector<double> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(i % 8 == 7 ? 9e9 + 3e7 * static_cast<double>(i) + 1e7 * noise(rng) : 5.4e8 + 5e6 * noise(rng));
  }
  return values;
}

void expect_sound(const SeriesForecast& forecast, std::size_t horizon) {
  ASSERT_EQ(forecast.mean.size(), horizon);
  ASSERT_EQ(forecast.spread.size(), horizon);
  for (std::size_t i = 0; i < horizon; ++i) {
    EXPECT_TRUE(std::isfinite(forecast.mean[i]));
    EXPECT_TRUE(std::isfinite(forecast.spread[i]));
    EXPECT_GE(forecast.spread[i], 0);
    if (forecast.nonnegative) {
      EXPECT_GE(forecast.mean[i], 0);
    }
    for (const double probability : {0.001, 0.1, 0.5, 0.9, 0.999}) {
      EXPECT_TRUE(std::isfinite(forecast.quantile(i, probability)));
      if (forecast.nonnegative) {
        EXPECT_GE(forecast.quantile(i, probability), 0);
      }
    }
    EXPECT_LE(forecast.quantile(i, 0.1), forecast.quantile(i, 0.9));
  }
}

TEST(Forecaster, AConstantIsThatConstant) {
  for (const double value : {0.0, 1.0, 1073741824.0, 1e-300, 1e300}) {
    for (const std::size_t count : {1U, 2U, 9U, 72U}) {
      const auto forecast = forecast_series(std::vector<double>(count, value), {.horizon = 3});
      ASSERT_TRUE(forecast);
      EXPECT_THAT(forecast->mean, Each(value));
      EXPECT_THAT(forecast->spread, Each(0));
      EXPECT_EQ(forecast->quantile(0, 0.99), value);
      EXPECT_EQ(describe(*forecast), "constant");
    }
  }
}

TEST(Forecaster, FewValuesAreTheirMedianOrALine) {
  EXPECT_EQ(forecast_series(std::vector<double>{5, 7, 6, 5, 6})->mean[0], 6);
  const auto line = forecast_series(std::vector<double>{10, 20, 30.5, 40, 50}, {.horizon = 2});
  EXPECT_NEAR(line->mean[0], 60, 0.5);
  EXPECT_NEAR(line->mean[1], 70, 0.7);
  EXPECT_EQ(forecast_series(std::vector<double>{3, 4})->mean[0], 4);
}

TEST(Forecaster, FindsThePeriodOfCheckpoints) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto values = checkpoints(rng, 96);
    const auto forecast = forecast_series(values, {.horizon = 8});
    ASSERT_TRUE(forecast);
    ASSERT_TRUE(forecast->season);
    EXPECT_EQ(forecast->season->period, 8U);
    EXPECT_NEAR(forecast->mean[7] / (9e9 + 3e7 * 103), 1, 0.02);
    EXPECT_NEAR(forecast->mean[0] / 5.4e8, 1, 0.02);
    expect_sound(*forecast, 8);
  }
}

TEST(Forecaster, AModelWinsWhereThereIsSomethingToModel) {
  Rng rng(7);
  SCOPED_TRACE("seed 7");
  std::vector<double> values{10, 10};
  while (values.size() < 160)
    values.push_back(10 + 1.2 * (values.end()[-1] - 10) - 0.8 * (values.end()[-2] - 10) + 0.3 * noise(rng));
  const auto forecast = forecast_series(values);
  ASSERT_TRUE(forecast);
  EXPECT_EQ(forecast->method, Method::arima);
  EXPECT_NEAR(forecast->mean[0], 10 + 1.2 * (values.end()[-1] - 10) - 0.8 * (values.end()[-2] - 10), 0.2);
  EXPECT_NEAR(forecast->spread[0], 0.3, 0.1);
  ASSERT_GE(forecast->candidates.size(), 2U);
  EXPECT_LT(*forecast->candidates[0].error, *forecast->candidates[1].error);
}

TEST(Forecaster, ScaleDoesNotMatter) {
  Rng rng(8);
  SCOPED_TRACE("seed 8");
  const auto values = checkpoints(rng, 64);
  const auto plain = forecast_series(values, {.horizon = 8});
  for (const double scale : {1e-12, 1e-3, 4096.0, 1e200}) {
    std::vector<double> scaled = values;
    for (double& value : scaled) value *= scale;
    const auto forecast = forecast_series(scaled, {.horizon = 8});
    ASSERT_TRUE(forecast);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(forecast->mean[i] / scale / plain->mean[i], 1, 1e-6) << scale;
  }
}

TEST(Forecaster, AShiftShiftsASimpleForecast) {
  Rng rng(9);
  std::vector<double> values;
  values.reserve(40);
  for (int i = 0; i < 40; ++i) values.push_back(5 + noise(rng));
  std::vector<double> shifted = values;
  for (double& value : shifted) value += 1000;
  const auto a = simple_path(Simple::trend, values, 0, 3);
  const auto b = simple_path(Simple::trend, shifted, 0, 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(b[i] - a[i], 1000, 1e-9);
}

TEST(Forecaster, QuantilesHoldWhatTheyPromise) {
  unsigned below = 0;
  constexpr unsigned kSeries = 300;
  for (std::uint64_t seed = 0; seed < kSeries; ++seed) {
    Rng rng(1000 + seed);
    std::vector<double> values;
    values.reserve(30);
    for (int i = 0; i < 30; ++i) values.push_back(100 + 5 * noise(rng));
    const auto forecast = forecast_series(values);
    below += 100 + 5 * noise(rng) <= forecast->quantile(0, 0.9) ? 1U : 0U;
  }
  // 300 draws of a probability of 0.9 lie within 4 standard deviations (0.017 each); a little too safe is no fault.
  EXPECT_GE(below, 0.83 * kSeries);
  EXPECT_LE(below, 0.98 * kSeries);
}

TEST(Forecaster, MissingValuesAreNotZeros) {
  Rng rng(10);
  SCOPED_TRACE("seed 10");
  std::vector<double> values;
  values.reserve(60);
  for (int i = 0; i < 60; ++i) values.push_back(i % 9 == 4 ? kMissing : 50 + 0.5 * noise(rng));
  const auto forecast = forecast_series(values, {.horizon = 5});
  ASSERT_TRUE(forecast);
  EXPECT_EQ(forecast->missing, 7U);
  EXPECT_EQ(forecast->observations, 53U);
  for (const double value : forecast->mean) EXPECT_NEAR(value, 50, 2);
}

TEST(Forecaster, BadSeriesAreErrorsWithTheirPlace) {
  EXPECT_THAT(forecast_series(std::vector<double>{}).error().message, HasSubstr("holds no value"));
  EXPECT_THAT(forecast_series(std::vector<double>{kMissing, kMissing}).error().message, HasSubstr("holds no value"));
  EXPECT_THAT(forecast_series(std::vector<double>{1, kInfinity}).error().message, HasSubstr("value 2 is infinite"));
  const auto order = forecast_series(std::vector<double>{1, 2, 3}, {.search = Search::order, .order = {.sp = 1, .period = 1}});
  ASSERT_FALSE(order);
  EXPECT_THAT(order.error().message, HasSubstr("period of 2 or more"));
}

TEST(Forecaster, OrderAndGridAreTakenAtTheirWord) {
  Rng rng(11);
  std::vector<double> values;
  values.reserve(50);
  for (int i = 0; i < 50; ++i) values.push_back(30 + noise(rng));
  const auto order = forecast_series(values, {.search = Search::order, .order = {.p = 1, .d = 1, .q = 1}});
  ASSERT_TRUE(order);
  EXPECT_EQ(describe(*order), "ARIMA(1,1,1)");
  const auto grid = forecast_series(values, {.search = Search::grid});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->method, Method::arima);
  expect_sound(*grid, 1);
}

TEST(Forecaster, AModelThatCannotBeFittedIsSaidSo) {
  const std::vector<double> few{1, 2, 1.5};
  const auto order = forecast_series(few, {.search = Search::order, .order = {.p = 5, .d = 2, .q = 5}});
  ASSERT_TRUE(order);
  EXPECT_EQ(order->mean[0], 1.5);
  EXPECT_THAT(order->note, HasSubstr("cannot be fitted to 3 values"));
  const auto grid = forecast_series(std::vector<double>{1, 2}, {.search = Search::grid});
  ASSERT_TRUE(grid);
  EXPECT_THAT(grid->note, HasSubstr("none of 216"));
}

TEST(Forecaster, AnythingGivesSoundNumbers) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::size_t count = rng.between(1, 60);
    const double scale = std::pow(10, static_cast<double>(rng.between(0, 560)) - 280);
    const std::uint64_t kind = rng.below(6);
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
      const double t = static_cast<double>(i);
      double value = 0;
      if (kind == 0) value = noise(rng);
      if (kind == 1) value = t * t;
      if (kind == 2) value = rng.chance(0.1) ? 1e6 : 0;
      if (kind == 3) value = i % 5 == 0 ? 100 + t : 1;
      if (kind == 4) value = std::exp(std::min(t, 40.0));
      if (kind == 5) value = rng.chance(0.5) ? -1 : 1;
      values.push_back(rng.chance(0.1) ? kMissing : value * scale);
    }
    for (const bool nonnegative : {true, false}) {
      const auto forecast = forecast_series(values, {.horizon = 4, .nonnegative = nonnegative});
      if (!forecast) {
        EXPECT_THAT(values, Each(::testing::IsNan()));
        continue;
      }
      expect_sound(*forecast, 4);
    }
  }
}

TEST(Accuracy, ByMeanAndByWeight) {
  const Accuracy result = accuracy(std::vector<double>{90, 10, 5}, std::vector<double>{100, 10, 0});
  EXPECT_DOUBLE_EQ(*result.mape, 95);
  EXPECT_DOUBLE_EQ(*result.wape, 100 * (1 - 15.0 / 110));
  EXPECT_FALSE(accuracy(std::vector<double>{1}, std::vector<double>{0}).mape);
  EXPECT_FALSE(accuracy({}, {}).wape);
}

TEST(Backtest, ForecastsEachFromWhatWasBefore) {
  const std::vector<double> values{4, 4, 4, 4, 8};
  const auto test = backtest(values, 2);
  ASSERT_TRUE(test);
  EXPECT_THAT(test->said, Each(4));
  EXPECT_DOUBLE_EQ(*test->accuracy.mape, 75);
  EXPECT_FALSE(backtest(values, 5));
  EXPECT_FALSE(backtest(values, 0));
  EXPECT_FALSE(backtest({}, 1));
}

}  // namespace
}  // namespace iez::forecast
