// The exact covariance of a complete stationary stretch x(1..n) of an ARMA process, factored, so that x can be turned into
// independent innovations.
//
// Notation: (1 - phi1 B - ...) x(t) = (1 + theta1 B + ...) e(t), var e = 1, p and q coefficients. The covariance of x is L R L',
// L lower triangular with ones on its diagonal, R diagonal. Whitening gives u = R^(-1/2) L^(-1) x. Hence the log-likelihood of x
// under innovations of variance sigma2 is -(n log(2 pi sigma2) + log det R + u'u / sigma2) / 2.
//
// Algorithm: Ansley's transform keeps x(t) for t <= p and takes (1 - phi1 B - ...) x(t), a moving average, from there on. The
// first p have a Toeplitz covariance, which Schur's algorithm factors; the rest reach q back, so that their rows of L have q
// entries. The variances of innovations fall to 1, and the rows of L to theta. Once they are there, the rest of the rows need no
// computing.
//
// Complexity: O(p^2 + n (p + q) + k q^2), k <= n steps until then. Memory O(p^2 + n q), kept between calls.
//
// Limits: the steps after are taken as stationary when q variances in turn are within kStationary of 1; that changes a
// log-likelihood by less than 1e-9 for the sizes of series this is for.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "forecast/arma_moments.hpp"

namespace iez::forecast {

inline constexpr double kStationary = 1e-13;

class ArmaLikelihood {
 public:
  explicit ArmaLikelihood(std::size_t n);

  // False: phi is not stationary, or too near to it.
  [[nodiscard]] bool factor(std::span<const double> phi, std::span<const double> theta);

  // log det R. REQUIRES: factor() gave true.
  [[nodiscard]] double log_determinant() const { return log_determinant_; }

  // REQUIRES: factor() gave true; both are of size n and do not overlap.
  void whiten(std::span<const double> x, std::span<double> u);

 private:
  [[nodiscard]] bool factor_head();
  [[nodiscard]] bool factor_tail();
  double factor_row(std::size_t t);
  template <std::size_t kQ>
  [[nodiscard]] bool factor_inner_rows(std::size_t t);
  template <std::size_t kQ>
  void subtract_moving_average(std::size_t t, std::span<double> u);

  std::size_t n_;
  std::vector<double> phi_;
  std::vector<double> theta_;
  ArmaMoments moments_;
  std::size_t head_ = 0;        // rows of x itself: min(p, n)
  std::size_t stationary_ = 0;  // rows from here on are theta
  double log_determinant_ = 0;
  std::vector<double> head_factor_;  // rows of L, head_ wide
  std::vector<double> band_;         // rows of L, q wide: the last entry is next to the diagonal
  std::vector<double> variance_;     // R, up to stationary_
  std::vector<double> inverse_;      // R^-1, up to stationary_
  std::vector<double> unscaled_;     // one row of L R
  std::vector<double> upper_;        // Schur's two generators
  std::vector<double> lower_;
  std::vector<double> innovation_;
};

}  // namespace iez::forecast
