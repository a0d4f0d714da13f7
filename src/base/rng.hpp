// Random numbers that repeat: the same seed gives the same sequence on every machine and with every standard library.
//
// The engine is std::mt19937_64, whose output the standard fixes; the distributions of <random> are not fixed, so the few we
// need are here. A test prints its seed when it fails.
//
// Thread safety: none; give each thread its own, made by split().
#pragma once

#include <cstdint>
#include <random>

namespace iez {

class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  std::uint64_t bits();                                          // uniform over all 64-bit values
  std::uint64_t below(std::uint64_t bound);                      // uniform in [0, bound), without bias. REQUIRES: bound > 0
  std::uint64_t between(std::uint64_t low, std::uint64_t high);  // uniform in [low, high]. REQUIRES: low <= high
  double unit();                                                 // uniform in [0, 1)
  bool chance(double probability);

  // An independent generator; drawing from one does not disturb the other.
  Rng split();

 private:
  std::mt19937_64 engine_;
};

}  // namespace iez
