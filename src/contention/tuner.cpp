#include "contention/tuner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/rng.hpp"
#include "contention/quadratic_fit.hpp"
#include "model/layout.hpp"

namespace iez::contention {

namespace {

constexpr std::size_t kFailedLeapsBeforeClimb = 2;  // from one best, in a row
constexpr std::size_t kFailedLeapsAfterClimb = 4;   // with those before
constexpr double kWorthALeap = 0.005;               // in the logarithm: half a percent
constexpr double kNoSpeed = -50;                    // stands for the logarithm of a speed of 0: far below all others

Result<void> check_space(const TuneSpace& space) {
  if (space.counts.empty() || space.sizes.empty()) {
    return fail(Errc::invalid_argument, fmt::format("space: {} counts and {} sizes; expected at least 1 of each",
                                                    space.counts.size(), space.sizes.size()));
  }
  const auto not_rising = [](auto a, auto b) { return !(a < b); };
  if (std::ranges::adjacent_find(space.counts, not_rising) != space.counts.end()) {
    return fail(Errc::invalid_argument, "space: stripe counts must ascend, each once");
  }
  if (std::ranges::adjacent_find(space.sizes, not_rising) != space.sizes.end()) {
    return fail(Errc::invalid_argument, "space: stripe sizes must ascend, each once");
  }
  if (space.counts.front() == 0 || space.counts.back() > model::kMaxStripeCount) {
    return fail(Errc::invalid_argument, fmt::format("space: stripe counts {} to {}; expected 1 to {}", space.counts.front(),
                                                    space.counts.back(), model::kMaxStripeCount));
  }
  for (const Bytes size : space.sizes) {
    if (size.count == 0 || size.count % model::kStripeAlignment.count != 0 || size > model::kMaxStripeSize) {
      return fail(Errc::invalid_argument,
                  fmt::format("space: stripe size {}; expected a multiple of 64 KiB below 4 GiB", size.count));
    }
  }
  return {};
}

// 0 to 1 along an axis, by the logarithm.
double place(std::uint64_t value, std::uint64_t first, std::uint64_t last) {
  if (first == last) return 0.5;
  return std::log(static_cast<double>(value) / static_cast<double>(first)) /
         std::log(static_cast<double>(last) / static_cast<double>(first));
}

// The nearest index to a place on an axis.
std::size_t index_at(double where, std::size_t points) {
  return static_cast<std::size_t>(std::lround(where * static_cast<double>(points - 1)));
}

}  // namespace

TuneSpace doubling_space(std::uint32_t max_stripes, Bytes smallest, Bytes largest) {
  IEZ_ASSERT(max_stripes >= 1 && smallest >= model::kStripeAlignment && smallest <= largest);
  TuneSpace space;
  for (std::uint64_t count = 1; count < max_stripes; count *= 2) {
    space.counts.push_back(static_cast<std::uint32_t>(count));
    const std::uint64_t between = count + count / 2;
    if (count >= 4 && 4 * between > max_stripes && between < max_stripes)
      space.counts.push_back(static_cast<std::uint32_t>(between));
  }
  space.counts.push_back(max_stripes);
  for (Bytes size = smallest; size <= largest && size <= model::kMaxStripeSize; size = size + size) space.sizes.push_back(size);
  return space;
}

Result<Tuner> Tuner::make(TuneSpace space, TunerOptions options) {
  IEZ_CHECK(check_space(space));
  const bool share = options.noise >= 0 && options.noise < 1;  // false for no number, too
  if (!share) {
    return fail(Errc::invalid_argument, fmt::format("noise: {}; expected a share from 0 to below 1", options.noise));
  }
  Tuner tuner(std::move(space), options);
  if (options.standard) {
    auto standard = tuner.point_of(*options.standard);
    if (!standard) return with_context(std::move(standard).error(), "standard");
    tuner.spread_.insert(tuner.spread_.begin(), *standard);
  }
  return tuner;
}

Tuner::Tuner(TuneSpace space, TunerOptions options) : space_(std::move(space)), options_(options), points_(space_.points()) {
  if (options_.strategy == TuneStrategy::sweep) {
    spread_.resize(points_.size());
    std::iota(spread_.begin(), spread_.end(), std::size_t{0});
    if (!options_.shuffle) return;
    Rng rng(*options_.shuffle);
    for (std::size_t i = spread_.size(); i > 1; --i) std::swap(spread_[i - 1], spread_[rng.below(i)]);
    return;
  }
  // The upper quarters first: more and larger stripes are where speed usually is, and a small budget ends early.
  constexpr std::array<std::pair<double, double>, 5> kSpread{{{0.5, 0.5}, {0.8, 0.8}, {0.8, 0.2}, {0.2, 0.8}, {0.2, 0.2}}};
  for (const auto& [count, size] : kSpread) spread_.push_back(index_at(count, rows()) * columns() + index_at(size, columns()));
}

Setting Tuner::setting_at(std::size_t point) const { return {space_.counts[point / columns()], space_.sizes[point % columns()]}; }

Result<std::size_t> Tuner::point_of(const Setting& setting) const {
  const auto count = std::ranges::lower_bound(space_.counts, setting.stripes);
  const auto size = std::ranges::lower_bound(space_.sizes, setting.stripe_size);
  if (count == space_.counts.end() || *count != setting.stripes || size == space_.sizes.end() || *size != setting.stripe_size) {
    return fail(Errc::invalid_argument, fmt::format("{} stripes of {} is not a point of the space to tune", setting.stripes,
                                                    to_binary_string(setting.stripe_size)));
  }
  return static_cast<std::size_t>(count - space_.counts.begin()) * columns() +
         static_cast<std::size_t>(size - space_.sizes.begin());
}

Tuner::Point& Tuner::record(std::size_t point) {
  Point& told = points_[point];
  if (!told.tried()) told.order = tried_++;
  ++runs_;
  if (asked_ == point) asked_.reset();
  return told;
}

Result<void> Tuner::tell(const Setting& setting, BytesPerSecond speed) {
  IEZ_TRY(const std::size_t point, point_of(setting));
  if (!std::isfinite(speed.value) || speed.value < 0) {
    return fail(Errc::invalid_argument, fmt::format("speed {}: expected a number of bytes per second, 0 or more", speed.value));
  }
  Point& told = record(point);
  told.sum += speed.value;
  ++told.runs;
  return {};
}

Result<void> Tuner::tell_failed(const Setting& setting) {
  IEZ_TRY(const std::size_t point, point_of(setting));
  record(point).failed = true;
  return {};
}

// Points are ordered by count, then size, so the first of equals is the one with the fewest stripes.
std::optional<std::size_t> Tuner::best() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].usable() && (!best || points_[i].mean() > points_[*best].mean())) best = i;
  }
  return best;
}

