#include "forecast/order_search.hpp"

#include <cmath>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::forecast {
namespace {

double noise(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.unit();
  return sum;
}

std::vector<double> autoregressive(std::uint64_t seed, double first, double second, std::size_t count) {
  Rng rng(seed);
  std::vector<double> values{0, 0};
  while (values.size() < count + 50) {
    values.push_back(first * values[values.size() - 1] + second * values[values.size() - 2] + noise(rng));
  }
  values.erase(values.begin(), values.begin() + 50);
  for (double& value : values) value += 20;
  return values;
}

TEST(Stepwise, FindsTheOrderOfMostSeries) {
  unsigned right = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto search = stepwise(autoregressive(seed, 0.5, -0.6, 200), {});
    ASSERT_TRUE(search.best) << "seed " << seed;
    right += search.best->order.p == 2 && search.best->order.q == 0 ? 1U : 0U;
  }
  EXPECT_GE(right, 10U) << "of 20; AICc adds a term now and then";
}

TEST(Stepwise, IsAtALocalMinimumOfAicc) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const auto values = autoregressive(seed, 0.7, 0.1, 72);
    const StepwiseOptions options;
    const auto search = stepwise(values, {}, options);
    ASSERT_TRUE(search.best);
    const ArimaOrder& best = search.best->order;
    for (unsigned p = best.p == 0 ? 0 : best.p - 1; p <= best.p + 1; ++p) {
      for (unsigned q = best.q == 0 ? 0 : best.q - 1; q <= best.q + 1; ++q) {
        const auto fit = fit_arima(values, {.p = p, .q = q}, options.fit);
        if (fit && fit->converged) {
          EXPECT_LE(search.best->aicc, fit->aicc + 1e-9) << p << "," << q;
        }
      }
    }
  }
}

TEST(Stepwise, KeepsToItsLimits) {
  const auto values = autoregressive(3, 0.5, -0.6, 100);
  const auto search = stepwise(values, {}, {.max_p = 1, .max_models = 3});
  ASSERT_TRUE(search.best);
  EXPECT_LE(search.tried, 3U);
  EXPECT_LE(search.best->order.p, 1U);
  EXPECT_LE(search.best->order.q, 1U);
}

TEST(Stepwise, KeepsTheDifferencesGiven) {
  const auto values = autoregressive(4, 0.5, -0.6, 100);
  const auto search = stepwise(values, {.d = 1, .sd = 1, .period = 4}, {.first_terms = 1, .max_models = 8});
  ASSERT_TRUE(search.best);
  EXPECT_EQ(search.best->order.d, 1U);
  EXPECT_EQ(search.best->order.sd, 1U);
  EXPECT_EQ(search.best->order.period, 4U);
}

TEST(Stepwise, NothingToFitIsNoModel) {
  EXPECT_FALSE(stepwise(std::vector<double>(30, 1.0), {}).best);
  EXPECT_FALSE(stepwise(std::vector<double>{1, 2}, {}).best);
  EXPECT_FALSE(stepwise(std::vector<double>{}, {}).best);
}

TEST(FullGrid, HasEveryOrderOnceAndTheLeastErrorFirst) {
  const auto values = autoregressive(5, 0.6, -0.4, 60);
  const GridSearch grid = full_grid(values);
  EXPECT_EQ(grid.tried, 216U);
  EXPECT_GT(grid.rows.size(), 150U);
  std::set<std::tuple<unsigned, unsigned, unsigned>> orders;
  for (std::size_t i = 0; i < grid.rows.size(); ++i) {
    const ArimaOrder& order = grid.rows[i].fit.order;
    EXPECT_TRUE(orders.emplace(order.p, order.d, order.q).second);
    EXPECT_TRUE(std::isfinite(grid.rows[i].rmse));
    if (i > 0) {
      EXPECT_LE(grid.rows[i - 1].rmse, grid.rows[i].rmse);
    }
  }
}

TEST(FullGrid, AConstantHasNoModel) { EXPECT_TRUE(full_grid(std::vector<double>(72, 5.0)).rows.empty()); }

}  // namespace
}  // namespace iez::forecast
