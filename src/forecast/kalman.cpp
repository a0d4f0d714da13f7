#include "forecast/kalman.hpp"

#include <algorithm>
#include <cmath>

namespace iez::forecast {
namespace {

// An infinite part below this share of the largest terms so far is what rounding left of 0: what one value removes is a
// difference of such terms.
constexpr double kRounding = 1e-10;

}  // namespace

bool KalmanFilter::start(std::span<const double> phi, std::span<const double> theta, std::span<const double> delta) {
  phi_.assign(phi.begin(), phi.end());
  delta_.assign(delta.begin(), delta.end());
  arma_ = std::max(phi.size(), theta.size() + 1);
  state_ = arma_ + delta.size();
  unknown_ = delta.size();
  largest_ = 0;
  observed_ = false;
  if (!moments_.compute(phi, theta, arma_)) return false;
  const auto gamma = moments_.autocovariance();
  const auto psi = moments_.psi();
  for (auto& mean : mean_) mean.assign(state_, 0.0);
  finite_gain_.assign(state_, 0.0);
  infinite_gain_.assign(delta.size(), 0.0);
  scratch_.assign(state_ * state_, 0.0);
  finite_.assign(state_ * state_, 0.0);
  // The covariance of two forecasts is that of what they forecast, less that of their errors.
  for (std::size_t lag = 0; lag < arma_; ++lag) {
    double covariance = gamma[lag];
    for (std::size_t i = 0; i + lag < arma_; ++i) {
      finite_[i * state_ + i + lag] = finite_[(i + lag) * state_ + i] = covariance;
      covariance -= psi[i] * psi[i + lag];
    }
  }
  infinite_.assign(delta.size() * delta.size(), 0.0);
  for (std::size_t i = 0; i < delta.size(); ++i) infinite_[i * delta.size() + i] = 1;
  return true;
}

KalmanFilter::Forecast KalmanFilter::forecast() {
  const std::size_t loss = delta_.size();
  Forecast result;
  for (std::size_t c = 0; c < 2; ++c) {
    result.mean[c] = mean_[c][0];
    for (std::size_t j = 0; j < loss; ++j) result.mean[c] += delta_[j] * mean_[c][arma_ + j];
  }
  for (std::size_t i = 0; i < state_; ++i) {
    const double* const row = &finite_[i * state_];
    double sum = row[0];
    for (std::size_t j = 0; j < loss; ++j) sum += delta_[j] * row[arma_ + j];
    finite_gain_[i] = sum;
  }
  result.finite = finite_gain_[0];
  for (std::size_t j = 0; j < loss; ++j) result.finite += delta_[j] * finite_gain_[arma_ + j];
  if (unknown_ == 0) return result;
  double size = 0;
  for (std::size_t i = 0; i < loss; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < loss; ++j) {
      const double term = delta_[j] * infinite_[i * loss + j];
      sum += term;
      size += std::abs(delta_[i] * term);
    }
    infinite_gain_[i] = sum;
    result.infinite += delta_[i] * sum;
  }
  largest_ = std::max(largest_, size);
  if (!(result.infinite > kRounding * largest_)) result.infinite = 0;
  return result;
}

void KalmanFilter::observe(const Forecast& forecast, const Pair& value) {
  const std::size_t loss = delta_.size();
  observed_ = true;
  value_ = value;
  if (forecast.infinite > 0) {
    const double scale = 1 / forecast.infinite;
    for (std::size_t c = 0; c < 2; ++c) {
      const double error = (value[c] - forecast.mean[c]) * scale;
      for (std::size_t i = 0; i < loss; ++i) mean_[c][arma_ + i] += infinite_gain_[i] * error;
    }
    // finite - (f g' + g f') / infinite + g g' finite / infinite^2, with the gains f and g; g has no ARMA part.
    for (std::size_t i = 0; i < loss; ++i) {
      const double gain = infinite_gain_[i] * scale;
      if (gain == 0) continue;
      const std::size_t at = arma_ + i;
      for (std::size_t j = 0; j < state_; ++j) {
        finite_[at * state_ + j] -= gain * finite_gain_[j];
        finite_[j * state_ + at] -= gain * finite_gain_[j];
      }
      for (std::size_t j = 0; j < loss; ++j) {
        finite_[at * state_ + arma_ + j] += gain * infinite_gain_[j] * scale * forecast.finite;
        infinite_[i * loss + j] -= gain * infinite_gain_[j];
      }
    }
    if (--unknown_ == 0) std::fill(infinite_.begin(), infinite_.end(), 0.0);
    return;
  }
  if (!(forecast.finite > 0)) return;
  const double scale = 1 / forecast.finite;
  for (std::size_t c = 0; c < 2; ++c) {
    const double error = (value[c] - forecast.mean[c]) * scale;
    for (std::size_t i = 0; i < state_; ++i) mean_[c][i] += finite_gain_[i] * error;
  }
  for (std::size_t i = 0; i < state_; ++i) {
    const double gain = finite_gain_[i] * scale;
    for (std::size_t j = 0; j < state_; ++j) finite_[i * state_ + j] -= gain * finite_gain_[j];
  }
}

