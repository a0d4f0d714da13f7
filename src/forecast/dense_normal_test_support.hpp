// For tests: ARIMA likelihood, and estimates of missing values, straight from the definition, with dense matrices and nothing in
// common with the code under test.
//
// The differenced series w is normal with the Toeplitz covariance S, summed up from the weights of past innovations. Missing
// values are filled with 0 and get a regressor each: X has the differences of unit impulses in their places. Integrating the
// density of w over the missing values gives that of the observed ones: |S| |X' S^-1 X| for the determinant, the sum of squares
// of the generalised least-squares residuals. Their coefficients are the expected missing values, (X' S^-1 X)^-1 the covariance
// (Gomez, Maravall and Pena 1999). Values to come are missing ones at the end.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "forecast/arima.hpp"

namespace iez::forecast {

using Real = long double;
using Matrix = std::vector<std::vector<Real>>;

struct DenseNormal {
  double log_likelihood = 0;
  double sigma2 = 0;
  unsigned observations = 0;
  std::vector<Predicted> missing;  // in order; variances in units of that of the innovations
};

// 1 - sum c_i B^i times 1 - sum s_j B^(j period), with leading 1.
inline std::vector<Real> dense_product(std::span<const double> plain, std::span<const double> seasonal, unsigned period,
                                       Real sign) {
  std::vector<Real> a(plain.size() + 1, 0);
  std::vector<Real> b(seasonal.size() * period + 1, 0);
  a[0] = b[0] = 1;
  for (std::size_t i = 0; i < plain.size(); ++i) a[i + 1] = sign * plain[i];
  for (std::size_t j = 0; j < seasonal.size(); ++j) b[(j + 1) * period] = sign * seasonal[j];
  std::vector<Real> product(a.size() + b.size() - 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) product[i + j] += a[i] * b[j];
  }
  return product;
}

inline std::vector<Real> dense_autocovariance(const ArimaOrder& order, const ArimaParameters& parameters, std::size_t lags) {
  const auto ar = dense_product(parameters.ar, parameters.seasonal_ar, order.period, -1);
  const auto ma = dense_product(parameters.ma, parameters.seasonal_ma, order.period, 1);
  // Weights until all of the last 100 are negligible: roots near the unit circle make them last.
  std::vector<Real> psi;
  for (std::size_t k = 0, small = 0; small < 100 + lags && k < 1'000'000; ++k) {
    Real weight = k < ma.size() ? ma[k] : 0;
    for (std::size_t j = 1; j < ar.size() && j <= k; ++j) weight -= ar[j] * psi[k - j];
    psi.push_back(weight);
    small = std::abs(weight) < Real{1e-15} ? small + 1 : 0;
  }
  const std::size_t terms = psi.size() - lags;
  std::vector<Real> gamma(lags, 0);
  for (std::size_t h = 0; h < lags; ++h) {
    for (std::size_t k = 0; k < terms; ++k) gamma[h] += psi[k] * psi[k + h];
  }
  return gamma;
}

// Replaces a by its lower Cholesky factor; gives the log of its determinant.
inline Real dense_cholesky(Matrix& a) {
  Real log_determinant = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      Real sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
    log_determinant += 2 * std::log(a[i][i]);
  }
  return log_determinant;
}

inline std::vector<Real> dense_forward(const Matrix& factor, std::vector<Real> b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= factor[i][k] * b[k];
    b[i] /= factor[i][i];
  }
  return b;
}

inline std::vector<Real> dense_difference(std::vector<Real> y, const ArimaOrder& order) {
  const auto once = [](const std::vector<Real>& x, std::size_t lag) {
    std::vector<Real> result;
    for (std::size_t t = lag; t < x.size(); ++t) result.push_back(x[t] - x[t - lag]);
    return result;
  };
  for (unsigned i = 0; i < order.d; ++i) y = once(y, 1);
  for (unsigned i = 0; i < order.sd; ++i) y = once(y, order.period);
  return y;
}