std::optional<Setting> Tuner::next() {
  if (!asked_ && (options_.budget == 0 || runs_ < options_.budget)) asked_ = choose();
  return asked_ ? std::optional(setting_at(*asked_)) : std::nullopt;
}

std::optional<std::size_t> Tuner::choose() {
  const auto open = std::ranges::find_if(spread_, [&](std::size_t point) { return !points_[point].tried(); });
  if (open != spread_.end()) return *open;
  if (options_.strategy == TuneStrategy::search) {
    if (const auto point = choose_by_search()) return point;
  }
  const auto top = best();
  return top && options_.noise > 0 ? to_confirm(*top) : std::nullopt;
}

std::optional<std::size_t> Tuner::choose_by_search() {
  const auto top = best();
  if (!top) {  // all failed so far: go on anywhere
    const auto open = std::ranges::find_if(points_, [](const Point& point) { return !point.tried(); });
    return open == points_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(open - points_.begin()));
  }
  const std::vector<double> expected = surface(*top);
  if (const auto point = leap(*top, expected, kFailedLeapsBeforeClimb)) return point;
  if (const auto point = neighbour(*top, expected)) return point;
  return leap(*top, expected, kFailedLeapsAfterClimb);
}

std::vector<double> Tuner::surface(std::size_t best) const {
  const auto where = [&](std::size_t point) {
    const Setting setting = setting_at(point);
    return std::pair(place(setting.stripes, space_.counts.front(), space_.counts.back()),
                     place(setting.stripe_size.count, space_.sizes.front().count, space_.sizes.back().count));
  };
  const auto log_speed = [](double speed) { return speed > 0 ? std::log(speed) : kNoSpeed; };
  const double top = log_speed(points_[best].mean());
  const auto [u0, v0] = where(best);
  std::vector<QuadraticSample> samples;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!points_[i].usable()) continue;
    const auto [u, v] = where(i);
    samples.push_back({u - u0, v - v0, log_speed(points_[i].mean()) - top});
  }
  const QuadraticFit fit(samples);
  std::vector<double> expected(points_.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto [u, v] = where(i);
    expected[i] = fit.at(u - u0, v - v0);
  }
  return expected;
}

