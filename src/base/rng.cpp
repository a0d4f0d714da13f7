#include "base/rng.hpp"

#include <limits>

#include "base/result.hpp"

namespace iez {

namespace {

// mt19937_64 seeded with small neighbouring numbers starts alike: spread the seed first (splitmix64's finaliser).
std::uint64_t spread(std::uint64_t seed) {
  seed += 0x9E3779B97F4A7C15;
  seed = (seed ^ (seed >> 30U)) * 0xBF58476D1CE4E5B9;
  seed = (seed ^ (seed >> 27U)) * 0x94D049BB133111EB;
  return seed ^ (seed >> 31U);
}

}  // namespace

Rng::Rng(std::uint64_t seed) : engine_(spread(seed)) {}

std::uint64_t Rng::bits() { return engine_(); }

std::uint64_t Rng::below(std::uint64_t bound) {
  IEZ_ASSERT(bound > 0);
  // Values below 2^64 mod bound would favour the small results: draw again.
  const std::uint64_t unfair = (0 - bound) % bound;
  std::uint64_t value = bits();
  while (value < unfair) value = bits();
  return value % bound;
}

std::uint64_t Rng::between(std::uint64_t low, std::uint64_t high) {
  IEZ_ASSERT(low <= high);
  const std::uint64_t width = high - low;
  if (width == std::numeric_limits<std::uint64_t>::max()) return bits();
  return low + below(width + 1);
}

double Rng::unit() { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }

bool Rng::chance(double probability) { return unit() < probability; }

Rng Rng::split() { return Rng(bits()); }

}  // namespace iez
