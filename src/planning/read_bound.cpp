#include "planning/read_bound.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace iez::planning {

namespace {

constexpr int kSteps = 300;
constexpr int kTangents = 24;
constexpr double kPrecision = 1e-5;
constexpr int kPatience = 12;  // steps without a better bound, after which they get shorter

// The nearest point with no coordinate below 0 whose sum is at most 1.
void project(std::vector<double>& point) {
  double sum = 0;
  for (double& value : point) {
    value = std::max(0.0, value);
    sum += value;
  }
  if (sum <= 1) return;
  std::vector<double> sorted = point;
  std::ranges::sort(sorted, std::greater<>());
  double before = 0;
  double less = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    before += sorted[i];
    const double candidate = (before - 1) / static_cast<double>(i + 1);
    if (candidate >= sorted[i]) break;
    less = candidate;
  }
  for (double& value : point) value = std::max(0.0, value - less);
}

}  // namespace

ReadBound::ReadBound(std::span<const double> speed, std::span<const double> room, const Phase& read)
    : speed_(speed.begin(), speed.end()),
      room_(room.begin(), room.end()),
      read_load_(speed.size()),
      read_least_(read.least),
      price_(speed.size()),
      order_(speed.size()) {
  for (std::size_t j = 0; j < speed_.size(); ++j) read_load_[j] = std::min(read.load[j], read.least * speed_[j]);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

void ReadBound::add_written(const Phase& phase, double bytes) {
  Written written{.taken = phase.load, .least = phase.least, .bytes = bytes};
  for (std::size_t j = 0; j < speed_.size(); ++j) written.taken[j] = std::min(phase.load[j], phase.least * speed_[j]);
  written_.push_back(std::move(written));
}

double ReadBound::target_room(const Written& phase, std::size_t target, double time) const {
  return std::clamp(time * speed_[target] - phase.taken[target], 0.0, room_[target]);
}

ReadBound::Filling ReadBound::fill(const Written& phase, double time) const {
  Filling out;
  double left = phase.bytes;
  double sped = 0;    // by which the bytes so far grow with time
  double priced = 0;  // and their cost
  for (const std::size_t j : order_) {
    const double fits = target_room(phase, j, time);
    if (fits >= left) {
      out.cost += left * price_[j];
      out.slope = priced - sped * price_[j];
      out.enough = true;
      return out;
    }
    out.cost += fits * price_[j];
    left -= fits;
    if (fits >= room_[j]) continue;
    sped += speed_[j];
    priced += speed_[j] * price_[j];
  }
  // Nearly enough is for rounding.
  out.cost += order_.empty() ? 0 : left * price_[order_.back()];
  out.slope = order_.empty() ? 0 : priced - sped * price_[order_.back()];
  return out;
}

double ReadBound::least(const Written& phase, double& time) const {
  double low = phase.least;
  Filling at_low = fill(phase, low);
  time = low;
  if (1 + at_low.slope >= 0) return low + at_low.cost;
  // Where the slope is positive: at the latest when all bytes are on the cheapest target.
  double high = std::max(low, phase.least * 2);
  Filling at_high = fill(phase, high);
  for (int step = 0; step < kTangents && 1 + at_high.slope < 0; ++step) {
    high *= 2;
    at_high = fill(phase, high);
  }
  for (int step = 0;; ++step) {
    // The tangents meet below the function.
    const double value_low = low + at_low.cost;
    const double value_high = high + at_high.cost;
    const double fall = 1 + at_low.slope;
    const double rise = 1 + at_high.slope;
    if (rise < 0) return low;
    const double meet = std::clamp((value_high - value_low + fall * low - rise * high) / (fall - rise), low, high);
    const double bound = value_low + fall * (meet - low);
    const Filling between = fill(phase, meet);
    time = meet;
    if (step == kTangents || meet + between.cost - bound <= kPrecision * phase.least) return std::min(bound, meet + between.cost);
    if (1 + between.slope < 0) {
      low = meet;
      at_low = between;
    } else {
      high = meet;
      at_high = between;
    }
  }
}

void ReadBound::add_filled(const Written& phase, double time, std::vector<double>& filled) const {
  double left = phase.bytes;
  for (const std::size_t j : order_) {
    const double fits = std::min(left, target_room(phase, j, time));
    filled[j] += fits;
    left -= fits;
    if (left <= 0) return;
  }
}

double ReadBound::value(double most) {
  const std::size_t m = speed_.size();
  if (m == 0 || written_.empty()) return 0;
  double speeds = 0;
  for (const double speed : speed_) speeds += speed;
  std::vector<double> weight(m);
  for (std::size_t j = 0; j < m; ++j) weight[j] = speed_[j] / speeds;
  std::vector<double> filled(m);
  double best = 0;
  std::vector<double> best_weight = weight;
  double length = 1;
  int without = 0;
  for (int step = 0; step < kSteps && best < most; ++step) {
    for (std::size_t j = 0; j < m; ++j) price_[j] = weight[j] / speed_[j];
    std::ranges::sort(order_, {}, [&](std::size_t j) { return std::pair(price_[j], j); });
    std::ranges::fill(filled, 0.0);
    double value = read_only_ * price_[order_.front()];
    filled[order_.front()] += read_only_;
    for (std::size_t j = 0; j < m; ++j) value += weight[j] * (read_load_[j] / speed_[j] - read_least_);
    for (const Written& phase : written_) {
      double time = 0;
      value += least(phase, time) - phase.least;
      add_filled(phase, time, filled);
    }
    if (value > best) {
      best = value;
      best_weight = weight;
      without = 0;
    } else if (++without >= kPatience) {
      without = 0;
      length /= 2;
      weight = best_weight;
      continue;
    }
    // Towards a bound that is as good as it may be (Polyak).
    double norm = 0;
    for (std::size_t j = 0; j < m; ++j) {
      filled[j] = (read_load_[j] + filled[j]) / speed_[j] - read_least_;
      norm += filled[j] * filled[j];
    }
    if (norm <= 0) break;
    for (std::size_t j = 0; j < m; ++j) weight[j] += length * (most - value) / norm * filled[j];
    project(weight);
  }
  return std::max(0.0, best);
}

}  // namespace iez::planning
