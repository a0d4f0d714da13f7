#include "planning/guard.hpp"

#include <cmath>
#include <vector>

namespace iez::planning {

namespace {

struct Sample {
  double mean = 0;
  double squares = 0;  // of deviations
  std::size_t count = 0;
};

Sample logarithms(std::span<const double> rates) {
  Sample sample;
  for (const double rate : rates) {
    if (!(rate > 0) || !std::isfinite(rate)) continue;
    const double value = std::log(rate);
    ++sample.count;
    const double before = value - sample.mean;
    sample.mean += before / static_cast<double>(sample.count);
    sample.squares += before * (value - sample.mean);
  }
  return sample;
}

}  // namespace

std::string_view to_string(Gain gain) {
  switch (gain) {
    case Gain::unknown:
      return "unknown";
    case Gain::faster:
      return "faster";
    case Gain::alike:
      return "alike";
    case Gain::slower:
      return "slower";
    case Gain::unclear:
      return "unclear";
  }
  return "";
}

Comparison compare_rates(std::span<const double> by_default, std::span<const double> placed) {
  const Sample theirs = logarithms(by_default);
  const Sample own = logarithms(placed);
  Comparison out{.by_default = theirs.count, .placed = own.count};
  if (theirs.count == 0 || own.count == 0) return out;
  const double difference = own.mean - theirs.mean;
  const auto n_own = static_cast<double>(own.count);
  const auto n_theirs = static_cast<double>(theirs.count);
  const double variance = (2 * kNoise * kNoise + theirs.squares + own.squares) / (n_own + n_theirs);
  const double error = kSure * std::sqrt(variance * (1 / n_own + 1 / n_theirs));
  out.ratio = std::exp(difference);
  out.low = std::exp(difference - error);
  out.high = std::exp(difference + error);
  out.gain = std::abs(out.ratio - 1) <= kAbout ? Gain::alike : Gain::unclear;
  if (out.high < 1 && out.ratio < 1 - kWorthwhile) out.gain = Gain::slower;
  if (out.low > 1 && out.ratio > 1 + kWorthwhile) out.gain = Gain::faster;
  return out;
}

}  // namespace iez::planning
