// Autoregressive integrated moving-average models, with seasonal factors: exact likelihood, maximum-likelihood fit, forecasts.
//
// Problem: given y(1..n), equally spaced, some perhaps missing, and an order (p,d,q)(sp,sd,sq)s, find the coefficients under
// which the observed values are most likely, and from these the mean and the variance of the values to come.
//
// Notation: B is the backshift, B y(t) = y(t - 1); s the period; e(t) are independent normal innovations of variance sigma2.
//
//   w(t) = (1 - B)^d (1 - B^s)^sd y(t)
//   (1 - ar1 B - ...)(1 - sar1 B^s - ...) (w(t) - mean) = (1 + ma1 B + ...)(1 + sma1 B^s + ...) e(t)
//
// There is a mean only where nothing is differenced (d = sd = 0). P = p + sp s and Q = q + sq s are the degrees of the products,
// D = d + sd s the number of values lost by differencing.
//
// Algorithm:
//   - The likelihood is that of the differenced values, a normal law with the exact covariance: no start is conditioned on or
//     forecast backward. sigma2 is concentrated out; where a mean is fitted, so is the mean, by generalised least squares.
//   - Complete series: the innovations recursion on Ansley's transformed process (arma_likelihood.hpp).
//   - Missing values, forecasts, one-step errors: a Kalman filter with the exact diffuse start of Durbin and Koopman
//     (kalman.hpp). On a complete series it gives the very same likelihood.
//   - Fit: the coefficients are functions of partial autocorrelations, and these sines of free angles, so every point of the
//     search is stationary and invertible. A root on the unit circle, where over-differenced data lead, is at a finite angle.
//     With sigma2 and the determinant inside, minus the log-likelihood is the logarithm of a sum of squares (Ansley 1979); it
//     is minimised by Levenberg and Marquardt (least_squares.hpp) from several starts: Hannan and Rissanen's regression, zeros,
//     spread points.
//
// Complexity: one likelihood of a complete series takes O(P^2 + n (P + Q) + k Q^2), where k <= n steps pass before the recursion
// is stationary; one with missing values O(n (max(P, Q + 1) + D)^2). An iteration of the fit takes one likelihood per
// coefficient.
//
// Limits: P, Q and D are at most kMaxLag each. Fewer than (coefficients, mean and sigma2) + 2 usable values: no fit. A series
// that differencing makes constant has no innovations, hence no fit. The likelihood may have several maxima; more starts find
// more of them. Likelihoods of orders that differ in d or sd are of different data: do not compare their criteria.
//
// Papers: Ansley, "An algorithm for the exact likelihood of a mixed autoregressive-moving average process", Biometrika 66 (1979);
// Brockwell and Davis, "Time Series: Theory and Methods" (1991), 5.2 and 8.6; Monahan, "A note on enforcing stationarity in
// autoregressive-moving average models", Biometrika 71 (1984); Durbin and Koopman, "Time Series Analysis by State Space Methods"
// (2012), 5.2; Hannan and Rissanen, "Recursive estimation of mixed autoregressive-moving average order", Biometrika 69 (1982).
//
// Units: those of the values; variances are in their square. NaN stands for a missing value, infinity too.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace iez::forecast {

inline constexpr std::size_t kMaxLag = 200;

struct ArimaOrder {
  unsigned p = 0;
  unsigned d = 0;
  unsigned q = 0;
  unsigned sp = 0;
  unsigned sd = 0;
  unsigned sq = 0;
  unsigned period = 0;  // 0: not seasonal; else 2 or more

  friend bool operator==(const ArimaOrder&, const ArimaOrder&) = default;
};

struct ArimaParameters {
  std::vector<double> ar;
  std::vector<double> ma;
  std::vector<double> seasonal_ar;
  std::vector<double> seasonal_ma;
  double mean = 0;  // used only where d = sd = 0
};

struct Likelihood {
  double log_likelihood = 0;
  double sigma2 = 0;          // sum of squares / observations
  unsigned observations = 0;  // values not missing, less D
};

// At these parameters. None: the order is over the limits, the parameters do not fit it, are not finite or not stationary, no
// value is left after differencing, or all innovations are 0. The moving averages need not be invertible.
[[nodiscard]] std::optional<Likelihood> log_likelihood(std::span<const double> values, const ArimaOrder& order,
                                                       const ArimaParameters& parameters);

struct FitOptions {
  unsigned starts = 6;           // at least 1. A grid of orders does well with 1 or 2.
  unsigned max_iterations = 80;  // of each start
  double tolerance = 1e-6;       // converged when a step promises and brings less than this in log-likelihood
  bool mean = true;              // fit a mean where d = sd = 0
  // Coefficients of a smaller order of the same differences, which the first start takes, with 0 for those it lacks. Valid during
  // the call; nullptr: the regression.
  const ArimaParameters* near = nullptr;
};

struct ArimaFit {
  ArimaOrder order;
  ArimaParameters parameters;
  double log_likelihood = 0;
  double sigma2 = 0;
  double aic = 0;  // all three count sigma2 as a parameter
  double aicc = 0;
  double bic = 0;
  unsigned observations = 0;
  bool converged = false;
  // How far outside the unit circle the nearest root of the four polynomials is: |root| - 1, of the root in B; at most 1.
  double unit_root_distance = 1;
  unsigned evaluations = 0;  // of the likelihood
};

// None: the order is over the limits, there are too few values, or they are constant once differenced. All numbers of a fit are
// finite. A fit of c * values gives the same coefficients and c^2 * sigma2.
[[nodiscard]] std::optional<ArimaFit> fit_arima(std::span<const double> values, const ArimaOrder& order,
                                                const FitOptions& options = {});

struct Predicted {
  double mean = 0;
  double variance = 0;
};

// The next `horizon` values after the last of `values`, undifferenced, given these values and the parameters and sigma2 of the
// fit. The values need not be those of the fit. Empty: the fit is not usable (see log_likelihood), or fewer than D values are
// observed.
[[nodiscard]] std::vector<Predicted> predict(std::span<const double> values, const ArimaFit& fit, unsigned horizon);

// For each value, what was to be expected of it given those before it: a rolling forecast at fixed parameters. NaN in the first
// places, where too little is known; defined at a missing value. Empty: the fit is not usable.
[[nodiscard]] std::vector<Predicted> one_step_predictions(std::span<const double> values, const ArimaFit& fit);

// Values less their one-step predictions; NaN where there is no prediction or no value.
[[nodiscard]] std::vector<double> one_step_errors(std::span<const double> values, const ArimaFit& fit);

}  // namespace iez::forecast