std::optional<std::size_t> Tuner::leap(std::size_t best, const std::vector<double>& surface, std::size_t max_failed) {
  if (leapt_from_ != best) {
    leapt_from_ = best;
    failed_leaps_ = 0;
  }
  if (failed_leaps_ >= max_failed) return std::nullopt;
  std::optional<std::size_t> highest;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].tried() || surface[i] < kWorthALeap) continue;
    if (!highest || surface[i] > surface[*highest]) highest = i;
  }
  if (highest) ++failed_leaps_;  // unless it moves the best
  return highest;
}

std::optional<std::size_t> Tuner::neighbour(std::size_t best, const std::vector<double>& surface) const {
  std::optional<std::size_t> chosen;
  const std::size_t row = best / columns();
  const std::size_t column = best % columns();
  for (std::size_t r = row - std::min<std::size_t>(row, 1); r <= std::min(row + 1, rows() - 1); ++r) {
    for (std::size_t c = column - std::min<std::size_t>(column, 1); c <= std::min(column + 1, columns() - 1); ++c) {
      const std::size_t point = r * columns() + c;
      if (!points_[point].tried() && (!chosen || surface[point] > surface[*chosen])) chosen = point;
    }
  }
  return chosen;
}

// The least often run of those that may be the best: within two standard errors of the difference. Nothing once the best stands
// alone, or all have been run often enough.
std::optional<std::size_t> Tuner::to_confirm(std::size_t best) const {
  const Point& top = points_[best];
  std::optional<std::size_t> chosen;
  std::size_t rivals = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Point& point = points_[i];
    if (!point.usable()) continue;
    const double error = options_.noise * top.mean() * std::sqrt(1.0 / top.runs + 1.0 / point.runs);
    if (point.mean() < top.mean() - 2 * error) continue;
    if (i != best) ++rivals;
    if (point.runs >= kMaxRepeats) continue;
    const bool better = !chosen || point.runs < points_[*chosen].runs ||
                        (point.runs == points_[*chosen].runs && point.mean() > points_[*chosen].mean());
    if (better) chosen = i;
  }
  return rivals > 0 ? chosen : std::nullopt;
}

TuneResult Tuner::result() const {
  TuneResult result;
  result.runs = runs_;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].tried()) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return points_[i].order; });
  const auto trial = [&](std::size_t i) {
    const Point& point = points_[i];
    return Trial{setting_at(i), {point.runs > 0 ? point.mean() : 0}, point.runs, point.failed};
  };
  for (const std::size_t i : order) result.trials.push_back(trial(i));

  const auto top = best();
  if (top) {
    result.best = trial(*top);
    const auto is_base = [&](const Trial& t) { return !t.failed && (!options_.standard || t.setting == *options_.standard); };
    const auto base = std::ranges::find_if(result.trials, is_base);
    if (base != result.trials.end() && base->mean.value > 0) result.gain = result.best->mean.value / base->mean.value;
  }
  // Asking on a copy: what next() would say must not change what it says.
  Tuner copy = *this;
  copy.options_.budget = 0;
  const bool ideas = copy.next().has_value();
  result.out_of_budget = ideas && !asked_ && options_.budget > 0 && runs_ >= options_.budget;
  result.finished = !ideas || result.out_of_budget;
  return result;
}

}  // namespace iez::contention
