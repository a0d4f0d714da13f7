#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "forecast/arima.hpp"
#include "forecast/dense_normal_test_support.hpp"
#include "forecast/golden_test_support.hpp"

namespace iez::forecast {
namespace {

using testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> flat(const ArimaParameters& p) {
  std::vector<double> all;
  for (const auto* part : {&p.ar, &p.ma, &p.seasonal_ar, &p.seasonal_ma}) all.insert(all.end(), part->begin(), part->end());
  return all;
}

void expect_sane(const ArimaFit& fit) {
  for (const double number :
       {fit.log_likelihood, fit.sigma2, fit.aic, fit.aicc, fit.bic, fit.parameters.mean, fit.unit_root_distance}) {
    EXPECT_TRUE(std::isfinite(number));
  }
  for (const double c : flat(fit.parameters)) EXPECT_TRUE(std::isfinite(c));
  EXPECT_GT(fit.sigma2, 0);
  EXPECT_GE(fit.unit_root_distance, 0);
  EXPECT_LE(fit.unit_root_distance, 1);
  EXPECT_GT(fit.evaluations, 0U);
}

class GoldenFits : public testing::TestWithParam<std::size_t> {};

TEST_P(GoldenFits, ReachTheMaximum) {
  const GoldenFit golden(GetParam());
  SCOPED_TRACE(golden.name);
  const auto fit = fit_arima(golden.values, golden.order);
  ASSERT_TRUE(fit);
  expect_sane(*fit);
  if (golden.degenerate()) return;
  EXPECT_TRUE(fit->converged);
  EXPECT_EQ(fit->observations, golden.json.at("nobs_used").get<unsigned>());
  const double maximum = golden.json.at("mvn_opt_loglik").get<double>();
  EXPECT_GE(fit->log_likelihood, maximum - 1e-5);
  EXPECT_LE(fit->log_likelihood, maximum + 1e-4) << "above what 40 starts found";
  const auto again = log_likelihood(golden.values, golden.order, fit->parameters);
  ASSERT_TRUE(again);
  EXPECT_NEAR(again->log_likelihood, fit->log_likelihood, 1e-7) << "the parameters belong to the likelihood";
  EXPECT_NEAR(again->sigma2 / fit->sigma2, 1, 1e-8);
  const bool near_unit_root = golden.json.at("near_unit_root").get<bool>();
  EXPECT_EQ(fit->unit_root_distance < 0.02, near_unit_root) << fit->unit_root_distance;
}

TEST_P(GoldenFits, GiveTheCoefficientsAndForecasts) {
  const GoldenFit golden(GetParam());
  if (!golden.strict()) return;  // on the boundary, or several maxima
  SCOPED_TRACE(golden.name);
  const auto fit = fit_arima(golden.values, golden.order);
  ASSERT_TRUE(fit);
  for (const auto& [name, value] : golden.json.at("coef").items()) {
    double mine = fit->parameters.mean;
    double tolerance = 1e-4 * std::abs(mine);
    const auto pick = [&](const char* prefix, const std::vector<double>& from) {
      if (!name.starts_with(prefix)) return;
      mine = from.at(std::stoul(name.substr(std::string(prefix).size())) - 1);
      tolerance = 2e-3;
    };
    pick("ar", fit->parameters.ar);
    pick("ma", fit->parameters.ma);
    pick("sar", fit->parameters.seasonal_ar);
    pick("sma", fit->parameters.seasonal_ma);
    EXPECT_NEAR(mine, value.get<double>(), tolerance) << name;
  }
  EXPECT_NEAR(fit->sigma2 / golden.json.at("sigma2").get<double>(), 1, 1e-3);
  // R's prior of finite variance shows where anything is differenced.
  const double slack = golden.differenced() ? 5e-3 : 1e-5;
  EXPECT_NEAR(fit->aic, golden.json.at("aic").get<double>(), 2 * slack);
  EXPECT_NEAR(fit->aicc, golden.json.at("aicc").get<double>(), 2 * slack);
  EXPECT_NEAR(fit->bic, golden.json.at("bic").get<double>(), 2 * slack);
  const auto predicted = predict(golden.values, *fit, 3);
  ASSERT_THAT(predicted, SizeIs(3));
  for (std::size_t h = 0; h < 3; ++h) {
    const double error = golden.json.at("forecast3_se").at(h).get<double>();
    EXPECT_NEAR(predicted[h].mean, golden.json.at("forecast3").at(h).get<double>(), slack * error + 2e-4 * error) << h;
    EXPECT_NEAR(std::sqrt(predicted[h].variance) / error, 1, slack + 2e-4) << h;
  }
}

INSTANTIATE_TEST_SUITE_P(Arima, GoldenFits, testing::Range<std::size_t>(0, kGoldenFits));

TEST(FitArima, MeanAloneIsTheMean) {
  const auto fit = fit_arima(std::vector{3.0, 1.0, 4.0, 8.0}, {});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->parameters.mean, 4, 1e-12);
  EXPECT_NEAR(fit->sigma2, 26.0 / 4, 1e-12);
  EXPECT_TRUE(fit->converged);
  EXPECT_EQ(fit->unit_root_distance, 1);
  const auto without = fit_arima(std::vector{3.0, 1.0, 4.0, 8.0}, {}, {.mean = false});
  ASSERT_TRUE(without);
  EXPECT_EQ(without->parameters.mean, 0);
  EXPECT_NEAR(without->sigma2, 90.0 / 4, 1e-12);
}

TEST(FitArima, IsAMaximum) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  const auto values = random_values(rng, 80);
  const ArimaOrder order{.p = 2, .q = 1, .sp = 1, .period = 5};
  const auto fit = fit_arima(values, order);
  ASSERT_TRUE(fit);
  for (int round = 0; round < 200; ++round) {
    ArimaParameters near = fit->parameters;
    for (auto* part : {&near.ar, &near.ma, &near.seasonal_ar}) {
      for (double& c : *part) c += 0.02 * random_normal(rng);
    }
    near.mean += 0.1 * random_normal(rng);
    const auto other = log_likelihood(values, order, near);
    if (!other) continue;
    EXPECT_LT(other->log_likelihood, fit->log_likelihood + 1e-6);
  }
}

