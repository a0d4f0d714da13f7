#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "forecast/arima.hpp"
#include "forecast/arima_model.hpp"
#include "forecast/arima_starts.hpp"
#include "forecast/difference.hpp"
#include "forecast/least_squares.hpp"
#include "forecast/polynomial.hpp"

namespace iez::forecast {
namespace {

// Innovations this small against the differenced values, or differences this small against the values, are rounding.
constexpr double kLeastVariance = 1e-24;
constexpr double kLeastDifference = 1e-13;

// Gaps filled along straight lines: good enough for a start and a scale. REQUIRES: a value that is not missing.
std::vector<double> fill_gaps(std::span<const double> values) {
  std::vector<double> filled(values.begin(), values.end());
  std::size_t last = filled.size();  // none yet
  for (std::size_t t = 0; t < filled.size(); ++t) {
    if (!std::isfinite(filled[t])) continue;
    const std::size_t begin = last == filled.size() ? 0 : last + 1;
    const double from = last == filled.size() ? filled[t] : filled[last];
    for (std::size_t gap = begin; gap < t; ++gap) {
      const double share = static_cast<double>(gap + 1 - begin) / static_cast<double>(t + 1 - begin);
      filled[gap] = from + (filled[t] - from) * share;
    }
    last = t;
  }
  for (std::size_t gap = last + 1; gap < filled.size(); ++gap) filled[gap] = filled[last];
  return filled;
}

// The residuals as a function of angles, whose sines are the partial autocorrelations in the order of arima_starts.hpp.
class Objective final : public ResidualFunction {
 public:
  Objective(std::span<const double> values, const ArimaOrder& order, bool mean)
      : order_(order), whitener_(values, order, mean), partial_(order.p + order.q + order.sp + order.sq) {
    parameters_.ar.resize(order.p);
    parameters_.ma.resize(order.q);
    parameters_.seasonal_ar.resize(order.sp);
    parameters_.seasonal_ma.resize(order.sq);
  }

  [[nodiscard]] ArimaWhitener& whitener() { return whitener_; }
  [[nodiscard]] const ArimaParameters& parameters() const { return parameters_; }  // of the last evaluation
  [[nodiscard]] double log_determinant() const { return whitener_.log_determinant(); }

  [[nodiscard]] bool evaluate(std::span<const double> angles, std::span<double> residuals) override {
    set_parameters(angles);
    if (!whitener_.whiten(phi_, theta_)) return false;
    const auto data = whitener_.residual();
    const auto constant = whitener_.regressor();
    parameters_.mean = 0;
    if (!constant.empty()) {
      double along = 0;
      double length = 0;
      for (std::size_t t = 0; t < data.size(); ++t) {
        along += data[t] * constant[t];
        length += constant[t] * constant[t];
      }
      if (!(length > 0)) return false;
      parameters_.mean = along / length;
      for (std::size_t t = 0; t < data.size(); ++t) data[t] -= parameters_.mean * constant[t];
    }
    const double scale = std::exp(0.5 * whitener_.log_determinant() / static_cast<double>(whitener_.observations()));
    for (std::size_t t = 0; t < data.size(); ++t) residuals[t] = scale * data[t];
    return std::isfinite(scale);
  }

 private:
  void set_parameters(std::span<const double> angles) {
    for (std::size_t i = 0; i < partial_.size(); ++i) partial_[i] = std::sin(angles[i]);
    std::span<const double> rest(partial_);
    const auto take = [&rest](std::vector<double>& coefficients, double sign) {
      coefficients_from_partial(rest.first(coefficients.size()), coefficients);
      for (double& c : coefficients) c *= sign;
      rest = rest.subspan(coefficients.size());
    };
    take(parameters_.ar, 1);
    take(parameters_.ma, -1);
    take(parameters_.seasonal_ar, 1);
    take(parameters_.seasonal_ma, -1);
    multiply_seasonal(parameters_.ar, parameters_.seasonal_ar, order_.period, 1, phi_);
    multiply_seasonal(parameters_.ma, parameters_.seasonal_ma, order_.period, -1, theta_);
  }

