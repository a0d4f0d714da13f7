#include "contention/quadratic_fit.hpp"

#include <cmath>
#include <utility>

namespace iez::contention {

namespace {

constexpr std::size_t kTerms = 6;
using Row = std::array<double, kTerms + 1>;

std::array<double, kTerms> terms(double u, double v) { return {1, u, v, u * u, u * v, v * v}; }

// Curvature needs more proof than slope, and slope more than the level.
constexpr std::array<double, kTerms> kRidge{1e-6, 1e-4, 1e-4, 1e-3, 1e-3, 1e-3};

}  // namespace

QuadraticFit::QuadraticFit(std::span<const QuadraticSample> samples, double width) {
  std::array<Row, kTerms> system{};
  for (std::size_t i = 0; i < kTerms; ++i) system[i][i] = kRidge[i];
  for (const QuadraticSample& sample : samples) {
    const double weight = std::exp(-(sample.u * sample.u + sample.v * sample.v) / (width * width));
    const std::array<double, kTerms> x = terms(sample.u, sample.v);
    for (std::size_t i = 0; i < kTerms; ++i) {
      for (std::size_t j = 0; j < kTerms; ++j) system[i][j] += weight * x[i] * x[j];
      system[i][kTerms] += weight * x[i] * sample.z;
    }
  }
  // The matrix is symmetric and positive definite: no pivoting needed.
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t k = i + 1; k < kTerms; ++k) {
      const double factor = system[k][i] / system[i][i];
      for (std::size_t j = i; j <= kTerms; ++j) system[k][j] -= factor * system[i][j];
    }
  }
  for (std::size_t i = kTerms; i-- > 0;) {
    double value = system[i][kTerms];
    for (std::size_t j = i + 1; j < kTerms; ++j) value -= system[i][j] * coefficients_[j];
    coefficients_[i] = value / system[i][i];
  }
}

double QuadraticFit::at(double u, double v) const {
  const std::array<double, kTerms> x = terms(u, v);
  double z = 0;
  for (std::size_t i = 0; i < kTerms; ++i) z += coefficients_[i] * x[i];
  return z;
}

}  // namespace iez::contention
