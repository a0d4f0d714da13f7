// How two quantities vary together: enough of pairs to tell their correlation, in blocks that are joined.
#pragma once

#include <optional>
#include <span>

namespace iez::jobs {

class PairMoments {
 public:
  // REQUIRES: as many of both.
  void add(std::span<const double> x, std::span<const double> y);
  void join(const PairMoments& other);

  // Pearson's; nothing where one of them does not vary, as with no pair or one.
  std::optional<double> correlation() const;

 private:
  // Means, and sums of products of what differs from them: sums of squares themselves would lose all digits of a large mean.
  double count_ = 0;
  double mean_x_ = 0;
  double mean_y_ = 0;
  double xx_ = 0;
  double yy_ = 0;
  double xy_ = 0;
};

}  // namespace iez::jobs
