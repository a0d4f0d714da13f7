#include "forecast/arma_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace iez::forecast {
namespace {

// log of a product of many factors, with few logarithms.
class LogProduct {
 public:
  void multiply(double factor) {
    product_ *= factor;
    if (product_ > 1e100 || product_ < 1e-100) fold();
  }
  double value() {
    fold();
    return sum_;
  }

 private:
  void fold() {
    sum_ += std::log(product_);
    product_ = 1;
  }

  double product_ = 1;
  double sum_ = 0;
};

// f of q as a constant that the compiler knows, up to 5, the most of the full grid; of 0 for more, and for none.
template <typename F>
auto with_known_order(std::size_t q, F f) {
  switch (q) {
    case 1:
      return f(std::integral_constant<std::size_t, 1>());
    case 2:
      return f(std::integral_constant<std::size_t, 2>());
    case 3:
      return f(std::integral_constant<std::size_t, 3>());
    case 4:
      return f(std::integral_constant<std::size_t, 4>());
    case 5:
      return f(std::integral_constant<std::size_t, 5>());
    default:
      return f(std::integral_constant<std::size_t, 0>());
  }
}

}  // namespace

ArmaLikelihood::ArmaLikelihood(std::size_t n) : n_(n), variance_(n), inverse_(n), innovation_(n) {}

bool ArmaLikelihood::factor(std::span<const double> phi, std::span<const double> theta) {
  phi_.assign(phi.begin(), phi.end());
  theta_.assign(theta.begin(), theta.end());
  const std::size_t p = phi.size();
  const std::size_t q = theta.size();
  if (!moments_.compute(phi, theta, p)) return false;
  head_ = std::min(p, n_);
  band_.resize(n_ * q);
  unscaled_.resize(q);
  if (!factor_head() || !factor_tail()) return false;
  LogProduct determinant;
  for (std::size_t t = 0; t < stationary_; ++t) determinant.multiply(variance_[t]);
  log_determinant_ = determinant.value();
  return std::isfinite(log_determinant_);
}

// Schur's algorithm: column k of the Cholesky factor is the first generator, shifted and rotated so that entry k of the second
// becomes 0.
bool ArmaLikelihood::factor_head() {
  const std::size_t q = theta_.size();
  const auto gamma = moments_.autocovariance();
  head_factor_.resize(head_ * head_);
  upper_.resize(head_);
  lower_.resize(head_);
  if (head_ == 0) return true;
  const double root = std::sqrt(gamma[0]);
  for (std::size_t i = 0; i < head_; ++i) lower_[i] = upper_[i] = gamma[i] / root;
  for (std::size_t k = 0; k < head_; ++k) {
    if (k > 0) {
      for (std::size_t i = head_; --i >= k;) upper_[i] = upper_[i - 1];
      const double r = lower_[k] / upper_[k];
      const double complement = (1 - r) * (1 + r);
      if (!(complement > 0)) return false;
      const double cosine = std::sqrt(complement);
      const double scale = 1 / cosine;
      for (std::size_t i = k; i < head_; ++i) {
        upper_[i] = (upper_[i] - r * lower_[i]) * scale;
        lower_[i] = cosine * lower_[i] - r * upper_[i];
      }
    }
    variance_[k] = upper_[k] * upper_[k];
    inverse_[k] = 1 / variance_[k];
    const double unit = 1 / upper_[k];
    for (std::size_t i = k + 1; i < head_; ++i) {
      const double entry = upper_[i] * unit;
      head_factor_[i * head_ + k] = entry;
      if (i - k <= q) band_[i * q + q - (i - k)] = entry;
    }
  }
  return true;
}

// Row t of L, and its variance. Columns before x(1) are not there; those of x itself have another covariance.
double ArmaLikelihood::factor_row(std::size_t t) {
  const std::size_t q = theta_.size();
  const double* const within = moments_.ma_autocovariance().data();
  const double* const across = moments_.cross_covariance().data();
  double* const row = band_.data() + t * q;
  const std::size_t first = t < q ? q - t : 0;
  double variance = within[0];
  for (std::size_t m = first; m < q; ++m) {
    const std::size_t column = t - q + m;
    const double* const other = band_.data() + column * q + (q - m);
    double sum = column < head_ ? across[q - m] : within[q - m];
    for (std::size_t k = first; k < m; ++k) sum -= unscaled_[k] * other[k];
    unscaled_[m] = sum;
    row[m] = sum * inverse_[column];
    variance -= sum * row[m];
  }
  return variance;
}

