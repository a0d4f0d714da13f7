// Unconstrained minimisation of the logarithm of a sum of squares: (m / 2) log(u1(x)^2 + ... + un(x)^2), which is minus a normal
// log-likelihood with the variance of m observations concentrated out.
//
// Algorithm: Levenberg and Marquardt, with the damping of Nielsen (1999) and derivatives by differences. The damping is the same
// in all directions: here every variable is an angle. Steps are at most 1 long.
//
// Complexity: k variables: k + 1 evaluations, O(n k^2) and O(k^3) an iteration. Memory O(n k), taken once.
//
// Limits: finds a minimum near the start, not the least of all. Never more than max_iterations.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace iez::forecast {

// The residuals u(x).
class ResidualFunction {
 public:
  virtual ~ResidualFunction() = default;
  // False: not defined at x.
  [[nodiscard]] virtual bool evaluate(std::span<const double> x, std::span<double> residuals) = 0;
};

class LeastSquares {
 public:
  struct Options {
    double observations = 1;  // m
    unsigned max_iterations = 80;
    double tolerance = 1e-7;  // stop when a step promises and brings less than this
  };

  struct Outcome {
    bool defined = false;  // false: the function is not defined at the start
    bool converged = false;
    double value = 0;  // (m / 2) log(sum of squares)
    unsigned evaluations = 0;
  };

  LeastSquares(std::size_t variables, std::size_t residuals);

  // Moves x to the minimum.
  [[nodiscard]] Outcome minimise(ResidualFunction& function, std::span<double> x, const Options& options);

 private:
  [[nodiscard]] bool differentiate(ResidualFunction& function, std::span<const double> x, unsigned& evaluations);
  void form_normal_equations(double squares, double observations);
  void update_rest();
  [[nodiscard]] bool solve(double damping, bool full);

  std::size_t variables_;
  std::size_t size_;
  std::vector<double> residuals_;
  std::vector<double> trial_residuals_;
  std::vector<double> trial_;
  std::vector<double> jacobian_;  // a row of size_ for each variable
  std::vector<double> normal_;    // curvature from first derivatives
  std::vector<double> rest_;      // what is known of the rest of it
  std::vector<double> gradient_;
  std::vector<double> old_gradient_;
  std::vector<double> change_;
  std::vector<double> factor_;
  std::vector<double> step_;
};

// Solves a x = b for a symmetric positive definite a of size k x k, which it overwrites; b becomes x. False: a is not.
[[nodiscard]] bool solve_positive_definite(std::span<double> a, std::span<double> b);

}  // namespace iez::forecast
