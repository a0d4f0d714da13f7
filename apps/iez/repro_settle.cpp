#include "repro_settle.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace iez::cli {

namespace {

constexpr std::size_t kAverage = 5;  // samples
constexpr double kBand = 0.15;

}  // namespace

std::optional<double> settle_time(std::span<const sim::Sample> samples, Duration from, Duration to) {
  std::vector<double> depths;
  std::vector<double> times;
  for (const sim::Sample& sample : samples) {
    if (sample.at <= from || sample.at > to) continue;
    depths.push_back(static_cast<double>(sample.depth));
    times.push_back(std::chrono::duration<double>(sample.at - from).count());
  }
  if (depths.size() < 2 * kAverage) return std::nullopt;
  std::vector<double> averages(depths.size() - kAverage + 1);
  for (std::size_t i = 0; i < averages.size(); ++i) {
    for (std::size_t j = 0; j < kAverage; ++j) averages[i] += depths[i + j] / static_cast<double>(kAverage);
  }
  // Backwards, with the sum and the extremes of all that follow.
  double sum = 0;
  double lowest = averages.back();
  double highest = averages.back();
  std::optional<std::size_t> settled;
  for (std::size_t i = averages.size(); i-- > 0;) {
    sum += averages[i];
    lowest = std::min(lowest, averages[i]);
    highest = std::max(highest, averages[i]);
    const double mean = sum / static_cast<double>(averages.size() - i);
    if (highest <= mean * (1 + kBand) && lowest >= mean * (1 - kBand)) settled = i;
  }
  if (!settled || *settled > averages.size() - averages.size() / 10) return std::nullopt;
  return times[*settled];
}

double jain_index(std::span<const double> shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 1;
}

}  // namespace iez::cli
