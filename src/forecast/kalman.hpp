// A Kalman filter for ARIMA processes, some of whose values may be missing, with the exact diffuse start.
//
// Notation: y(t) = x(t) + delta1 y(t - 1) + ... + deltaD y(t - D), x a stationary ARMA process with innovations of variance 1.
// The state at t holds the forecasts of x(t), ..., x(t + r - 1) from what has happened up to t, r = max(p, q + 1) (Akaike's form,
// whose stationary covariance is known in closed form), and y(t - 1), ..., y(t - D). Of the latter nothing is known at first:
// their covariance is k I with k to infinity. The filter keeps the factor of k (`infinite`) apart from the rest (`finite`), and
// so takes the limit exactly (Durbin and Koopman 2012, 5.2). Each value that meets an unknown direction removes it, and says
// nothing else.
//
// Use: start(); then for each t forecast(), observe() if there is a value, advance().
//
// Complexity: O((r + D)^2) a step. Memory the same, kept between calls. Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "forecast/arma_moments.hpp"

namespace iez::forecast {

class KalmanFilter {
 public:
  // One filter carries two series with the same gaps: data, and a regressor such as a constant.
  using Pair = std::array<double, 2>;

  struct Forecast {
    Pair mean{};
    double finite = 0;    // variance, in units of that of the innovations
    double infinite = 0;  // above 0: the variance is infinite, and the mean undefined
  };

  // False: phi is not stationary, or too near to it.
  [[nodiscard]] bool start(std::span<const double> phi, std::span<const double> theta, std::span<const double> delta);

  // Of y(t), from the values before t.
  [[nodiscard]] Forecast forecast();

  // REQUIRES: forecast() was called for this t, and gave this.
  void observe(const Forecast& forecast, const Pair& value);

  void advance();

  // Directions of the state of which still nothing is known.
  [[nodiscard]] std::size_t unknown() const { return unknown_; }

 private:
  void move_finite();
  void move_infinite();

  std::size_t arma_ = 0;   // r
  std::size_t state_ = 0;  // r + D
  std::size_t unknown_ = 0;
  // What was observed at t is known exactly from then on. Computed, its variance would be a rounding error, which the unit roots
  // of differencing let grow.
  bool observed_ = false;
  Pair value_{};
  double largest_ = 0;  // sum of sizes of the terms of an infinite variance, so far
  ArmaMoments moments_;
  std::vector<double> phi_;
  std::vector<double> delta_;
  std::array<std::vector<double>, 2> mean_;
  std::vector<double> finite_;         // state_ x state_
  std::vector<double> infinite_;       // D x D: only y(t - k) are ever unknown
  std::vector<double> finite_gain_;    // finite times the observation vector
  std::vector<double> infinite_gain_;  // infinite times its part of it
  std::vector<double> scratch_;
};

}  // namespace iez::forecast
