#include "forecast/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace iez::forecast {
namespace {

constexpr double kDifference = 1e-7;
constexpr double kLongestStep = 1.0;
constexpr double kShortestStep = 1e-10;
constexpr double kMostDamping = 1e12;
constexpr double kFirstDamping = 1e-3;  // times the largest curvature

double dot(const double* a, const double* b, std::size_t n) {
  // Four sums, so that additions need not wait for each other.
  double sum[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sum[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

bool solve_positive_definite(std::span<double> a, std::span<double> b) {
  const std::size_t k = b.size();
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * k + j];
      for (std::size_t l = 0; l < j; ++l) sum -= a[i * k + l] * a[j * k + l];
      if (i == j) {
        if (!(sum > 0)) return false;
        a[i * k + i] = std::sqrt(sum);
      } else {
        a[i * k + j] = sum / a[j * k + j];
      }
    }
  }
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t l = 0; l < i; ++l) b[i] -= a[i * k + l] * b[l];
    b[i] /= a[i * k + i];
  }
  for (std::size_t i = k; i-- > 0;) {
    for (std::size_t l = i + 1; l < k; ++l) b[i] -= a[l * k + i] * b[l];
    b[i] /= a[i * k + i];
  }
  return true;
}

LeastSquares::LeastSquares(std::size_t variables, std::size_t residuals)
    : variables_(variables),
      size_(residuals),
      residuals_(residuals),
      trial_residuals_(residuals),
      trial_(variables),
      jacobian_(variables * residuals),
      normal_(variables * variables),
      rest_(variables * variables),
      gradient_(variables),
      old_gradient_(variables),
      change_(variables),
      factor_(variables * variables),
      step_(variables) {}

bool LeastSquares::differentiate(ResidualFunction& function, std::span<const double> x, unsigned& evaluations) {
  std::copy(x.begin(), x.end(), trial_.begin());
  for (std::size_t v = 0; v < variables_; ++v) {
    double* const row = &jacobian_[v * size_];
    double difference = kDifference;
    trial_[v] = x[v] + difference;
    ++evaluations;
    if (!function.evaluate(trial_, {row, size_})) {
      difference = -kDifference;
      trial_[v] = x[v] + difference;
      ++evaluations;
      if (!function.evaluate(trial_, {row, size_})) return false;
    }
    trial_[v] = x[v];
    const double scale = 1 / difference;
    for (std::size_t i = 0; i < size_; ++i) row[i] = (row[i] - residuals_[i]) * scale;
  }
  return true;
}

void LeastSquares::form_normal_equations(double squares, double observations) {
  const double scale = observations / squares;
  for (std::size_t i = 0; i < variables_; ++i) {
    const double* const row = &jacobian_[i * size_];
    gradient_[i] = scale * dot(row, residuals_.data(), size_);
    for (std::size_t j = 0; j <= i; ++j) {
      normal_[i * variables_ + j] = normal_[j * variables_ + i] = scale * dot(row, &jacobian_[j * size_], size_);
    }
  }
}

// The secant condition on what the squares of the derivatives leave out of the curvature (Dennis, Gay and Welsch).
// REQUIRES: normal_ and gradient_ are of the point reached by step_, old_gradient_ of that it left.
void LeastSquares::update_rest() {
  double curvature = 0;  // of the function along the step
  double wanted = 0;     // of the rest along the step
  double present = 0;
  for (std::size_t i = 0; i < variables_; ++i) {
    change_[i] = gradient_[i] - old_gradient_[i];
    const double along = dot(&rest_[i * variables_], step_.data(), variables_);
    const double rest = change_[i] - dot(&normal_[i * variables_], step_.data(), variables_);
    curvature += step_[i] * change_[i];
    wanted += step_[i] * rest;
    present += step_[i] * along;
    trial_[i] = rest;
  }
  double length = 0;
  double size = 0;
  for (std::size_t i = 0; i < variables_; ++i) {
    length += step_[i] * step_[i];
    size += change_[i] * change_[i];
  }
  if (!(std::abs(curvature) > 1e-8 * std::sqrt(length * size))) return;
  const double shrink = present == 0 ? 0 : std::min(1.0, std::abs(wanted / present));
  for (double& entry : rest_) entry *= shrink;
  double excess = 0;
  for (std::size_t i = 0; i < variables_; ++i) {
    trial_[i] -= dot(&rest_[i * variables_], step_.data(), variables_);
    excess += trial_[i] * step_[i];
  }
  const double scale = 1 / curvature;
  for (std::size_t i = 0; i < variables_; ++i) {
    for (std::size_t j = 0; j < variables_; ++j) {
      rest_[i * variables_ + j] +=
          scale * (trial_[i] * change_[j] + change_[i] * trial_[j] - excess * scale * change_[i] * change_[j]);
    }
  }
}

