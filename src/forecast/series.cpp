#include "forecast/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/result.hpp"

namespace iez::forecast {
namespace {

constexpr double kKpssCritical = 0.463;       // 5 %, level stationarity
constexpr double kLeastStrength = 1.0 / 3.0;  // a weaker season is left to ARIMA
constexpr double kAlike = 0.05;               // of strength: a divisor that is that near is the period
constexpr double kExact = 1e-12;              // of the variance: less is rounding

// Residuals after the least-squares line through the values that are there.
std::vector<double> without_line(std::span<const double> values) {
  double n = 0;
  double sum_t = 0;
  double sum_v = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    n += 1;
    sum_t += static_cast<double>(i);
    sum_v += values[i];
  }
  std::vector<double> rest(values.begin(), values.end());
  if (n < 2) return rest;
  const double mean_t = sum_t / n;
  const double mean_v = sum_v / n;
  double tt = 0;
  double tv = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    const double t = static_cast<double>(i) - mean_t;
    tt += t * t;
    tv += t * (values[i] - mean_v);
  }
  const double slope = tt > 0 ? tv / tt : 0;
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= mean_v + slope * (static_cast<double>(i) - mean_t);
  return rest;
}

// A series without its line, and how large what is left is.
struct Detrended {
  explicit Detrended(std::span<const double> values) : rest(without_line(values)) {
    for (const double value : rest) {
      if (std::isnan(value)) continue;
      count += 1;
      total += value * value;
    }
  }
  double variance() const { return total / std::max(1.0, count - 2); }

  std::vector<double> rest;
  double count = 0;
  double total = 0;  // sum of squares
};

struct Explained {
  double rest = 0;        // sum of squares that the phases leave
  double parameters = 0;  // spent on it
};

// Sums of one phase, for its mean or its line.
struct PhaseSums {
  double n = 0;
  double t = 0;
  double v = 0;
  double tt = 0;
  double tv = 0;
  double vv = 0;

  void add(double time, double value) {
    n += 1;
    t += time;
    v += value;
    tt += time * time;
    tv += time * value;
    vv += value * value;
  }
  double square_about_mean() const { return std::max(0.0, vv - v * v / n); }
  double square_about_line() const {
    const double spread_t = tt - t * t / n;
    if (n < 3 || spread_t <= 0) return square_about_mean();
    const double joint = tv - t * v / n;
    return std::max(0.0, square_about_mean() - joint * joint / spread_t);
  }
};

Explained explain(std::span<const double> rest, unsigned period, bool lines, std::vector<PhaseSums>& phases) {
  phases.assign(period, PhaseSums{});
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (!std::isnan(rest[i])) phases[i % period].add(cycle_of(i, period), rest[i]);
  }
  Explained result;
  for (const PhaseSums& phase : phases) {
    if (phase.n == 0) continue;
    result.rest += lines ? phase.square_about_line() : phase.square_about_mean();
    result.parameters += lines && phase.n >= 3 ? 2 : 1;
  }
  return result;
}

}  // namespace

std::vector<Observation> observations(std::span<const double> values) {
  std::vector<Observation> there;
  there.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) there.push_back({.time = static_cast<double>(i), .value = values[i]});
  }
  return there;
}

double mean(std::span<const double> values) {
  IEZ_ASSERT(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  IEZ_ASSERT(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

double spread(std::span<const double> values) {
  if (values.empty()) return 0;
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

bool constant(std::span<const double> values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  constexpr double kRounding = 16 * std::numeric_limits<double>::epsilon();
  return low > high || high - low <= kRounding * std::max(std::abs(low), std::abs(high));
}

double kpss(std::span<const double> values) {
  std::vector<double> rest;
  rest.reserve(values.size());
  for (const double value : values) {
    if (!std::isnan(value)) rest.push_back(value);
  }
  const std::size_t n = rest.size();
  if (n < 4) return 0;
  const double level = mean(rest);
  for (double& value : rest) value -= level;
  const auto count = static_cast<double>(n);
  double partial = 0;
  double partial_squares = 0;
  for (const double value : rest) {
    partial += value;
    partial_squares += partial * partial;
  }
  // Bartlett's long-run variance, with the window that the authors call short.
  const auto window = static_cast<std::size_t>(4 * std::pow(count / 100, 0.25));
  double variance = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
  for (std::size_t lag = 1; lag <= window && lag < n; ++lag) {
    double product = 0;
    for (std::size_t i = lag; i < n; ++i) product += rest[i] * rest[i - lag];
    variance += 2 * (1 - static_cast<double>(lag) / static_cast<double>(window + 1)) * product;
  }
  if (!(variance > 0)) return 0;
  return partial_squares / (count * variance);
}

unsigned differences_needed(std::span<const double> values, unsigned most) {
  std::vector<double> rest(values.begin(), values.end());
  unsigned times = 0;
  while (times < most && !constant(rest) && kpss(rest) > kKpssCritical) {
    for (std::size_t i = 0; i + 1 < rest.size(); ++i) rest[i] = rest[i + 1] - rest[i];
    rest.pop_back();
    ++times;
  }
  return times;
}

double season_strength(std::span<const double> values, unsigned period) {
  const Detrended series(values);
  if (!(series.total > 0)) return 0;
  std::vector<PhaseSums> phases;
  double strength = 0;
  for (const bool lines : {false, true}) {
    const Explained by_phase = explain(series.rest, period, lines, phases);
    const double free = series.count - by_phase.parameters - (lines ? 0 : 1);
    if (free > 0) strength = std::max(strength, 1 - by_phase.rest / free / series.variance());
  }
  return strength;
}

std::optional<Season> find_season(std::span<const double> values) {
  const Detrended series(values);
  const std::vector<double>& rest = series.rest;
  const double n = series.count;
  const double total = series.total;
  const auto longest = std::min<std::size_t>(kLongestPeriod, values.size() / 3);
  if (longest < 2 || !(total > 0)) return std::nullopt;
  const double variance = series.variance();

  std::vector<Season> likely;
  std::size_t best = 0;  // of likely
  double best_cost = 0;
  std::vector<PhaseSums> phases;
  for (unsigned period = 2; period <= longest; ++period) {
    for (const bool lines : {false, true}) {
      const Explained by_phase = explain(rest, period, lines, phases);
      const double used = by_phase.parameters;
      const double free = n - used - (lines ? 0 : 1);
      if (free < n / 4) continue;
      const double left = by_phase.rest / free / variance;
      // Of so many periods tried one explains much by chance: the F ratio must beat its usual size by the logarithm of the tries.
      const double ratio = by_phase.rest > 0 ? ((total - by_phase.rest) / used) / (by_phase.rest / free) : 1e300;
      const double chance = 1 + 2.5 * std::sqrt(2 * (1 / used + 1 / free) * std::log(static_cast<double>(longest) * 100));
      if (1 - left < kLeastStrength || ratio < chance) continue;
      const double cost = n * std::log(std::max(by_phase.rest / total, kExact)) + used * std::log(n);
      likely.push_back({.period = period, .strength = 1 - left});
      if (likely.size() > 1 && !(cost < best_cost)) continue;
      best = likely.size() - 1;
      best_cost = cost;
    }
  }
  if (likely.empty()) return std::nullopt;
  // A few large phases can make a multiple look better than it is.
  for (const Season& shorter : likely) {
    if (likely[best].period % shorter.period == 0 && shorter.strength > likely[best].strength - kAlike) return shorter;
  }
  return likely[best];
}

}  // namespace iez::forecast