void KalmanFilter::advance() {
  const std::size_t loss = delta_.size();
  for (std::size_t c = 0; c < 2; ++c) {
    auto& mean = mean_[c];
    double next = 0;
    for (std::size_t j = 1; j <= phi_.size(); ++j) next += phi_[j - 1] * mean[arma_ - j];
    if (loss > 0) {
      double value = mean[0];
      for (std::size_t j = 0; j < loss; ++j) value += delta_[j] * mean[arma_ + j];
      if (observed_) value = value_[c];
      for (std::size_t j = state_ - 1; j > arma_; --j) mean[j] = mean[j - 1];
      mean[arma_] = value;
    }
    for (std::size_t i = 0; i + 1 < arma_; ++i) mean[i] = mean[i + 1];
    mean[arma_ - 1] = next;
  }
  move_finite();
  if (unknown_ > 0) move_infinite();
  observed_ = false;
}

// T finite T' + psi psi': first T times the rows, into the scratch, then the same for the columns.
void KalmanFilter::move_finite() {
  const std::size_t m = state_;
  const std::size_t loss = delta_.size();
  const auto row = [&](std::size_t i) { return &finite_[i * m]; };
  const auto add_row = [m](double* to, double factor, const double* from) {
    if (factor == 0) return;
    for (std::size_t j = 0; j < m; ++j) to[j] += factor * from[j];
  };
  for (std::size_t i = 0; i + 1 < arma_; ++i) std::copy_n(row(i + 1), m, &scratch_[i * m]);
  double* const last = &scratch_[(arma_ - 1) * m];
  std::fill_n(last, m, 0.0);
  for (std::size_t j = 1; j <= phi_.size(); ++j) add_row(last, phi_[j - 1], row(arma_ - j));
  if (loss > 0) {
    double* const value = &scratch_[arma_ * m];
    if (observed_) {
      std::fill_n(value, m, 0.0);
    } else {
      std::copy_n(row(0), m, value);
      for (std::size_t j = 0; j < loss; ++j) add_row(value, delta_[j], row(arma_ + j));
    }
    for (std::size_t i = arma_ + 1; i < m; ++i) std::copy_n(row(i - 1), m, &scratch_[i * m]);
  }

  const auto psi = moments_.psi();
  for (std::size_t i = 0; i < m; ++i) {
    const double* const from = &scratch_[i * m];
    double* const to = row(i);
    double next = 0;
    for (std::size_t j = 1; j <= phi_.size(); ++j) next += phi_[j - 1] * from[arma_ - j];
    for (std::size_t j = 0; j + 1 < arma_; ++j) to[j] = from[j + 1];
    to[arma_ - 1] = next;
    if (loss > 0) {
      double value = 0;
      if (!observed_) {
        value = from[0];
        for (std::size_t j = 0; j < loss; ++j) value += delta_[j] * from[arma_ + j];
      }
      to[arma_] = value;
      for (std::size_t j = arma_ + 1; j < m; ++j) to[j] = from[j - 1];
    }
    if (i >= arma_) continue;
    for (std::size_t j = 0; j < arma_; ++j) to[j] += psi[i] * psi[j];
  }
}

void KalmanFilter::move_infinite() {
  const std::size_t loss = delta_.size();
  for (std::size_t j = 0; j < loss; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < loss && !observed_; ++k) sum += delta_[k] * infinite_[k * loss + j];
    scratch_[j] = sum;
    for (std::size_t i = 1; i < loss; ++i) scratch_[i * loss + j] = infinite_[(i - 1) * loss + j];
  }
  for (std::size_t i = 0; i < loss; ++i) {
    const double* const from = &scratch_[i * loss];
    double* const to = &infinite_[i * loss];
    double sum = 0;
    for (std::size_t k = 0; k < loss && !observed_; ++k) sum += delta_[k] * from[k];
    to[0] = sum;
    for (std::size_t j = 1; j < loss; ++j) to[j] = from[j - 1];
  }
}

}  // namespace iez::forecast