TEST(FitArima, FollowsTheUnits) {
  constexpr std::uint64_t kSeed = 12;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (const ArimaOrder& order : {ArimaOrder{.p = 1}, ArimaOrder{.p = 2, .q = 1}, ArimaOrder{.d = 1, .q = 1},
                                  ArimaOrder{.p = 1, .d = 2, .q = 1, .sq = 1, .period = 3}}) {
    for (const bool gaps : {false, true}) {
      auto values = random_values(rng, 60);
      if (gaps) values[20] = values[33] = kNan;
      const auto base = fit_arima(values, order);
      ASSERT_TRUE(base);
      for (const double unit : {1e-6, 1e12, 1e100, -1.0}) {
        std::vector<double> scaled(values);
        for (double& v : scaled) v *= unit;
        const auto fit = fit_arima(scaled, order);
        ASSERT_TRUE(fit) << unit;
        EXPECT_NEAR(fit->sigma2 / unit / unit / base->sigma2, 1, 1e-5);
        EXPECT_NEAR(fit->parameters.mean / unit, base->parameters.mean, 1e-3);
        EXPECT_NEAR(fit->log_likelihood + base->observations * std::log(std::abs(unit)), base->log_likelihood, 1e-5);
        const auto mine = flat(fit->parameters);
        const auto wanted = flat(base->parameters);
        for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_NEAR(mine[i], wanted[i], 2e-3) << i;
      }
    }
  }
}

TEST(FitArima, FindsTheParametersThatMadeTheSeries) {
  constexpr std::uint64_t kSeed = 13;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  std::vector<double> values{0};
  double last = 0;
  for (int t = 0; t < 3000; ++t) {
    const double e = 2 * random_normal(rng);
    values.push_back(0.6 * values.back() + e + 0.3 * last);
    last = e;
  }
  for (double& v : values) v += 100;
  for (std::size_t t = 10; t < values.size(); t += 10) values[t] = kNan;
  const auto fit = fit_arima(values, {.p = 1, .q = 1}, {.starts = 1});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->parameters.ar[0], 0.6, 0.06);
  EXPECT_NEAR(fit->parameters.ma[0], 0.3, 0.06);
  EXPECT_NEAR(fit->parameters.mean, 100, 0.5);
  EXPECT_NEAR(fit->sigma2, 4, 0.3);
  EXPECT_EQ(fit->observations, 2701U);
}

TEST(FitArima, MoreStartsAreNeverWorse) {
  const auto values = golden_trace("ckpt_mix");
  ASSERT_THAT(values, SizeIs(96));
  for (const ArimaOrder& order : {ArimaOrder{.p = 2, .d = 1, .q = 2}, ArimaOrder{.p = 3, .q = 3}, ArimaOrder{.d = 2, .q = 4}}) {
    double last = -std::numeric_limits<double>::infinity();
    for (const unsigned starts : {0U, 1U, 2U, 4U, 8U}) {
      const auto fit = fit_arima(values, order, {.starts = starts});
      ASSERT_TRUE(fit);
      EXPECT_GE(fit->log_likelihood, last);
      last = fit->log_likelihood;
    }
  }
}

