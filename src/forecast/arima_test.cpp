#include "forecast/arima.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "forecast/dense_normal_test_support.hpp"
#include "forecast/difference.hpp"
#include "forecast/golden_test_support.hpp"

namespace iez::forecast {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class GoldenLikelihood : public testing::TestWithParam<std::size_t> {};

TEST_P(GoldenLikelihood, AtFixedParameters) {
  const GoldenFit golden(GetParam());
  SCOPED_TRACE(golden.name);
  ASSERT_THAT(golden.values, SizeIs(golden.json.at("n").get<std::size_t>()));
  const auto found = log_likelihood(golden.values, golden.order, golden.fixed());
  ASSERT_EQ(found.has_value(), !golden.degenerate()) << "rounded to an autoregression of 1, one is not stationary";
  if (!found) return;
  EXPECT_EQ(found->observations, golden.json.at("nobs_used").get<unsigned>());
  EXPECT_NEAR(found->log_likelihood, golden.json.at("mvn_fixed_loglik").get<double>(), 1e-8);
  EXPECT_NEAR(found->sigma2 / golden.json.at("mvn_fixed_sigma2").get<double>(), 1, 1e-8);
}

INSTANTIATE_TEST_SUITE_P(Arima, GoldenLikelihood, testing::Range<std::size_t>(0, kGoldenFits));

TEST(LogLikelihood, WhiteNoiseByHand) {
  // Around 2: squares 1 + 1 + 4 = 6, sigma2 = 2.
  const auto found = log_likelihood(std::vector{3.0, 1.0, 4.0}, {}, {.mean = 2});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->sigma2, 2, 1e-14);
  EXPECT_NEAR(found->log_likelihood, -1.5 * (std::log(4 * std::numbers::pi) + 1), 1e-13);
}

TEST(LogLikelihood, RandomWalkWithAGapByHand) {
  // Differences 1, and 3 over two steps: squares 1 + 9 / 2, determinant 2, two observations.
  const auto found = log_likelihood(std::vector{5.0, 6.0, kNan, 9.0}, {.d = 1}, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->observations, 2U);
  EXPECT_NEAR(found->sigma2, 2.75, 1e-13);
  EXPECT_NEAR(found->log_likelihood, -(std::log(2 * std::numbers::pi * 2.75) + 1) - 0.5 * std::log(2), 1e-13);
}

TEST(LogLikelihood, MissingValuesAtBothEndsDoNotCount) {
  const ArimaOrder order{.p = 1, .d = 1, .q = 1};
  const ArimaParameters parameters{.ar = {0.4}, .ma = {-0.7}};
  const std::vector<double> inner{1, 3, 2, 5, 4, 4, 7};
  std::vector<double> padded{kNan, kNan, 1, 3, 2, 5, 4, 4, 7, kInfinity};
  const auto expected = log_likelihood(inner, order, parameters);
  const auto found = log_likelihood(padded, order, parameters);
  ASSERT_TRUE(expected && found);
  EXPECT_EQ(found->observations, expected->observations);
  EXPECT_NEAR(found->log_likelihood, expected->log_likelihood, 1e-10);
}

TEST(LogLikelihood, ScalesWithTheUnits) {
  const std::vector<double> values{1, 3, 2, 5, 4, 4, 7};
  const ArimaParameters parameters{.ar = {0.4}};
  const auto base = log_likelihood(values, {.p = 1, .d = 1}, parameters);
  ASSERT_TRUE(base);
  for (const double unit : {1e-150, 1e-6, 1e12, 1e150}) {
    std::vector<double> scaled(values);
    for (double& v : scaled) v *= unit;
    const auto found = log_likelihood(scaled, {.p = 1, .d = 1}, parameters);
    ASSERT_TRUE(found) << unit;
    EXPECT_NEAR(found->log_likelihood, base->log_likelihood - 6 * std::log(unit), 1e-9);
    EXPECT_NEAR(found->sigma2 / unit / unit, base->sigma2, 1e-12);
  }
}

