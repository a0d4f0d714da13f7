// Latencies, counted so that quantiles are known to within 1 % in a memory that does not grow.
//
// Buckets grow in proportion: 128 to each doubling of the time, from 1 us on; what is longer than 2^40 us counts as that.
//
// Thread safety: none. Memory: 40 KiB, taken with the first latency.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "sim/result.hpp"

namespace iez::sim {

class LatencyHistogram {
 public:
  void add(Duration latency);
  void clear();

  [[nodiscard]] LatencyStats stats() const;

 private:
  static constexpr unsigned kSteps = 7;  // log2 of the buckets to a doubling
  static constexpr unsigned kOctaves = 40;

  [[nodiscard]] double quantile(double share) const;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  Duration max_{};
  double sum_ = 0;      // seconds
  double squares_ = 0;  // of differences from the first, which keeps digits
  double shifted_ = 0;
  double first_ = 0;
};

}  // namespace iez::sim