// The rows from t on that reach back to moving averages only, until they are theta. Most of the time of a fit is spent here, and
// unrolled for a q that the compiler knows (0: it does not) it takes a fifth of the instructions.
template <std::size_t kQ>
bool ArmaLikelihood::factor_inner_rows(std::size_t t) {
  const std::size_t q = kQ > 0 ? kQ : theta_.size();
  const std::size_t enough = std::max<std::size_t>(q, 1);
  const double* const within = moments_.ma_autocovariance().data();
  std::size_t settled = 0;
  for (; t < n_ && settled < enough; ++t) {
    const double* const inverse = inverse_.data() + (t - q);
    const double* const rows = band_.data() + (t - q) * q;  // the q before
    double* const row = band_.data() + t * q;
    double* const unscaled = unscaled_.data();
    double variance = within[0];
#pragma GCC unroll 8
    for (std::size_t m = 0; m < q; ++m) {
      double sum = within[q - m];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < m; ++k) sum -= unscaled[k] * rows[m * q + (q - m) + k];
      unscaled[m] = sum;
      row[m] = sum * inverse[m];
      variance -= sum * row[m];
    }
    if (!(variance > 0)) return false;
    variance_[t] = variance;
    inverse_[t] = 1 / variance;
    settled = variance < 1 + kStationary ? settled + 1 : 0;
  }
  stationary_ = t;
  return true;
}

bool ArmaLikelihood::factor_tail() {
  const std::size_t inner = std::min(head_ + theta_.size(), n_);
  for (std::size_t t = head_; t < inner; ++t) {
    const double variance = factor_row(t);
    if (!(variance > 0)) return false;
    variance_[t] = variance;
    inverse_[t] = 1 / variance;
  }
  return with_known_order(theta_.size(), [&](auto q) { return factor_inner_rows<q>(inner); });
}

// Unrolled like the rows.
template <std::size_t kQ>
void ArmaLikelihood::subtract_moving_average(std::size_t t, std::span<double> u) {
  const std::size_t q = kQ > 0 ? kQ : theta_.size();
  double* const innovation = innovation_.data();
  for (; t < stationary_; ++t) {
    const double* const row = band_.data() + t * q;
    const double* const before = innovation + t - q;
    double sum = u[t];
#pragma GCC unroll 8
    for (std::size_t m = 0; m < q; ++m) sum -= row[m] * before[m];
    innovation[t] = sum;
  }
  const double* const theta = theta_.data();
  for (; t < n_; ++t) {
    double sum = u[t];
#pragma GCC unroll 8
    for (std::size_t k = q; k > 0; --k) sum -= theta[k - 1] * innovation[t - k];
    innovation[t] = sum;
    u[t] = sum;
  }
}

void ArmaLikelihood::whiten(std::span<const double> x, std::span<double> u) {
  const std::size_t p = phi_.size();
  const std::size_t q = theta_.size();
  double* const innovation = innovation_.data();
  for (std::size_t t = 0; t < head_; ++t) {
    double sum = x[t];
    for (std::size_t k = 0; k < t; ++k) sum -= head_factor_[t * head_ + k] * innovation[k];
    innovation[t] = sum;
  }
  std::copy(x.begin() + static_cast<std::ptrdiff_t>(head_), x.end(), u.begin() + static_cast<std::ptrdiff_t>(head_));
  for (std::size_t k = 1; k <= p; ++k) {
    const double coefficient = phi_[k - 1];
    if (coefficient == 0) continue;
    for (std::size_t t = head_; t < n_; ++t) u[t] -= coefficient * x[t - k];
  }
  const std::size_t inner = std::min(std::max(head_, q), stationary_);
  for (std::size_t t = head_; t < inner; ++t) {
    const double* const row = band_.data() + t * q;
    double sum = u[t];
    for (std::size_t m = q - std::min(t, q); m < q; ++m) sum -= row[m] * innovation[t - q + m];
    innovation[t] = sum;
  }
  with_known_order(q, [&](auto order) { subtract_moving_average<order>(inner, u); });
  for (std::size_t t = 0; t < stationary_; ++t) u[t] = innovation[t] * std::sqrt(inverse_[t]);
}

}  // namespace iez::forecast
