// Are placed runs really faster? The test by which iez steps back.
//
// Given the rates of runs of one shape (bytes over the seconds of their phases), some by Lustre's default and some placed, the
// difference of the means of their logarithms is compared with its standard error:
//
//     d = mean(log placed) - mean(log default),   e = sigma sqrt(1 / n_placed + 1 / n_default)
//     sigma^2 = (2 kNoise^2 + squared deviations of both) / (2 + n_placed + n_default - 2)
//
// that is, a pooled variance to which an assumed noise of kNoise counts as two further runs: two runs alone say something, but
// only of large differences. Slower: d + kSure e < 0, and the ratio is below 1 - kWorthwhile; faster likewise. With one run each
// a placed run must be slower by a fifth, with three each and little noise by a twentieth. What is neither is alike if the ratio
// is within kAbout of 1; else the runs do not tell yet.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace iez::planning {

inline constexpr double kNoise = 0.1;
inline constexpr double kSure = 1.64;  // one-sided, 95 %
inline constexpr double kWorthwhile = 0.02;
inline constexpr double kAbout = 0.05;

enum class Gain : std::uint8_t { unknown, faster, alike, slower, unclear };
std::string_view to_string(Gain gain);

struct Comparison {
  Gain gain = Gain::unknown;  // unknown: one of both has no run; unclear: they have, and the test cannot tell
  double ratio = 1;           // placed over default
  double low = 0;             // of the ratio, with 90 % confidence
  double high = 0;
  std::size_t by_default = 0;  // runs
  std::size_t placed = 0;
};

// Rates that are not above 0 are left out.
Comparison compare_rates(std::span<const double> by_default, std::span<const double> placed);

}  // namespace iez::planning