  ArimaOrder order_;
  ArimaWhitener whitener_;
  ArimaParameters parameters_;
  std::vector<double> partial_;
  std::vector<double> phi_;
  std::vector<double> theta_;
};

// The distance of the nearest root of a polynomial in B^period, as seen in B.
double distance_in_lags(std::span<const double> coefficients, double sign, unsigned period) {
  std::vector<double> autoregressive(coefficients.begin(), coefficients.end());
  for (double& c : autoregressive) c *= sign;
  const double distance = unit_root_distance(autoregressive);
  return period > 1 ? std::expm1(std::log1p(distance) / period) : distance;
}

double nearest_root(const ArimaFit& fit) {
  const ArimaParameters& p = fit.parameters;
  const unsigned period = fit.order.period;
  double nearest = std::min(distance_in_lags(p.ar, 1, 1), distance_in_lags(p.ma, -1, 1));
  if (!p.seasonal_ar.empty()) nearest = std::min(nearest, distance_in_lags(p.seasonal_ar, 1, period));
  if (!p.seasonal_ma.empty()) nearest = std::min(nearest, distance_in_lags(p.seasonal_ma, -1, period));
  return nearest;
}

bool all_finite(const ArimaFit& fit) {
  for (const double number : {fit.log_likelihood, fit.sigma2, fit.aic, fit.aicc, fit.bic, fit.parameters.mean}) {
    if (!std::isfinite(number)) return false;
  }
  return fit.sigma2 > 0;
}

// Partial autocorrelations of a smaller model, 0 for what it lacks. At 1 the sine is flat, and the search would stay there.
void append_partial(std::span<const double> coefficients, double sign, std::size_t count, std::vector<double>& point) {
  constexpr double kMost = 0.95;
  std::vector<double> partial(coefficients.begin(),
                              coefficients.begin() + static_cast<std::ptrdiff_t>(std::min(count, coefficients.size())));
  for (double& c : partial) c *= sign;
  if (!partial_from_coefficients(partial)) partial.assign(partial.size(), 0.0);
  partial.resize(count, 0.0);
  for (const double c : partial) point.push_back(std::clamp(c, -kMost, kMost));
}

std::vector<double> near_start(const ArimaParameters& near, const ArimaOrder& order) {
  std::vector<double> point;
  append_partial(near.ar, 1, order.p, point);
  append_partial(near.ma, -1, order.q, point);
  append_partial(near.seasonal_ar, 1, order.sp, point);
  append_partial(near.seasonal_ma, -1, order.sq, point);
  return point;
}

// Start `index` as angles.
std::vector<double> start_angles(std::size_t index, std::span<const double> differenced, const ArimaOrder& order,
                                 std::size_t count, const ArimaParameters* near) {
  std::vector<double> angles(count, 0.0);
  if (index == 0) angles = near != nullptr ? near_start(*near, order) : regression_start(differenced, order);
  if (index > 1) angles = spread_start(index - 2, count);
  for (double& angle : angles) angle = std::asin(angle);
  return angles;
}

}  // namespace

std::optional<ArimaFit> fit_arima(std::span<const double> values, const ArimaOrder& order, const FitOptions& options) {
  if (!is_usable(order)) return std::nullopt;
  const bool mean = options.mean && order.d == 0 && order.sd == 0;
  const std::size_t count = std::size_t{order.p} + order.q + order.sp + order.sq;
  const std::size_t estimated = count + (mean ? 1 : 0) + 1;
  const auto present =
      static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [](double v) { return std::isfinite(v); }));
  if (present < difference_loss(order) + estimated + 2) return std::nullopt;

  double largest = 0;
  for (const double v : values) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  if (!(largest > 0)) return std::nullopt;
  // First to a size of 1, so that differences cannot overflow; then the differences to a size of 1.
  std::vector<double> scaled(values.begin(), values.end());
  for (double& v : scaled) v /= largest;
  auto differenced = difference(fill_gaps(scaled), order);
  const auto [low, high] = std::minmax_element(differenced.begin(), differenced.end());
  if (!(*high - *low > kLeastDifference)) return std::nullopt;
  double shift = 0;
  if (mean) {
    for (const double v : differenced) shift += v;
    shift /= static_cast<double>(differenced.size());
  }
  double squares = 0;
  for (double& v : differenced) {
    v -= shift;
    squares += v * v;
  }
  const double size = std::sqrt(squares / static_cast<double>(differenced.size()));
  for (double& v : differenced) v /= size;
  for (double& v : scaled) v = (v - shift) / size;
  const double unit = largest * size;

  Objective objective(scaled, order, mean);
  LeastSquares optimiser(count, objective.whitener().size());
  const auto n = static_cast<double>(objective.whitener().observations());
  const LeastSquares::Options search{.observations = n, .max_iterations = options.max_iterations, .tolerance = options.tolerance};
  double best_value = std::numeric_limits<double>::infinity();
  std::vector<double> best;
  ArimaFit fit{.order = order};
  const std::size_t starts = count == 0 ? 1 : std::max(options.starts, 1U);
  for (std::size_t index = 0; index < starts; ++index) {
    auto angles = start_angles(index, differenced, order, count, options.near);
    const auto outcome = optimiser.minimise(objective, angles, search);
    fit.evaluations += outcome.evaluations;
    if (!outcome.defined || !(outcome.value < best_value)) continue;
    best_value = outcome.value;
    best = std::move(angles);
    fit.converged = outcome.converged;
  }
  if (!std::isfinite(best_value)) return std::nullopt;

  std::vector<double> residuals(objective.whitener().size());
  if (!objective.evaluate(best, residuals)) return std::nullopt;
  double sum = 0;
  for (const double u : objective.whitener().residual()) sum += u * u;
  const double variance = sum / n;
  if (!(variance > kLeastVariance)) return std::nullopt;
  fit.parameters = objective.parameters();
  fit.parameters.mean = mean ? (fit.parameters.mean * size + shift) * largest : 0;
  fit.sigma2 = variance * unit * unit;
  fit.log_likelihood =
      -0.5 * (n * (std::log(2 * std::numbers::pi * variance) + 1) + objective.log_determinant()) - n * std::log(unit);
  fit.observations = static_cast<unsigned>(objective.whitener().observations());
  const auto k = static_cast<double>(estimated);
  fit.aic = -2 * fit.log_likelihood + 2 * k;
  fit.aicc = fit.aic + 2 * k * (k + 1) / (n - k - 1);
  fit.bic = -2 * fit.log_likelihood + k * std::log(n);
  fit.unit_root_distance = nearest_root(fit);
  if (!all_finite(fit)) return std::nullopt;
  return fit;
}

}  // namespace iez::forecast
