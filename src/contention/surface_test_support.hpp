// Speeds over stripe count and stripe size, for tests of the tuner.
//
// Of the surface the source swept (1,024 processes on 64 nodes, counts 1 to 160, sizes 1 to 256 MB) only four figures are
// printed:
//     313 MB/s at 2 stripes of 1 MB (the default), 395 the best of all sizes at 2 stripes, 4,075 the best of all counts at 1 MB,
//     15,609 at 160 stripes of 128 MB, the best of all.
// What lies between is OUR interpolation, smooth in the logarithms: with u = log(count / 2) / log(80), 0 at 2 and 1 at 160, and
// s = 1 - ((7 - log2(size / MB)) / 7)^2, 0 at 1 MB and 1 at 128 MB,
//     log speed = log 313 + a u + b s + c u s
// where a, b, c follow from the printed figures. Sizes here are in MiB.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rng.hpp"
#include "contention/tuner.hpp"

namespace iez::contention {

inline double source_surface(const Setting& setting) {
  const double u = std::log(setting.stripes / 2.0) / std::log(80.0);
  const double from_peak = (7 - std::log2(static_cast<double>(setting.stripe_size.count) / (1U << 20U))) / 7;
  const double s = 1 - from_peak * from_peak;
  const double a = std::log(4075.0 / 313.0);
  const double b = std::log(395.0 / 313.0);
  const double c = std::log(15609.0 / 313.0) - a - b;
  return 1e6 * 313 * std::exp(a * u + b * s + c * u * s);
}

// A hill in the logarithms: its top at (count, size), falling with the square of the distance in octaves, turned by `angle`, and
// `stretch` times as long as wide. A large stretch is a ridge.
struct Hill {
  double top_count = 16;
  double top_mib = 8;
  double angle = 0;  // radians
  double stretch = 1;
  double steepness = 0.1;

  double operator()(const Setting& setting) const {
    const double x = std::log2(setting.stripes / top_count);
    const double y = std::log2(static_cast<double>(setting.stripe_size.count) / (1U << 20U) / top_mib);
    const double along = (x * std::cos(angle) + y * std::sin(angle)) / stretch;
    const double across = -x * std::sin(angle) + y * std::cos(angle);
    return 1e10 * std::exp(-steepness * (along * along + across * across));
  }
};

// Normal with mean 1 and this deviation, never below 0.1 (Box-Muller).
inline double noise_factor(Rng& rng, double deviation) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.unit()));
  return std::max(0.1, 1 + deviation * radius * std::cos(2 * std::numbers::pi * rng.unit()));
}

}  // namespace iez::contention
