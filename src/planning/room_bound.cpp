#include "planning/room_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planning/phase_bound.hpp"

namespace iez::planning {

namespace {

constexpr int kCells = 64;
constexpr int kDoublings = 40;
constexpr int kSteps = 40;
constexpr double kPrecision = 1e-4;

}  // namespace

void RoomBound::add_phase(PhaseBound& outside, double least, double room_per_byte) {
  const auto room_at = [&](double time) { return std::max(0.0, outside.left_over(time)) * room_per_byte; };
  const double at_least = room_at(least);
  if (at_least <= 0) return;
  // The time at which none is taken, from below.
  double none = std::max(least, std::numeric_limits<double>::min());
  for (int step = 0; step < kDoublings && room_at(none) > 0; ++step) none *= 2;
  double low = std::max(least, none / 2);
  while (none - low > none * kPrecision) {
    const double middle = (low + none) / 2;
    (room_at(middle) > 0 ? low : none) = middle;
  }
  std::vector<Cell> cells;
  for (int i = 0; i < kCells; ++i) {
    const double begin = (low - least) * i / kCells;
    const double end = (low - least) * (i + 1) / kCells;
    cells.push_back({.longer = begin, .room = room_at(least + end)});
  }
  cells.push_back({.longer = low - least, .room = 0});
  most_room_ += at_least;
  most_time_ += low - least;
  cells_.push_back(std::move(cells));
}

double RoomBound::at(double price) const {
  double sum = -price * room_;
  for (const std::vector<Cell>& cells : cells_) {
    double least = std::numeric_limits<double>::infinity();
    for (const Cell& cell : cells) least = std::min(least, cell.longer + price * cell.room);
    sum += least;
  }
  return sum;
}

double RoomBound::value() const {
  if (most_room_ <= room_) return 0;
  // Beyond the price at which no phase takes any, the bound only falls.
  double low = 0;
  double high = most_time_ / (most_room_ - room_);
  for (int step = 0; step < kDoublings && at(high * 2) > at(high); ++step) high *= 2;
  high *= 2;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double best = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double a = high - golden * (high - low);
    const double b = low + golden * (high - low);
    const double at_a = at(a);
    const double at_b = at(b);
    best = std::max({best, at_a, at_b});
    if (at_a > at_b) {
      high = b;
    } else {
      low = a;
    }
  }
  return best;
}

}  // namespace iez::planning
