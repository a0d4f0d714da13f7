#include "forecast_workloads.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "forecast/series.hpp"
#include "forecast_data.hpp"

namespace iez::bench {

namespace {

constexpr double kMib = 1024.0 * 1024.0;
constexpr double kParticleBytes = 38;

// Estimated from the traces.
constexpr double kHaccNoise = 0.0023;
constexpr double kSmallNoise = 0.011;
constexpr double kFullNoise = 0.0115;
constexpr unsigned kFullEvery = 8;
constexpr double kPhi1 = 0.663;
constexpr double kPhi2 = -0.338;
constexpr double kArNoise = 0.089;
constexpr unsigned kRanks = 8;
constexpr double kRankNoise = 0.003;

double uniform(Rng& rng, double low, double high) { return low + (high - low) * rng.unit(); }

void add(KnownSeries& series, double expected, double noise, Rng& rng) {
  series.expected.push_back(expected);
  series.values.push_back(std::round(expected * (1 + noise * normal(rng))));
}

void make_checkpoints(KnownSeries& series, std::size_t length, Rng& rng) {
  const double small = uniform(rng, 100 * kMib, 1000 * kMib);
  const double full = small * uniform(rng, 10, 20);
  const double growth = uniform(rng, 0.02, 0.05);
  for (std::size_t i = 0; i < length; ++i) {
    if (i % kFullEvery != kFullEvery - 1) {
      add(series, small, kSmallNoise, rng);
    } else {
      add(series, full * (1 + growth * forecast::cycle_of(i, kFullEvery)), kFullNoise, rng);
    }
  }
}

void make_autoregression(KnownSeries& series, std::size_t length, Rng& rng) {
  constexpr int kWarmUp = 100;
  const double level = uniform(rng, 500 * kMib, 2000 * kMib);
  double last = 0;
  double before = 0;
  for (int i = 0; i < kWarmUp; ++i) {
    const double next = kPhi1 * last + kPhi2 * before + kArNoise * normal(rng);
    before = last;
    last = next;
  }
  for (std::size_t i = 0; i < length; ++i) {
    const double expected = kPhi1 * last + kPhi2 * before;
    before = last;
    last = expected + kArNoise * normal(rng);
    series.expected.push_back(level * (1 + expected));
    series.values.push_back(std::round(level * (1 + last)));
  }
}

void make_rank_files(KnownSeries& series, std::size_t length, Rng& rng) {
  const double first = uniform(rng, 300 * kMib, 600 * kMib);
  const double apart = uniform(rng, 100 * kMib, 200 * kMib);
  const double growth = uniform(rng, 0.003, 0.007);
  for (std::size_t i = 0; i < length; ++i) {
    const double rank = static_cast<double>(i % kRanks);
    const double step = forecast::cycle_of(i, kRanks);
    add(series, (first + apart * rank) * (1 + growth * step), kRankNoise, rng);
  }
}

std::size_t length_of_trace(SeriesKind kind) {
  switch (kind) {
    case SeriesKind::ior_const:
    case SeriesKind::hacc:
      return 72;
    case SeriesKind::ckpt_mix:
    case SeriesKind::files_rank_order:
      return 96;
    case SeriesKind::ar2_noisy:
      return 120;
    case SeriesKind::short8_hacc:
      break;
  }
  return 8;
}

// What is before the separator; text is moved behind it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return front;
}

std::optional<double> parse_value(std::string_view field) {
  if (field == "NA") return std::numeric_limits<double>::quiet_NaN();
  return text::parse_double(field);
}

// The column "value" of a CSV text without quotes.
Result<std::vector<double>> find_values(std::span<const NamedText> texts, std::string_view name) {
  for (const NamedText& known : texts) {
    if (known.name != name) continue;
    std::string_view rest = known.text;
    std::string_view header = take_until(rest, '\n');
    std::size_t column = 0;
    while (!header.empty() && take_until(header, ',') != "value") ++column;
    std::vector<double> values;
    while (!rest.empty()) {
      std::string_view line = text::trim(take_until(rest, '\n'));
      if (line.empty()) continue;
      for (std::size_t i = 0; i < column; ++i) take_until(line, ',');
      const std::string_view field = text::trim(take_until(line, ','));
      const auto value = parse_value(field);
      if (!value) return fail(Errc::parse, fmt::format("{}: '{}' in column value, expected a number or NA", name, field));
      values.push_back(*value);
    }
    return values;
  }
  return fail(Errc::not_found, fmt::format("series {} is not compiled in: name it in bench/CMakeLists.txt", name));
}

}  // namespace

Result<std::vector<double>> trace_values(std::string_view name) { return find_values(kForecastTraces, name); }
Result<std::vector<double>> golden_values(std::string_view name) { return find_values(kForecastSeries, name); }

std::string_view to_string(SeriesKind kind) {
  switch (kind) {
    case SeriesKind::ior_const:
      return "ior_const";
    case SeriesKind::hacc:
      return "hacc";
    case SeriesKind::ckpt_mix:
      return "ckpt_mix";
    case SeriesKind::ar2_noisy:
      return "ar2_noisy";
    case SeriesKind::files_rank_order:
      return "files_rank_order";
    case SeriesKind::short8_hacc:
      break;
  }
  return "short8_hacc";
}

KnownSeries make_series(SeriesKind kind, std::uint64_t seed, std::size_t length) {
  if (length == 0) length = length_of_trace(kind);
  KnownSeries series;
  series.values.reserve(length);
  series.expected.reserve(length);
  Rng rng(seed);
  switch (kind) {
    case SeriesKind::ior_const: {
      const double size = 64 * kMib * static_cast<double>(rng.between(1, 64));
      series.values.assign(length, size);
      series.expected.assign(length, size);
      break;
    }
    case SeriesKind::hacc:
    case SeriesKind::short8_hacc: {
      const double particles = uniform(rng, 5e6, 20e6);
      for (std::size_t i = 0; i < length; ++i) add(series, kParticleBytes * particles, kHaccNoise, rng);
      break;
    }
    case SeriesKind::ckpt_mix:
      make_checkpoints(series, length, rng);
      break;
    case SeriesKind::ar2_noisy:
      make_autoregression(series, length, rng);
      break;
    case SeriesKind::files_rank_order:
      make_rank_files(series, length, rng);
      break;
  }
  return series;
}

// Two uniform numbers to a normal one (Box and Muller).
double normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.unit()));
  return radius * std::cos(2 * std::numbers::pi * rng.unit());
}

std::size_t held_out(std::size_t length) {
  if (length <= 8) return 2;
  return length <= 12 ? 4 : 12;
}

}  // namespace iez::bench
