#include "jobs/pair_moments.hpp"

#include <algorithm>
#include <cmath>

namespace iez::jobs {

void PairMoments::add(std::span<const double> x, std::span<const double> y) {
  if (x.empty()) return;
  PairMoments block;
  block.count_ = static_cast<double>(x.size());
  // Against the first pair: what does not vary has exactly its own value as mean.
  double sum_x = 0;
  double sum_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum_x += x[i] - x[0];
    sum_y += y[i] - y[0];
  }
  block.mean_x_ = x[0] + sum_x / block.count_;
  block.mean_y_ = y[0] + sum_y / block.count_;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - block.mean_x_;
    const double dy = y[i] - block.mean_y_;
    block.xx_ += dx * dx;
    block.yy_ += dy * dy;
    block.xy_ += dx * dy;
  }
  join(block);
}

void PairMoments::join(const PairMoments& other) {
  if (other.count_ == 0) return;
  const double all = count_ + other.count_;
  const double dx = other.mean_x_ - mean_x_;
  const double dy = other.mean_y_ - mean_y_;
  const double weight = count_ * other.count_ / all;
  xx_ += other.xx_ + dx * dx * weight;
  yy_ += other.yy_ + dy * dy * weight;
  xy_ += other.xy_ + dx * dy * weight;
  mean_x_ += dx * (other.count_ / all);
  mean_y_ += dy * (other.count_ / all);
  count_ = all;
}

std::optional<double> PairMoments::correlation() const {
  const double both = std::sqrt(xx_) * std::sqrt(yy_);
  if (!(both > 0) || !std::isfinite(both)) return std::nullopt;
  return std::clamp(xy_ / both, -1.0, 1.0);
}

}  // namespace iez::jobs
