// Second moments of a stationary process (1 - phi1 B - ...) x(t) = (1 + theta1 B + ...) e(t), with innovations of variance 1.
//
// Algorithm: stepping the autoregressive polynomial down gives its partial autocorrelations, and with them Levinson's recursion
// the autocovariances of the pure autoregression, without a linear system. Those of x are these, weighted with the
// autocovariances of the moving average.
//
// Complexity: O(p^2 + q^2 + lags q). Memory is kept between calls. Thread safety: none.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace iez::forecast {

class ArmaMoments {
 public:
  // Autocovariances of lags below `lags`. False: phi is not stationary, or too near to it for double precision.
  [[nodiscard]] bool compute(std::span<const double> phi, std::span<const double> theta, std::size_t lags);

  // cov(x(t), x(t + h)), h < lags.
  [[nodiscard]] std::span<const double> autocovariance() const { return autocovariance_; }
  // Of the moving average alone: h = 0..q.
  [[nodiscard]] std::span<const double> ma_autocovariance() const { return ma_autocovariance_; }
  // cov(moving average at t, x(t - h)), h = 0..q.
  [[nodiscard]] std::span<const double> cross_covariance() const { return cross_covariance_; }
  // Weights of x(t) = sum of psi_k e(t - k), k = 0..max(q, lags - 1).
  [[nodiscard]] std::span<const double> psi() const { return psi_; }

 private:
  [[nodiscard]] bool autoregression(std::span<const double> phi, std::size_t lags);

  std::vector<double> triangle_;  // row k: coefficients of the predictor from k values
  std::vector<double> ar_autocovariance_;
  std::vector<double> autocovariance_;
  std::vector<double> ma_autocovariance_;
  std::vector<double> cross_covariance_;
  std::vector<double> psi_;
};

}  // namespace iez::forecast
