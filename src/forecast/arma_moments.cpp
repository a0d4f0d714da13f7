#include "forecast/arma_moments.hpp"

#include <algorithm>
#include <cmath>

namespace iez::forecast {
namespace {

// A partial autocorrelation nearer to 1 leaves too few digits in what is divided by 1 - r^2.
constexpr double kLeastComplement = 1e-13;

}  // namespace

bool ArmaMoments::compute(std::span<const double> phi, std::span<const double> theta, std::size_t lags) {
  const std::size_t q = theta.size();
  ma_autocovariance_.resize(q + 1);
  for (std::size_t h = 0; h <= q; ++h) {
    double sum = h == 0 ? 1.0 : theta[h - 1];
    for (std::size_t j = h; j < q; ++j) sum += theta[j] * theta[j - h];
    ma_autocovariance_[h] = sum;
  }

  psi_.resize(std::max(q + 1, lags));
  psi_[0] = 1;
  for (std::size_t k = 1; k < psi_.size(); ++k) {
    double sum = k <= q ? theta[k - 1] : 0.0;
    const std::size_t reach = std::min(k, phi.size());
    for (std::size_t j = 1; j <= reach; ++j) sum += phi[j - 1] * psi_[k - j];
    psi_[k] = sum;
  }

  cross_covariance_.resize(q + 1);
  for (std::size_t h = 0; h <= q; ++h) {
    double sum = h == 0 ? 1.0 : 0.0;
    for (std::size_t j = std::max<std::size_t>(h, 1); j <= q; ++j) sum += theta[j - 1] * psi_[j - h];
    cross_covariance_[h] = sum;
  }

  if (!autoregression(phi, lags + q)) return false;
  autocovariance_.resize(lags);
  for (std::size_t h = 0; h < lags; ++h) {
    double sum = ma_autocovariance_[0] * ar_autocovariance_[h];
    for (std::size_t k = 1; k <= q; ++k) {
      const std::size_t back = h > k ? h - k : k - h;
      sum += ma_autocovariance_[k] * (ar_autocovariance_[back] + ar_autocovariance_[h + k]);
    }
    autocovariance_[h] = sum;
  }
  return true;
}

// Fills ar_autocovariance_ for the lags below `lags`, and at least up to p.
bool ArmaMoments::autoregression(std::span<const double> phi, std::size_t lags) {
  const std::size_t p = phi.size();
  triangle_.resize((p + 1) * p);
  std::copy(phi.begin(), phi.end(), triangle_.begin() + static_cast<std::ptrdiff_t>(p * p));
  double variance = 1;
  for (std::size_t k = p; k > 0; --k) {
    const double* const row = &triangle_[k * p];
    double* const below = &triangle_[(k - 1) * p];
    const double r = row[k - 1];
    const double complement = 1 - r * r;
    if (!(complement > kLeastComplement)) return false;
    const double scale = 1 / complement;
    variance *= scale;
    for (std::size_t j = 0; j + 1 < k; ++j) below[j] = (row[j] + r * row[k - 2 - j]) * scale;
  }
  ar_autocovariance_.resize(std::max(lags, p + 1));
  ar_autocovariance_[0] = variance;
  double error = variance;
  for (std::size_t k = 1; k <= p; ++k) {
    const double r = triangle_[k * p + k - 1];
    const double* const predictor = &triangle_[(k - 1) * p];
    double sum = r * error;
    for (std::size_t j = 1; j < k; ++j) sum += predictor[j - 1] * ar_autocovariance_[k - j];
    ar_autocovariance_[k] = sum;
    error *= 1 - r * r;
  }
  for (std::size_t k = p + 1; k < lags; ++k) {
    double sum = 0;
    for (std::size_t j = 1; j <= p; ++j) sum += phi[j - 1] * ar_autocovariance_[k - j];
    ar_autocovariance_[k] = sum;
  }
  return std::isfinite(variance);
}

}  // namespace iez::forecast
