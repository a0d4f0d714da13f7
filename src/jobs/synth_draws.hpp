// What the generator of synthetic jobs draws from: quantile functions, shuffled ranks, numbers by name.
//
// Thread safety: const functions from any thread. Pure.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace iez::jobs {

// A number from others: the same from the same, and no pattern.
constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b * 0xbf58476d1ce4e5b9ULL + c * 0x94d049bb133111ebULL + 0x2545f4914f6cdd1dULL;
  for (int round = 0; round < 2; ++round) {
    x ^= x >> 31U;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 29U;
  }
  return x;
}

// In [0, 1).
constexpr double unit(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  return static_cast<double>(mixed(a, b, c) >> 11U) * 0x1.0p-53;
}

// A permutation of 0 .. size-1 that needs no memory: a Feistel network over the next power of four, walked until it lands inside.
class Shuffle {
 public:
  Shuffle(std::uint64_t size, std::uint64_t key) : size_(size), key_(key) {
    while ((std::uint64_t{1} << (2 * half_)) < size) ++half_;
  }

  // REQUIRES: i < size.
  std::uint64_t operator()(std::uint64_t i) const {
    do {
      i = once(i);
    } while (i >= size_);
    return i;
  }

 private:
  static constexpr std::uint64_t kRounds = 4;
  std::uint64_t once(std::uint64_t i) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = i >> half_;
    std::uint64_t right = i & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mixed(key_, round, right) & mask);
      left = right;
      right = next;
    }
    return (left << half_) | right;
  }

  std::uint64_t size_;
  std::uint64_t key_;
  unsigned half_ = 1;
};

// Who writes more makes more files.
inline constexpr double kBytesAFile = 128e6;
inline constexpr double kBytesAFolder = 4e9;

struct Knot {
  double share = 0;  // of all that are below value
  double value = 0;
};

// The value that a share of all is below: log-linear between knots. REQUIRES: the first knot has share 0, the last share 1; all
// ascend.
class Quantiles {
 public:
  constexpr Quantiles(std::initializer_list<Knot> knots) {
    for (const Knot& knot : knots) knots_[count_++] = knot;
  }

  double at(double share) const {
    std::size_t i = 1;
    while (i + 1 < count_ && knots_[i].share < share) ++i;
    const Knot& low = knots_[i - 1];
    const Knot& high = knots_[i];
    return low.value * std::pow(high.value / low.value, (share - low.share) / (high.share - low.share));
  }
  // Of rank i among n.
  double of_rank(std::uint64_t i, std::uint64_t n) const { return at((static_cast<double>(i) + 0.5) / static_cast<double>(n)); }

 private:
  std::array<Knot, 8> knots_{};
  std::size_t count_ = 0;
};

}  // namespace iez::jobs
