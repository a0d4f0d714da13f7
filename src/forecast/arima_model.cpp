#include "forecast/arima_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "forecast/difference.hpp"
#include "forecast/polynomial.hpp"

namespace iez::forecast {
namespace {

bool is_missing(double value) { return !std::isfinite(value); }

bool all_finite(std::span<const double> values) { return std::none_of(values.begin(), values.end(), is_missing); }

}  // namespace

bool is_usable(const ArimaOrder& order) {
  if ((order.sp != 0 || order.sd != 0 || order.sq != 0) && order.period < 2) return false;
  const auto degree = [&](unsigned plain, unsigned seasonal) {
    return std::uint64_t{plain} + std::uint64_t{seasonal} * std::uint64_t{order.period};
  };
  return std::max({degree(order.p, order.sp), degree(order.d, order.sd), degree(order.q, order.sq)}) <= kMaxLag;
}

std::optional<ArimaModel> expand(const ArimaOrder& order, const ArimaParameters& parameters) {
  if (!is_usable(order)) return std::nullopt;
  if (parameters.ar.size() != order.p || parameters.ma.size() != order.q || parameters.seasonal_ar.size() != order.sp ||
      parameters.seasonal_ma.size() != order.sq) {
    return std::nullopt;
  }
  ArimaModel model;
  multiply_seasonal(parameters.ar, parameters.seasonal_ar, order.period, 1, model.phi);
  multiply_seasonal(parameters.ma, parameters.seasonal_ma, order.period, -1, model.theta);
  if (!all_finite(model.phi) || !all_finite(model.theta) || !std::isfinite(parameters.mean)) return std::nullopt;
  model.delta = difference_coefficients(order);
  return model;
}

ArimaWhitener::ArimaWhitener(std::span<const double> values, const ArimaOrder& order, bool constant)
    : delta_(difference_coefficients(order)),
      complete_(all_finite(values)),
      data_(complete_ ? difference(values, order) : std::vector<double>(values.begin(), values.end())),
      ones_(constant && complete_ ? data_.size() : 0, 1.0),
      residual_(data_.size()),
      regressor_(constant ? data_.size() : 0),
      innovations_(complete_ ? data_.size() : 0) {
  if (complete_) {
    observations_ = data_.size();
  } else {
    const auto missing = static_cast<std::size_t>(std::count_if(data_.begin(), data_.end(), is_missing));
    const std::size_t present = data_.size() - missing;
    observations_ = present > delta_.size() ? present - delta_.size() : 0;
  }
}

bool ArimaWhitener::whiten(std::span<const double> phi, std::span<const double> theta) {
  if (!complete_) return whiten_gaps(phi, theta);
  if (!innovations_.factor(phi, theta)) return false;
  log_determinant_ = innovations_.log_determinant();
  innovations_.whiten(data_, residual_);
  if (!regressor_.empty()) innovations_.whiten(ones_, regressor_);
  return true;
}

bool ArimaWhitener::whiten_gaps(std::span<const double> phi, std::span<const double> theta) {
  if (!filter_.start(phi, theta, delta_)) return false;
  log_determinant_ = 0;
  for (std::size_t t = 0; t < data_.size(); ++t) {
    double residual = 0;
    double regressor = 0;
    if (!is_missing(data_[t])) {
      const auto forecast = filter_.forecast();
      const KalmanFilter::Pair value{data_[t], 1.0};
      if (forecast.infinite > 0) {
        log_determinant_ += std::log(forecast.infinite);
      } else if (forecast.finite > 0) {
        log_determinant_ += std::log(forecast.finite);
        const double scale = 1 / std::sqrt(forecast.finite);
        residual = (value[0] - forecast.mean[0]) * scale;
        regressor = (value[1] - forecast.mean[1]) * scale;
      } else {
        return false;
      }
      filter_.observe(forecast, value);
    }
    residual_[t] = residual;
    if (!regressor_.empty()) regressor_[t] = regressor;
    filter_.advance();
  }
  return std::isfinite(log_determinant_) && filter_.unknown() == 0;
}

}  // namespace iez::forecast
