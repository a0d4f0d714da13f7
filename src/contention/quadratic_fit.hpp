// A quadratic surface through scattered, few and noisy points, for the tuner.
//
// Problem. Given samples (u, v, z), coordinates relative to the point of interest, find
//     z = c0 + c1 u + c2 v + c3 u^2 + c4 u v + c5 v^2
// that minimises sum of weight x error^2 + ridge x sum of penalty x c^2, with weight = exp(-(u^2 + v^2) / width^2): what lies far
// away says little of the surface here. The ridge lets any number of samples do: what they do not tell is taken as flat.
// Solved by Gaussian elimination of the 6 x 6 normal equations, which the ridge keeps regular.
//
// Thread safety: plain value.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace iez::contention {

struct QuadraticSample {
  double u = 0;
  double v = 0;
  double z = 0;
};

class QuadraticFit {
 public:
  static constexpr double kDefaultWidth = 0.7;

  explicit QuadraticFit(std::span<const QuadraticSample> samples, double width = kDefaultWidth);

  double at(double u, double v) const;

 private:
  static constexpr std::size_t kTerms = 6;
  std::array<double, kTerms> coefficients_{};
};

}  // namespace iez::contention
