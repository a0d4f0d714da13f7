#include "forecast/arima_starts.hpp"

#include <algorithm>
#include <cmath>

#include "forecast/least_squares.hpp"
#include "forecast/polynomial.hpp"

namespace iez::forecast {
namespace {

constexpr double kFarthest = 0.95;
constexpr double kSpread = 0.9;
constexpr double kRidge = 1e-8;  // of the mean square; keeps the regression solvable

// Yule and Walker's predictor from `size` values.
std::vector<double> long_autoregression(std::span<const double> values, std::size_t size) {
  std::vector<double> gamma(size + 1, 0.0);
  for (std::size_t h = 0; h <= size; ++h) {
    for (std::size_t t = h; t < values.size(); ++t) gamma[h] += values[t] * values[t - h];
  }
  std::vector<double> predictor(size, 0.0);
  double error = gamma[0];
  for (std::size_t k = 0; k < size && error > 0; ++k) {
    double sum = gamma[k + 1];
    for (std::size_t j = 0; j < k; ++j) sum -= predictor[j] * gamma[k - j];
    const double r = sum / error;
    for (std::size_t i = 0; i < (k + 1) / 2; ++i) {
      const std::size_t j = k - 1 - i;
      const double low = predictor[i];
      const double high = predictor[j];
      predictor[i] = low - r * high;
      predictor[j] = high - r * low;
    }
    predictor[k] = r;
    error *= 1 - r * r;
  }
  return predictor;
}

// The partial autocorrelations of a stable polynomial near to this one.
void append_stable(std::span<const double> coefficients, double sign, std::vector<double>& point) {
  std::vector<double> partial(coefficients.size());
  double shrink = 1;
  bool stable = false;
  for (int attempt = 0; attempt < 60 && !stable; ++attempt) {
    double power = sign;
    for (std::size_t k = 0; k < partial.size(); ++k) {
      power *= shrink;
      partial[k] = coefficients[k] * power;
    }
    stable = partial_from_coefficients(partial);
    shrink *= 0.95;
  }
  for (const double r : partial) point.push_back(stable && std::isfinite(r) ? std::clamp(r, -kFarthest, kFarthest) : 0.0);
}

}  // namespace

std::vector<double> regression_start(std::span<const double> values, const ArimaOrder& order) {
  const std::size_t n = values.size();
  const std::size_t count = std::size_t{order.p} + order.q + order.sp + order.sq;
  std::vector<double> point(count, 0.0);
  const std::size_t reach_back = std::max(std::size_t{order.p} + std::size_t{order.sp} * order.period,
                                          std::size_t{order.q} + std::size_t{order.sq} * order.period);
  const std::size_t longest = order.q + order.sq == 0 ? 0 : std::min(reach_back + 2, n / 4);
  const std::size_t first = longest + reach_back;
  if (count == 0 || first + count + 2 > n) return point;

  std::vector<double> innovations(n, 0.0);
  if (longest > 0) {
    const auto predictor = long_autoregression(values, longest);
    for (std::size_t t = longest; t < n; ++t) {
      double sum = values[t];
      for (std::size_t k = 0; k < longest; ++k) sum -= predictor[k] * values[t - 1 - k];
      innovations[t] = sum;
    }
  }

  // What each coefficient multiplies: a series, and how far back.
  struct Term {
    const double* series;
    std::size_t lag;
  };
  std::vector<Term> terms;
  terms.reserve(count);
  for (unsigned i = 1; i <= order.p; ++i) terms.push_back({values.data(), i});
  for (unsigned i = 1; i <= order.q; ++i) terms.push_back({innovations.data(), i});
  for (unsigned i = 1; i <= order.sp; ++i) terms.push_back({values.data(), std::size_t{i} * order.period});
  for (unsigned i = 1; i <= order.sq; ++i) terms.push_back({innovations.data(), std::size_t{i} * order.period});

  std::vector<double> normal(count * count, 0.0);
  std::vector<double> solution(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t t = first; t < n; ++t) {
      const double own = terms[i].series[t - terms[i].lag];
      solution[i] += own * values[t];
      for (std::size_t j = 0; j <= i; ++j) normal[i * count + j] += own * terms[j].series[t - terms[j].lag];
    }
  }
  double trace = 0;
  for (std::size_t i = 0; i < count; ++i) trace += normal[i * (count + 1)];
  for (std::size_t i = 0; i < count; ++i) normal[i * (count + 1)] += kRidge * trace / static_cast<double>(count);
  if (!solve_positive_definite(normal, solution)) return point;

  point.clear();
  std::span<const double> rest(solution);
  const auto take = [&](unsigned size, double sign) {
    append_stable(rest.first(size), sign, point);
    rest = rest.subspan(size);
  };
  take(order.p, 1);
  take(order.q, -1);
  take(order.sp, 1);
  take(order.sq, -1);
  return point;
}

std::vector<double> spread_start(std::size_t index, std::size_t size) {
  // The root of g^(size + 1) = g + 1 above 1; powers of 1 / g are the steps of a sequence without clusters.
  double g = 2;
  for (int i = 0; i < 40; ++i) g = std::pow(1 + g, 1 / (static_cast<double>(size) + 1));
  std::vector<double> point(size);
  double step = 1;
  for (double& r : point) {
    step /= g;
    const double position = 0.5 + step * static_cast<double>(index + 1);
    r = kSpread * (2 * (position - std::floor(position)) - 1);
  }
  return point;
}

}  // namespace iez::forecast