TEST(FitArima, EveryOrderOfTheGridGivesFiniteNumbers) {
  for (const char* name : {"hacc", "ar2_noisy", "short8_hacc", "rank3_only", "files_race_order"}) {
    const auto values = golden_trace(name);
    ASSERT_FALSE(values.empty()) << name;
    unsigned fitted = 0;
    for (unsigned p = 0; p <= 5; ++p) {
      for (unsigned d = 0; d <= 5; ++d) {
        for (unsigned q = 0; q <= 5; ++q) {
          SCOPED_TRACE(testing::Message() << name << ' ' << p << ',' << d << ',' << q);
          const auto fit = fit_arima(values, {.p = p, .d = d, .q = q}, {.starts = 1, .max_iterations = 20});
          const unsigned estimated = p + q + (d == 0 ? 1 : 0) + 1;
          ASSERT_EQ(fit.has_value(), values.size() >= d + estimated + 2);
          if (!fit) continue;
          ++fitted;
          expect_sane(*fit);
          for (const Predicted& next : predict(values, *fit, 4)) {
            EXPECT_TRUE(std::isfinite(next.mean));
            EXPECT_GE(next.variance, fit->sigma2 * (1 - 1e-9));
          }
        }
      }
    }
    EXPECT_GT(fitted, 10U) << name;
  }
}

TEST(FitArima, NoneForDegenerateSeries) {
  for (const ArimaOrder& order : {ArimaOrder{}, ArimaOrder{.p = 1}, ArimaOrder{.d = 1}, ArimaOrder{.p = 2, .d = 1, .q = 2},
                                  ArimaOrder{.q = 1, .sd = 1, .sq = 1, .period = 4}}) {
    EXPECT_FALSE(fit_arima({}, order));
    EXPECT_FALSE(fit_arima(std::vector{1.0}, order));
    EXPECT_FALSE(fit_arima(std::vector(40, kNan), order));
    EXPECT_FALSE(fit_arima(std::vector(40, std::numeric_limits<double>::infinity()), order));
    EXPECT_FALSE(fit_arima(std::vector(40, 0.0), order));
    EXPECT_FALSE(fit_arima(std::vector(40, 1073741824.0), order));
  }
  std::vector<double> line;
  std::vector<double> cycle;
  for (int t = 0; t < 40; ++t) {
    line.push_back(5 + 0.1 * t);
    cycle.push_back(t % 4);
  }
  EXPECT_FALSE(fit_arima(line, {.p = 1, .d = 1})) << "constant once differenced";
  EXPECT_FALSE(fit_arima(line, {.d = 2, .q = 1}));
  EXPECT_FALSE(fit_arima(cycle, {.sd = 1, .sq = 1, .period = 4}));
  EXPECT_FALSE(fit_arima(line, {.sd = 1, .period = 0})) << "no period";
  EXPECT_FALSE(fit_arima(line, {.p = 4'000'000'000U}));
}

TEST(FitArima, HardSeriesGiveFiniteNumbersOrNone) {
  constexpr std::uint64_t kSeed = 14;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  std::vector<std::vector<double>> hard(9, std::vector<double>(30, 0.0));
  for (std::size_t t = 0; t < 30; ++t) {
    const auto x = static_cast<double>(t);
    hard[0][t] = t == 15 ? 1 : 0;                           // one impulse
    hard[1][t] = t < 15 ? 0 : 1;                            // one step
    hard[2][t] = std::pow(-1.0, x);                         // alternating
    hard[3][t] = std::pow(2.0, x);                          // exploding
    hard[4][t] = std::sin(x);                               // no noise at all
    hard[5][t] = 1e15 + static_cast<double>(rng.below(2));  // nearly all digits are in the mean
    hard[6][t] = 1e-300 * rng.unit();
    hard[7][t] = 1e300 * (rng.unit() - 0.5);
    hard[8][t] = t % 2 == 0 ? rng.unit() : kNan;
  }
  for (std::size_t i = 0; i < hard.size(); ++i) {
    for (const ArimaOrder& order :
         {ArimaOrder{.p = 1}, ArimaOrder{.p = 2, .q = 2}, ArimaOrder{.p = 3, .d = 1, .q = 1}, ArimaOrder{.p = 1, .d = 2, .q = 3},
          ArimaOrder{.p = 1, .sp = 1, .sd = 1, .sq = 1, .period = 4}}) {
      SCOPED_TRACE(testing::Message() << "series " << i << " p " << order.p << " d " << order.d);
      const auto fit = fit_arima(hard[i], order, {.starts = 3});
      if (fit) expect_sane(*fit);
    }
  }
}

TEST(FitArima, GapsCostLittleInformation) {
  const auto values = golden_column("series_Nile.csv", 1);
  auto gapped = values;
  for (const std::size_t t : {5U, 40U, 41U, 77U}) gapped[t] = kNan;
  const ArimaOrder order{.p = 1, .d = 1, .q = 1};
  const auto whole = fit_arima(values, order);
  const auto part = fit_arima(gapped, order);
  ASSERT_TRUE(whole && part);
  EXPECT_TRUE(part->converged);
  EXPECT_EQ(part->observations, 95U);
  EXPECT_NEAR(part->parameters.ar[0], whole->parameters.ar[0], 0.1);
  EXPECT_NEAR(part->parameters.ma[0], whole->parameters.ma[0], 0.1);
  EXPECT_NEAR(dense_normal(gapped, order, part->parameters).log_likelihood, part->log_likelihood, 1e-7);
}

}  // namespace
}  // namespace iez::forecast
