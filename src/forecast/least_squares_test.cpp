#include "forecast/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

namespace iez::forecast {
namespace {

class Residuals final : public ResidualFunction {
 public:
  using Function = std::function<bool(std::span<const double>, std::span<double>)>;
  explicit Residuals(Function function) : function_(std::move(function)) {}
  bool evaluate(std::span<const double> x, std::span<double> residuals) override {
    ++calls;
    return function_(x, residuals);
  }
  unsigned calls = 0;

 private:
  Function function_;
};

TEST(LeastSquares, StraightLine) {
  // Of 1, 2, 4 at 0, 1, 2 the least-squares line is 5/6 + 3/2 t, and leaves 1/6.
  Residuals line([](std::span<const double> x, std::span<double> u) {
    const double y[] = {1, 2, 4};
    for (std::size_t t = 0; t < 3; ++t) u[t] = y[t] - x[0] - x[1] * static_cast<double>(t);
    return true;
  });
  LeastSquares optimiser(2, 3);
  std::vector<double> x{0, 0};
  const auto outcome = optimiser.minimise(line, x, {.observations = 3});
  EXPECT_TRUE(outcome.defined);
  EXPECT_TRUE(outcome.converged);
  EXPECT_NEAR(x[0], 5.0 / 6, 1e-4);
  EXPECT_NEAR(x[1], 1.5, 1e-4);
  EXPECT_NEAR(outcome.value, 1.5 * std::log(1.0 / 6), 1e-6);
  EXPECT_EQ(outcome.evaluations, line.calls);
}

TEST(LeastSquares, CurvedValley) {
  // Rosenbrock's function, lifted by a constant residual so that its logarithm exists at the minimum.
  Residuals valley([](std::span<const double> x, std::span<double> u) {
    u[0] = 10 * (x[1] - x[0] * x[0]);
    u[1] = 1 - x[0];
    u[2] = 1;
    return true;
  });
  LeastSquares optimiser(2, 3);
  std::vector<double> x{-1.2, 1};
  const auto outcome = optimiser.minimise(valley, x, {.observations = 3, .max_iterations = 200, .tolerance = 1e-9});
  EXPECT_TRUE(outcome.converged);
  EXPECT_NEAR(x[0], 1, 1e-3);
  EXPECT_NEAR(x[1], 1, 1e-3);
}

TEST(LeastSquares, CurvatureThatFirstDerivativesDoNotShow) {
  // At the minimum the derivative of cos x is 0: all curvature comes from what Gauss and Newton leave out.
  Residuals hill([](std::span<const double> x, std::span<double> u) {
    u[0] = 2 + std::cos(x[0]);
    u[1] = 1;
    return true;
  });
  LeastSquares optimiser(1, 2);
  std::vector<double> x{0.5};
  const auto outcome = optimiser.minimise(hill, x, {.observations = 50});
  EXPECT_TRUE(outcome.converged);
  EXPECT_NEAR(outcome.value, 25 * std::log(2), 1e-5);
  EXPECT_LT(outcome.evaluations, 60U);
}

TEST(LeastSquares, StaysWhereTheFunctionIsDefined) {
  Residuals wall([](std::span<const double> x, std::span<double> u) {
    if (x[0] > 1) return false;
    u[0] = 3 - x[0];
    return true;
  });
  LeastSquares optimiser(1, 1);
  std::vector<double> x{0};
  const auto outcome = optimiser.minimise(wall, x, {.observations = 1});
  EXPECT_TRUE(outcome.defined);
  EXPECT_GT(x[0], 0.9);
  EXPECT_LE(x[0], 1);
}

TEST(LeastSquares, UndefinedStartAndNoVariables) {
  Residuals nowhere([](std::span<const double>, std::span<double>) { return false; });
  std::vector<double> x{0};
  EXPECT_FALSE(LeastSquares(1, 1).minimise(nowhere, x, {}).defined);
  Residuals zero([](std::span<const double>, std::span<double> u) {
    u[0] = 0;
    return true;
  });
  EXPECT_FALSE(LeastSquares(1, 1).minimise(zero, x, {}).defined) << "the logarithm of 0";
  Residuals constant([](std::span<const double>, std::span<double> u) {
    u[0] = 2;
    return true;
  });
  const auto outcome = LeastSquares(0, 1).minimise(constant, {}, {.observations = 1});
  EXPECT_TRUE(outcome.converged);
  EXPECT_NEAR(outcome.value, std::log(2), 1e-15);
}

TEST(LeastSquares, StopsAtTheLimit) {
  Residuals slope([](std::span<const double> x, std::span<double> u) {
    u[0] = std::exp(-x[0]);
    return true;
  });
  std::vector<double> x{0};
  const auto outcome = LeastSquares(1, 1).minimise(slope, x, {.observations = 1, .max_iterations = 7});
  EXPECT_TRUE(outcome.defined);
  EXPECT_FALSE(outcome.converged);
  EXPECT_LE(outcome.evaluations, 1U + 2 * 7);
}

TEST(LeastSquares, PositiveDefiniteSystems) {
  std::vector<double> a{4, 2, 2, 3};
  std::vector<double> b{2, 5};
  ASSERT_TRUE(solve_positive_definite(a, b));
  EXPECT_NEAR(b[0], -0.5, 1e-15);
  EXPECT_NEAR(b[1], 2, 1e-15);
  a = {1, 2, 2, 1};
  EXPECT_FALSE(solve_positive_definite(a, b));
}

}  // namespace
}  // namespace iez::forecast
