#include "forecast/simple.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/result.hpp"

namespace iez::forecast {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

double mean_value(std::span<const Observation> history) {
  double sum = 0;
  for (const Observation& one : history) sum += one.value;
  return sum / static_cast<double>(history.size());
}

double median_value(std::span<const Observation> history) {
  std::vector<double> values;
  values.reserve(history.size());
  for (const Observation& one : history) values.push_back(one.value);
  return median(std::move(values));
}

double drift_value(std::span<const Observation> history, double time) {
  const Observation& first = history.front();
  const Observation& last = history.back();
  if (history.size() < 2) return last.value;
  return last.value + (last.value - first.value) / (last.time - first.time) * (time - last.time);
}

double trend_value(std::span<const Observation> history, double time) {
  if (history.size() < 3) return drift_value(history, time);
  const auto n = static_cast<double>(history.size());
  double mean_t = 0;
  for (const Observation& one : history) mean_t += one.time / n;
  const double mean_v = mean_value(history);
  double tt = 0;
  double tv = 0;
  for (const Observation& one : history) {
    tt += (one.time - mean_t) * (one.time - mean_t);
    tv += (one.time - mean_t) * (one.value - mean_v);
  }
  return mean_v + tv / tt * (time - mean_t);
}

double local_value(std::span<const Observation> history) {
  double best_level = history.back().value;
  double best_error = std::numeric_limits<double>::infinity();
  for (const double weight : {0.1, 0.2, 0.3, 0.5, 0.7}) {
    double level = history.front().value;
    double error = 0;
    for (const Observation& one : history.subspan(1)) {
      error += std::abs(one.value - level);
      level += weight * (one.value - level);
    }
    if (error < best_error) {
      best_error = error;
      best_level = level;
    }
  }
  return best_level;
}

// The observations of one phase, their time counted in periods.
std::vector<Observation> phase_of(std::span<const double> values, std::size_t phase, std::size_t period) {
  std::vector<Observation> result;
  result.reserve(values.size() / period + 1);
  for (std::size_t i = phase; i < values.size(); i += period) {
    if (!std::isnan(values[i])) result.push_back({.time = cycle_of(i, period), .value = values[i]});
  }
  return result;
}

std::span<const Observation> before(std::span<const Observation> history, double time) {
  const auto end = std::ranges::lower_bound(history, time, {}, &Observation::time);
  return history.first(static_cast<std::size_t>(end - history.begin()));
}

}  // namespace

std::string_view to_string(Simple method) {
  switch (method) {
    case Simple::naive:
      return "naive";
    case Simple::mean:
      return "mean";
    case Simple::median:
      return "median";
    case Simple::drift:
      return "drift";
    case Simple::trend:
      return "trend";
    case Simple::local:
      return "local";
  }
  return "?";
}

double simple_value(Simple method, std::span<const Observation> history, double time) {
  IEZ_ASSERT(!history.empty() && history.back().time < time);
  switch (method) {
    case Simple::naive:
      return history.back().value;
    case Simple::mean:
      return mean_value(history);
    case Simple::median:
      return median_value(history);
    case Simple::drift:
      return drift_value(history, time);
    case Simple::trend:
      return trend_value(history, time);
    case Simple::local:
      return local_value(history);
  }
  return history.back().value;
}

std::vector<double> simple_path(Simple method, std::span<const double> values, unsigned period, std::size_t horizon) {
  const std::size_t cycle = std::max(1U, period);
  const auto all = observations(values);
  IEZ_ASSERT(!all.empty());
  const double anything = mean_value(all);
  std::vector<double> path(horizon);
  for (std::size_t phase = 0; phase < cycle; ++phase) {
    const auto history = phase_of(values, phase, cycle);
    for (std::size_t i = values.size(); i < values.size() + horizon; ++i) {
      if (i % cycle != phase) continue;
      path[i - values.size()] = history.empty() ? anything : simple_value(method, history, cycle_of(i, cycle));
    }
  }
  return path;
}

std::vector<double> simple_rolling(Simple method, std::span<const double> values, unsigned period, std::size_t count) {
  IEZ_ASSERT(count <= values.size());
  const std::size_t cycle = std::max(1U, period);
  std::vector<std::vector<Observation>> phases;
  phases.reserve(cycle);
  for (std::size_t phase = 0; phase < cycle; ++phase) phases.push_back(phase_of(values, phase, cycle));
  std::vector<double> said;
  said.reserve(count);
  for (std::size_t i = values.size() - count; i < values.size(); ++i) {
    const auto time = cycle_of(i, cycle);
    const auto history = before(phases[i % cycle], time);
    said.push_back(history.empty() ? kMissing : simple_value(method, history, time));
  }
  return said;
}

}  // namespace iez::forecast
