#include "sim/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace iez::sim {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void LatencyHistogram::add(Duration latency) {
  const double value = seconds(latency);
  if (counts_.empty()) {
    counts_.resize(std::size_t{kOctaves} << kSteps);
    first_ = value;
  }
  const auto us =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(latency.count()) / 1000, 1, (std::uint64_t{1} << kOctaves) - 1);
  // The place of the highest bit, and the bits behind it.
  const auto octave = static_cast<unsigned>(std::bit_width(us)) - 1;
  const std::uint64_t step = octave >= kSteps ? (us >> (octave - kSteps)) : (us << (kSteps - octave));
  ++counts_[(std::size_t{octave} << kSteps) + (step - (std::uint64_t{1} << kSteps))];
  ++count_;
  max_ = std::max(max_, latency);
  sum_ += value;
  shifted_ += value - first_;
  squares_ += (value - first_) * (value - first_);
}

void LatencyHistogram::clear() { *this = {}; }

double LatencyHistogram::quantile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen < wanted || counts_[i] == 0) continue;
    const double octave = std::ldexp(1e-6, static_cast<int>(i >> kSteps));
    const double step = static_cast<double>(i & ((1U << kSteps) - 1)) + 0.5;
    return std::min(octave * (1 + step / static_cast<double>(1U << kSteps)), seconds(max_));
  }
  return 0;
}

LatencyStats LatencyHistogram::stats() const {
  LatencyStats stats{.count = count_};
  if (count_ == 0) return stats;
  const auto n = static_cast<double>(count_);
  stats.mean = sum_ / n;
  stats.deviation = std::sqrt(std::max(0.0, squares_ / n - (shifted_ / n) * (shifted_ / n)));
  stats.p50 = quantile(0.5);
  stats.p99 = quantile(0.99);
  stats.max = seconds(max_);
  return stats;
}

}  // namespace iez::sim
