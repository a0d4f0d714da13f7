// An ARIMA model multiplied out: what the filters work with. Internal to the module.
//
// Thread safety: pure functions on values.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "forecast/arima.hpp"
#include "forecast/arma_likelihood.hpp"
#include "forecast/kalman.hpp"

namespace iez::forecast {

struct ArimaModel {
  std::vector<double> phi;    // of degree P
  std::vector<double> theta;  // of degree Q
  std::vector<double> delta;  // of degree D
};

// Within the limits of arima.hpp; a period wherever it is needed.
[[nodiscard]] bool is_usable(const ArimaOrder& order);

// None: the order is not usable, the parameters have other sizes, or one is not finite. Stationarity is not looked at.
[[nodiscard]] std::optional<ArimaModel> expand(const ArimaOrder& order, const ArimaParameters& parameters);

// The likelihood as a sum of squares: independent residuals of data and of a regressor, and the determinant of the covariance.
// Two ways to the same: by innovations for complete series, by the Kalman filter for any.
class ArimaWhitener {
 public:
  // The values are kept, not the span. REQUIRES: is_usable(order).
  ArimaWhitener(std::span<const double> values, const ArimaOrder& order, bool constant);

  // Number of residuals that count: not 0 means that there is something to do.
  [[nodiscard]] std::size_t observations() const { return observations_; }
  [[nodiscard]] std::size_t size() const { return residual_.size(); }  // residuals, those that are always 0 included
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] double log_determinant() const { return log_determinant_; }
  [[nodiscard]] std::span<double> residual() { return residual_; }          // of the data
  [[nodiscard]] std::span<const double> regressor() { return regressor_; }  // of the constant 1; empty without
  // What is whitened: differenced if complete, the values themselves otherwise.
  [[nodiscard]] std::span<const double> data() const { return data_; }

  // False: phi is not stationary.
  [[nodiscard]] bool whiten(std::span<const double> phi, std::span<const double> theta);

 private:
  [[nodiscard]] bool whiten_gaps(std::span<const double> phi, std::span<const double> theta);

  std::vector<double> delta_;
  bool complete_;
  std::vector<double> data_;
  std::vector<double> ones_;
  std::vector<double> residual_;
  std::vector<double> regressor_;
  std::size_t observations_ = 0;
  double log_determinant_ = 0;
  ArmaLikelihood innovations_;
  KalmanFilter filter_;
};

}  // namespace iez::forecast
