#include "sim_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/result.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

using sim::RunResult;
using Value = std::optional<double>;

template <typename Of>
Value of_stable(const RunResult& run, Of of) {
  return run.stable ? Value(of(*run.stable)) : std::nullopt;
}

constexpr std::array<Figure, 14> kFigures{{
    {"bandwidth", "bandwidth", FigureUnit::rate, [](const RunResult& run) -> Value { return run.bandwidth.value; }},
    {"time", "time", FigureUnit::seconds, [](const RunResult& run) -> Value { return to_seconds(run.end); }},
    {"latency, mean", "latency_mean", FigureUnit::seconds, [](const RunResult& run) -> Value { return run.latency.mean; }},
    {"latency, 99 %", "latency_p99", FigureUnit::seconds, [](const RunResult& run) -> Value { return run.latency.p99; }},
    {"latency, longest", "latency_max", FigureUnit::seconds, [](const RunResult& run) -> Value { return run.latency.max; }},
    {"deepest queue", "deepest", FigureUnit::count,
     [](const RunResult& run) -> Value { return static_cast<double>(run.deepest); }},
    {"time-outs", "timeouts", FigureUnit::count, [](const RunResult& run) -> Value { return static_cast<double>(run.timeouts); }},
    {"useless requests", "useless", FigureUnit::count,
     [](const RunResult& run) -> Value { return static_cast<double>(run.useless); }},
    {"targets busy, mean", "busy_mean", FigureUnit::share, [](const RunResult& run) -> Value { return mean_busy(run); }},
    {"targets busy, most", "busy_max", FigureUnit::share, [](const RunResult& run) -> Value { return highest_busy(run); }},
    {"requests that seek", "seeks", FigureUnit::share, [](const RunResult& run) -> Value { return seek_share(run); }},
    {"stable bandwidth", "stable_bandwidth", FigureUnit::rate,
     [](const RunResult& run) { return of_stable(run, [](const sim::StablePhase& phase) { return phase.bandwidth.value; }); }},
    {"stable latency, mean", "stable_latency_mean", FigureUnit::seconds,
     [](const RunResult& run) { return of_stable(run, [](const sim::StablePhase& phase) { return phase.latency.mean; }); }},
    {"stable latency, 99 %", "stable_latency_p99", FigureUnit::seconds,
     [](const RunResult& run) { return of_stable(run, [](const sim::StablePhase& phase) { return phase.latency.p99; }); }},
}};

// 97.5 % quantiles of Student's law with 1, 2, ... degrees of freedom.
constexpr std::array<double, 30> kStudent{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                          2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                          2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

// Beyond the table, by its expansion for many degrees of freedom, good to three digits.
double student(std::size_t freedom) {
  return freedom <= kStudent.size() ? kStudent[freedom - 1] : 1.95996 + 2.3723 / static_cast<double>(freedom);
}

std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

double busy_share(const sim::TargetResult& target, Duration end) {
  return end > Duration::zero() ? std::min(1.0, to_seconds(target.busy) / to_seconds(end)) : 0;
}

}  // namespace

std::span<const Figure> run_figures() { return kFigures; }

double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  return seconds < 0.9995 ? three_digits(seconds * 1e3) + " ms" : three_digits(seconds) + " s";
}

std::string figure_text(FigureUnit unit, double value) {
  switch (unit) {
    case FigureUnit::rate:
      return to_string(BytesPerSecond{value});
    case FigureUnit::seconds:
      return seconds_text(value);
    case FigureUnit::share:
      return percent(value);
    case FigureUnit::count:
      break;
  }
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

std::string_view unit_name(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::rate:
      return "B/s";
    case FigureUnit::seconds:
      return "s";
    case FigureUnit::share:
    case FigureUnit::count:
      break;
  }
  return "";
}

double mean_busy(const RunResult& run) {
  double sum = 0;
  for (const sim::TargetResult& target : run.targets) sum += busy_share(target, run.end);
  return run.targets.empty() ? 0 : sum / static_cast<double>(run.targets.size());
}

double highest_busy(const RunResult& run) {
  double most = 0;
  for (const sim::TargetResult& target : run.targets) most = std::max(most, busy_share(target, run.end));
  return most;
}

double seek_share(const RunResult& run) {
  double requests = 0;
  double seeks = 0;
  for (const sim::TargetResult& target : run.targets) {
    requests += static_cast<double>(target.requests);
    seeks += static_cast<double>(target.positionings);
  }
  return requests > 0 ? seeks / requests : 0;
}

Spread spread_of(std::span<const double> values) {
  IEZ_ASSERT(!values.empty());
  const auto count = static_cast<double>(values.size());
  // From the first on, so that many equal values have exactly their own mean.
  double sum = 0;
  for (const double value : values) sum += value - values.front();
  Spread spread{.mean = values.front() + sum / count};
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.band = student(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return spread;
}

std::string spread_text(FigureUnit unit, const Spread& spread) {
  std::string text = figure_text(unit, spread.mean);
  if (spread.band) text += " +- " + figure_text(unit, *spread.band);
  return text;
}

}  // namespace iez::cli