bool LeastSquares::solve(double damping, bool full) {
  std::copy(normal_.begin(), normal_.end(), factor_.begin());
  if (full) {
    for (std::size_t i = 0; i < factor_.size(); ++i) factor_[i] += rest_[i];
  }
  for (std::size_t i = 0; i < variables_; ++i) {
    factor_[i * variables_ + i] += damping;
    step_[i] = -gradient_[i];
  }
  if (!solve_positive_definite(factor_, step_)) return false;
  double longest = 0;
  for (const double s : step_) longest = std::max(longest, std::abs(s));
  if (!std::isfinite(longest)) return false;
  if (longest > kLongestStep) {
    for (double& s : step_) s *= kLongestStep / longest;
  }
  return true;
}

LeastSquares::Outcome LeastSquares::minimise(ResidualFunction& function, std::span<double> x, const Options& options) {
  Outcome outcome;
  ++outcome.evaluations;
  if (!function.evaluate(x, residuals_)) return outcome;
  double squares = dot(residuals_.data(), residuals_.data(), size_);
  if (!(squares > 0) || !std::isfinite(squares)) return outcome;
  outcome.defined = true;
  outcome.converged = variables_ == 0;
  std::fill(rest_.begin(), rest_.end(), 0.0);
  bool moved = true;  // since the derivatives were taken
  bool full = false;
  double damping = 0;
  double growth = 2;
  for (unsigned iteration = 0; iteration < options.max_iterations && !outcome.converged; ++iteration) {
    if (moved) {
      if (!differentiate(function, x, outcome.evaluations)) break;
      std::swap(gradient_, old_gradient_);
      form_normal_equations(squares, options.observations);
      moved = false;
      if (iteration == 0) {
        double curvature = 0;
        for (std::size_t i = 0; i < variables_; ++i) curvature = std::max(curvature, normal_[i * (variables_ + 1)]);
        damping = std::max(kFirstDamping * curvature, 1e-12);
      } else {
        update_rest();
      }
    }
    while (!solve(damping, full) && damping < kMostDamping) {
      damping = std::max(damping * growth, 1e-12);
      growth *= 2;
    }
    double linear = 0;  // what the parts of the model promise
    double squared = 0;
    double rest = 0;
    double longest = 0;
    for (std::size_t i = 0; i < variables_; ++i) {
      linear -= step_[i] * gradient_[i];
      squared -= 0.5 * step_[i] * dot(&normal_[i * variables_], step_.data(), variables_);
      rest -= 0.5 * step_[i] * dot(&rest_[i * variables_], step_.data(), variables_);
      trial_[i] = x[i] + step_[i];
      longest = std::max(longest, std::abs(step_[i]));
    }
    const double promised = linear + squared + (full ? rest : 0);
    double gain = -std::numeric_limits<double>::infinity();
    double trial_squares = 0;
    ++outcome.evaluations;
    if (function.evaluate(trial_, trial_residuals_)) {
      trial_squares = dot(trial_residuals_.data(), trial_residuals_.data(), size_);
      if (trial_squares > 0 && std::isfinite(trial_squares))
        gain = -0.5 * options.observations * std::log(trial_squares / squares);
      full = std::abs(gain - (linear + squared + rest)) < std::abs(gain - (linear + squared));
    }
    outcome.converged = (promised < options.tolerance && gain < options.tolerance) || longest < kShortestStep;
    if (gain > 0) {
      std::copy(trial_.begin(), trial_.end(), x.begin());
      std::swap(residuals_, trial_residuals_);
      squares = trial_squares;
      moved = true;
      const double miss = 2 * gain / promised - 1;
      damping *= std::max(1.0 / 3, 1 - miss * miss * miss);
      growth = 2;
    } else {
      damping *= growth;
      growth *= 2;
      if (damping > kMostDamping) break;
    }
  }
  outcome.value = 0.5 * options.observations * std::log(squares);
  return outcome;
}

}  // namespace iez::forecast
