#include "contention/quadratic_fit.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.hpp"

namespace iez::contention {
namespace {

TEST(QuadraticFit, FindsAQuadraticAgain) {
  const auto law = [](double u, double v) { return 0.3 - 0.5 * u + 0.2 * v - 1.1 * u * u + 0.4 * u * v - 0.7 * v * v; };
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  std::vector<QuadraticSample> samples;
  for (int i = 0; i < 4000; ++i) {
    const double u = rng.unit() - 0.5;
    const double v = rng.unit() - 0.5;
    samples.push_back({u, v, law(u, v)});
  }
  const QuadraticFit fit(samples);
  for (const double u : {-0.4, 0.0, 0.3}) {
    for (const double v : {-0.2, 0.0, 0.5}) EXPECT_NEAR(fit.at(u, v), law(u, v), 1e-4);
  }
}

TEST(QuadraticFit, OfFewSamples) {
  EXPECT_EQ(QuadraticFit({}).at(0.3, 0.4), 0);
  const std::vector<QuadraticSample> one{{0, 0, 2}};
  EXPECT_NEAR(QuadraticFit(one).at(0.5, -0.5), 2, 1e-3);
  const std::vector<QuadraticSample> line{{0, 0, 0}, {0.1, 0, 0.1}};
  EXPECT_GT(QuadraticFit(line).at(0.2, 0), 0.1);
  EXPECT_NEAR(QuadraticFit(line).at(0, 0.5), 0, 0.01);  // nothing is known of v: flat
}

TEST(QuadraticFit, NearSamplesWeighMore) {
  // A slope here, a cliff far away.
  const std::vector<QuadraticSample> samples{{0, 0, 0}, {0.1, 0, 0.1}, {-0.1, 0, -0.1}, {0.9, 0, -30}};
  EXPECT_GT(QuadraticFit(samples, 0.2).at(0.1, 0), 0.08);
  EXPECT_LT(QuadraticFit(samples, 5.0).at(0.1, 0), 0.08);
}

}  // namespace
}  // namespace iez::contention