TEST(LogLikelihood, NoneWhereThereIsNone) {
  const std::vector<double> values{1, 3, 2, 5};
  EXPECT_FALSE(log_likelihood(values, {.p = 1}, {})) << "too few parameters";
  EXPECT_FALSE(log_likelihood(values, {}, {.ma = {0.5}})) << "too many";
  EXPECT_FALSE(log_likelihood(values, {.p = 1}, {.ar = {1.0}})) << "not stationary";
  EXPECT_FALSE(log_likelihood(values, {.p = 1}, {.ar = {kNan}}));
  EXPECT_FALSE(log_likelihood(values, {}, {.mean = kInfinity}));
  EXPECT_FALSE(log_likelihood(values, {.d = 4}, {})) << "nothing left";
  EXPECT_FALSE(log_likelihood({}, {}, {}));
  EXPECT_FALSE(log_likelihood(std::vector(5, kNan), {}, {}));
  EXPECT_FALSE(log_likelihood(std::vector(5, 0.0), {}, {})) << "no variance";
  EXPECT_FALSE(log_likelihood(std::vector(5, 7.0), {.d = 1}, {})) << "no variance";
  EXPECT_FALSE(log_likelihood(values, {.sd = 1}, {})) << "no period";
  EXPECT_FALSE(log_likelihood(values, {.sd = 1, .period = 1}, {}));
  EXPECT_FALSE(log_likelihood(values, {.sd = 1, .period = 1'000'000}, {})) << "over the limit";
  EXPECT_FALSE(log_likelihood(values, {.sp = 4'000'000'000U, .period = 4'000'000'000U}, {}));
  EXPECT_FALSE(log_likelihood(std::vector{1.0, kNan, 2.0, kNan}, {.sd = 1, .period = 2}, {})) << "a season never seen";
}

ArimaFit fixed_model(const ArimaOrder& order, const ArimaParameters& parameters, double sigma2) {
  ArimaFit fit{.order = order};
  fit.parameters = parameters;
  fit.sigma2 = sigma2;
  return fit;
}

TEST(Predict, RandomWalk) {
  const auto predicted = predict(std::vector{1.0, 4.0, 2.0}, fixed_model({.d = 1}, {}, 9), 3);
  ASSERT_THAT(predicted, SizeIs(3));
  for (std::size_t h = 0; h < 3; ++h) {
    EXPECT_NEAR(predicted[h].mean, 2, 1e-14);
    EXPECT_NEAR(predicted[h].variance, 9 * static_cast<double>(h + 1), 1e-12);
  }
}

TEST(Predict, StraightLineAndSeasons) {
  const auto line = predict(std::vector{1.0, 3.0, 5.0}, fixed_model({.d = 2}, {}, 1), 2);
  ASSERT_THAT(line, SizeIs(2));
  EXPECT_NEAR(line[0].mean, 7, 1e-12);
  EXPECT_NEAR(line[1].mean, 9, 1e-12);
  EXPECT_NEAR(line[1].variance, 1 + 4, 1e-12);
  const auto seasons = predict(std::vector{1.0, 2.0, 3.0, 4.0, kNan, 6.0}, fixed_model({.sd = 1, .period = 3}, {}, 1), 4);
  ASSERT_THAT(seasons, SizeIs(4));
  EXPECT_NEAR(seasons[0].mean, 4, 1e-12);
  EXPECT_NEAR(seasons[1].mean, 2, 1e-12);
  EXPECT_NEAR(seasons[1].variance, 2, 1e-12);
  EXPECT_NEAR(seasons[3].variance, 2, 1e-12);
}

TEST(Predict, FirstOrderAutoregressionAroundItsMean) {
  const auto predicted = predict(std::vector{9.0, 14.0}, fixed_model({.p = 1}, {.ar = {0.5}, .mean = 10}, 3), 2);
  ASSERT_THAT(predicted, SizeIs(2));
  EXPECT_NEAR(predicted[0].mean, 12, 1e-12);
  EXPECT_NEAR(predicted[0].variance, 3, 1e-12);
  EXPECT_NEAR(predicted[1].mean, 11, 1e-12);
  EXPECT_NEAR(predicted[1].variance, 3 * 1.25, 1e-12);
}

TEST(Predict, MovingAverageKnowsOnlyWhatItSaw) {
  // One value x of MA(1): the best forecast is theta / (1 + theta^2) x, not theta x.
  const auto predicted = predict(std::vector{2.0}, fixed_model({.q = 1}, {.ma = {0.5}}, 1), 2);
  ASSERT_THAT(predicted, SizeIs(2));
  EXPECT_NEAR(predicted[0].mean, 0.8, 1e-14);
  EXPECT_NEAR(predicted[0].variance, 1.25 - 0.25 / 1.25, 1e-14);
  EXPECT_NEAR(predicted[1].mean, 0, 1e-14);
  EXPECT_NEAR(predicted[1].variance, 1.25, 1e-14);
}

