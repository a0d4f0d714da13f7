#include "forecast/arima.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "forecast/arima_model.hpp"
#include "forecast/kalman.hpp"

namespace iez::forecast {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool has_mean(const ArimaOrder& order) { return order.d == 0 && order.sd == 0; }

// What the filter says before each value, and for `horizon` steps after the last; variances in units of sigma2. Empty: not
// stationary.
std::vector<Predicted> run_filter(std::span<const double> values, const ArimaFit& fit, unsigned horizon) {
  std::vector<Predicted> result;
  const auto model = expand(fit.order, fit.parameters);
  if (!model || !std::isfinite(fit.sigma2)) return result;
  KalmanFilter filter;
  if (!filter.start(model->phi, model->theta, model->delta)) return result;
  const double mean = has_mean(fit.order) ? fit.parameters.mean : 0;
  result.reserve(values.size() + horizon);
  for (std::size_t t = 0; t < values.size() + horizon; ++t) {
    const auto forecast = filter.forecast();
    const bool known = !(forecast.infinite > 0);
    result.push_back({known ? forecast.mean[0] + mean : kMissing, known ? forecast.finite * fit.sigma2 : kMissing});
    if (t < values.size() && std::isfinite(values[t])) filter.observe(forecast, {values[t] - mean, 0.0});
    filter.advance();
  }
  return result;
}

}  // namespace

std::optional<Likelihood> log_likelihood(std::span<const double> values, const ArimaOrder& order,
                                         const ArimaParameters& parameters) {
  const auto model = expand(order, parameters);
  if (!model) return std::nullopt;
  // Scaled, so that squares neither overflow nor vanish.
  double largest = 0;
  std::vector<double> scaled(values.begin(), values.end());
  for (double& value : scaled) {
    if (has_mean(order)) value -= parameters.mean;
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  if (!(largest > 0)) return std::nullopt;
  for (double& value : scaled) value /= largest;
  ArimaWhitener whitener(scaled, order, false);
  if (whitener.observations() == 0 || !whitener.whiten(model->phi, model->theta)) return std::nullopt;
  double squares = 0;
  for (const double residual : whitener.residual()) squares += residual * residual;
  const auto n = static_cast<double>(whitener.observations());
  const double variance = squares / n;
  Likelihood result{.observations = static_cast<unsigned>(whitener.observations())};
  result.sigma2 = variance * largest * largest;
  result.log_likelihood =
      -0.5 * (n * (std::log(2 * std::numbers::pi * variance) + 1) + whitener.log_determinant()) - n * std::log(largest);
  if (!(result.sigma2 > 0) || !std::isfinite(result.sigma2) || !std::isfinite(result.log_likelihood)) return std::nullopt;
  return result;
}

std::vector<Predicted> predict(std::span<const double> values, const ArimaFit& fit, unsigned horizon) {
  auto all = run_filter(values, fit, horizon);
  if (all.empty()) return all;
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(values.size()));
  const auto finite = [](const Predicted& p) { return std::isfinite(p.mean) && std::isfinite(p.variance); };
  if (!std::all_of(all.begin(), all.end(), finite)) all.clear();
  return all;
}

std::vector<Predicted> one_step_predictions(std::span<const double> values, const ArimaFit& fit) {
  return run_filter(values, fit, 0);
}

std::vector<double> one_step_errors(std::span<const double> values, const ArimaFit& fit) {
  const auto predicted = run_filter(values, fit, 0);
  std::vector<double> errors;
  errors.reserve(predicted.size());
  for (std::size_t t = 0; t < predicted.size(); ++t) {
    errors.push_back(std::isfinite(values[t]) ? values[t] - predicted[t].mean : kMissing);
  }
  return errors;
}

}  // namespace iez::forecast
