// What a request costs a server, and what it saves to send requests of one client in bursts.
//
//   time of a request = a, if the request before it was of the same client; a + b, if not
//   time of a request in bursts of n = a + b / n;   throughput X(n) = 1 / (a + b / n)
//
// On disks b is the positioning between two clients' objects. Where clients share an object, or a client's own requests are
// scattered, b comes out small: then bursts save nothing, and the knee is low. That is the truth in both cases.
//
// Both are learnt from the gaps between replies of a server that has work all the time. They are means that forget: with every
// reply, all that was seen before loses 1/kMemory of its weight. Both kinds forget at the same pace, rare as one may be, so that
// a server that becomes slower in all it does keeps its b / a. A gap longer than kOutlier times the mean of its kind counts as
// that much, so that one pause does not spoil the mean.
//
// b / a is known once there is a weight of kEnough of each kind, and stays as it was while there is not, as with one client
// alone.
//
// Limits: a server that works on several requests at once, and ends them out of order, blurs the two kinds of gaps; b then comes
// out too small.
//
// Complexity: O(1). Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.hpp"

namespace iez::congestion {

class BurstCost {
 public:
  static constexpr double kMemory = 2000;
  static constexpr double kOutlier = 8;
  static constexpr double kEnough = 10;

  // A reply leaves; `busy`: there has been work ever since the reply before.
  void finish(Duration now, std::uint32_t client, bool busy);

  // The shortest burst whose throughput is (1 - loss) of that of endless ones: (b / a) (1 - loss) / loss. At least 1; nothing
  // while too little is known. REQUIRES: 0 < loss < 1.
  [[nodiscard]] std::optional<double> knee(double loss) const;

  struct Cost {
    double a = 0;  // s
    double b = 0;  // s
  };

  // So that a + b (part of the replies after one of another client) is the mean of all gaps, whatever is known of b; b counts as
  // 0 before it is known. Nothing before the first gap.
  [[nodiscard]] std::optional<Cost> cost() const;

 private:
  struct Mean {
    double weight = 0;
    double sum = 0;

    void forget();
    void add(double value);
    [[nodiscard]] double value() const { return sum / weight; }
  };

  Mean same_;
  Mean change_;
  std::optional<double> ratio_;
  Duration last_{};
  std::uint32_t last_client_ = 0;
  bool started_ = false;
};

}  // namespace iez::congestion