inline Real dense_dot(const std::vector<Real>& a, const std::vector<Real>& b) {
  Real sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline DenseNormal dense_normal(std::span<const double> values, const ArimaOrder& order, const ArimaParameters& parameters) {
  const Real mean = order.d == 0 && order.sd == 0 ? parameters.mean : 0;
  std::vector<Real> filled;
  std::vector<std::size_t> gaps;
  for (std::size_t t = 0; t < values.size(); ++t) {
    const bool missing = std::isnan(values[t]);
    if (missing) gaps.push_back(t);
    filled.push_back(missing ? 0 : Real{values[t]} - mean);
  }
  const auto w = dense_difference(filled, order);
  const std::size_t n = w.size();
  const auto gamma = dense_autocovariance(order, parameters, n);
  Matrix factor(n, std::vector<Real>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) factor[i][j] = gamma[i > j ? i - j : j - i];
  }
  Real log_determinant = dense_cholesky(factor);
  const auto data = dense_forward(factor, w);
  std::vector<std::vector<Real>> columns;
  for (const std::size_t gap : gaps) {
    std::vector<Real> impulse(values.size(), 0);
    impulse[gap] = -1;
    columns.push_back(dense_forward(factor, dense_difference(impulse, order)));
  }
  const std::size_t k = columns.size();
  Matrix normal(k, std::vector<Real>(k));
  std::vector<Real> right(k);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) normal[i][j] = dense_dot(columns[i], columns[j]);
    right[i] = dense_dot(columns[i], data);
  }
  log_determinant += dense_cholesky(normal);
  const auto half = dense_forward(normal, right);
  const Real squares = dense_dot(data, data) - dense_dot(half, half);
  const Real count = static_cast<Real>(n - k);
  DenseNormal result{.sigma2 = static_cast<double>(squares / count), .observations = static_cast<unsigned>(n - k)};
  result.log_likelihood =
      static_cast<double>(-(count * (std::log(2 * std::numbers::pi_v<Real> * squares / count) + 1) + log_determinant) / 2);
  // Column j of the inverse of the factor gives mean and variance: (L L')^-1 = sum of its outer products.
  for (std::size_t i = 0; i < k; ++i) {
    std::vector<Real> unit(k, 0);
    unit[i] = 1;
    const auto column = dense_forward(normal, unit);
    result.missing.push_back(
        {static_cast<double>(dense_dot(column, half) + mean), static_cast<double>(dense_dot(column, column))});
  }
  return result;
}

inline double random_normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.unit();
  return sum;
}

// Stable coefficients, by Levinson's recursion from partial autocorrelations of at most `most` in size.
inline std::vector<double> random_stable(Rng& rng, unsigned size, double sign, double most) {
  std::vector<double> c;
  for (unsigned k = 0; k < size; ++k) {
    const double r = most * (2 * rng.unit() - 1);
    std::vector<double> next(k + 1);
    for (unsigned j = 0; j < k; ++j) next[j] = c[j] - r * c[k - 1 - j];
    next[k] = r;
    c = next;
  }
  for (double& v : c) v *= sign;
  return c;
}

inline ArimaParameters random_parameters(Rng& rng, const ArimaOrder& order) {
  return {.ar = random_stable(rng, order.p, 1, 0.8),
          .ma = random_stable(rng, order.q, -1, 1),
          .seasonal_ar = random_stable(rng, order.sp, 1, 0.6),
          .seasonal_ma = random_stable(rng, order.sq, -1, 1),
          .mean = order.d + order.sd == 0 ? 4 * rng.unit() - 2 : 0};
}

inline ArimaOrder random_order(Rng& rng) {
  const auto below = [&rng](std::uint64_t bound) { return static_cast<unsigned>(rng.below(bound)); };
  ArimaOrder order{.p = below(6), .d = below(3), .q = below(6)};
  if (rng.chance(0.4)) {
    order.period = 2 + below(4);
    order.sp = below(3);
    order.sd = below(2);
    order.sq = below(3);
  }
  return order;
}

// Any values do for comparing likelihoods; these wander, as differenced models expect.
inline std::vector<double> random_values(Rng& rng, std::size_t size) {
  std::vector<double> values;
  double level = 0;
  for (std::size_t t = 0; t < size; ++t) {
    level += 0.3 * random_normal(rng);
    values.push_back(level + random_normal(rng));
  }
  return values;
}

}  // namespace iez::forecast