TEST(Predict, AgreesWithADenseNormal) {
  constexpr std::uint64_t kSeed = 9;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    const ArimaOrder order = random_order(rng);
    const auto parameters = random_parameters(rng, order);
    auto values = random_values(rng, difference_loss(order) + 12 + rng.below(20));
    std::size_t gaps = 0;
    for (std::size_t t = difference_loss(order); t < values.size(); ++t) {
      if (!rng.chance(0.1)) continue;
      values[t] = kNan;
      ++gaps;
    }
    constexpr unsigned kHorizon = 6;
    const auto found = predict(values, fixed_model(order, parameters, 2.5), kHorizon);
    ASSERT_THAT(found, SizeIs(kHorizon));
    values.insert(values.end(), kHorizon, kNan);
    const auto expected = dense_normal(values, order, parameters);
    for (std::size_t h = 0; h < kHorizon; ++h) {
      const Predicted& wanted = expected.missing.at(gaps + h);
      EXPECT_NEAR(found[h].mean, wanted.mean, 1e-6 * std::sqrt(wanted.variance)) << h;
      EXPECT_NEAR(found[h].variance / wanted.variance, 2.5, 1e-7) << h;
    }
  }
}

TEST(Predict, EmptyWhereNothingCanBeSaid) {
  const std::vector<double> values{1, 2, 3};
  EXPECT_THAT(predict(values, fixed_model({.d = 4}, {}, 1), 2), IsEmpty());
  EXPECT_THAT(predict(values, fixed_model({.p = 1}, {.ar = {1.0}}, 1), 2), IsEmpty());
  EXPECT_THAT(predict(values, fixed_model({.p = 1}, {}, 1), 2), IsEmpty());
  EXPECT_THAT(predict(values, fixed_model({}, {}, kNan), 2), IsEmpty());
  EXPECT_THAT(predict(values, fixed_model({}, {}, 1), 0), IsEmpty());
  EXPECT_THAT(predict({}, fixed_model({.d = 1}, {}, 1), 1), IsEmpty());
  EXPECT_THAT(predict({}, fixed_model({}, {.mean = 3}, 1), 1), SizeIs(1));
}

TEST(OneStep, ErrorsOfARandomWalkAreItsDifferences) {
  const auto errors = one_step_errors(std::vector{1.0, 4.0, kNan, 2.0, 7.0}, fixed_model({.d = 1}, {}, 1));
  ASSERT_THAT(errors, SizeIs(5));
  EXPECT_TRUE(std::isnan(errors[0]));
  EXPECT_EQ(errors[1], 3);
  EXPECT_TRUE(std::isnan(errors[2]));
  EXPECT_EQ(errors[3], -2);
  EXPECT_EQ(errors[4], 5);
}

TEST(OneStep, IsWhatPredictSaysFromEachPrefix) {
  constexpr std::uint64_t kSeed = 10;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  const ArimaOrder order{.p = 2, .d = 1, .q = 1, .sp = 1, .sd = 1, .sq = 1, .period = 4};
  const auto fit = fixed_model(order, random_parameters(rng, order), 1.5);
  auto values = random_values(rng, 30);
  values[11] = kNan;
  const auto rolled = one_step_predictions(values, fit);
  const auto errors = one_step_errors(values, fit);
  ASSERT_THAT(rolled, SizeIs(30));
  for (std::size_t t = 0; t < values.size(); ++t) {
    const auto direct = predict(std::span(values).first(t), fit, 1);
    ASSERT_EQ(direct.empty(), t < 5) << t;
    if (direct.empty()) {
      EXPECT_TRUE(std::isnan(rolled[t].mean)) << t;
      continue;
    }
    EXPECT_DOUBLE_EQ(rolled[t].mean, direct[0].mean) << t;
    EXPECT_DOUBLE_EQ(rolled[t].variance, direct[0].variance) << t;
    if (t == 11) continue;
    EXPECT_DOUBLE_EQ(errors[t], values[t] - direct[0].mean) << t;
  }
}

}  // namespace
}  // namespace iez::forecast
