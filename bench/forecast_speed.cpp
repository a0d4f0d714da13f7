// Time and memory of forecasts: one series, many one after the other, a fleet.
#include "forecast_parts.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "forecast/forecaster.hpp"
#include "forecast_workloads.hpp"
#include "measure.hpp"

namespace iez::bench {

namespace {

constexpr std::size_t kPoints = 72;
constexpr std::size_t kLeast = 40;  // values of a series of the fleet
constexpr std::uint64_t kFullEvery = 10;
constexpr unsigned kThreads = 2;

struct Scale {
  std::uint64_t seeds = 21;  // of each kind
  std::uint64_t fleet = 100'000;
  std::uint64_t one_by_one = 10'000;
};
constexpr Scale kQuick{.seeds = 3, .fleet = 1000, .one_by_one = 500};

Scale scale_of(const Settings& settings) { return settings.quick ? kQuick : Scale{}; }

// Sizes that differ by a header of some hundred bytes: less than a millionth.
std::vector<double> nearly_constant(std::uint64_t seed, std::size_t length) {
  Rng rng(seed);
  const double size = 1e9 * static_cast<double>(rng.between(1, 8));
  std::vector<double> values;
  values.reserve(length);
  for (std::size_t i = 0; i < length; ++i) values.push_back(size + static_cast<double>(rng.below(500)));
  return values;
}

// Series `index` of a fleet: one in ten needs the full search.
std::vector<double> fleet_series(std::uint64_t index) {
  constexpr std::array kFull{SeriesKind::ar2_noisy, SeriesKind::ckpt_mix, SeriesKind::files_rank_order};
  Rng rng(index + 1);
  const auto seed = rng.bits();
  const auto length = static_cast<std::size_t>(rng.between(kLeast, kPoints));
  if (index % kFullEvery == 0) return make_series(kFull[index / kFullEvery % kFull.size()], seed, length).values;
  switch (index % 3) {
    case 0:
      return make_series(SeriesKind::ior_const, seed, length).values;
    case 1:
      return nearly_constant(seed, length);
    default:
      return make_series(SeriesKind::short8_hacc, seed).values;
  }
}

// Sum of the forecasts; none if one failed.
std::optional<double> forecast_fleet(std::uint64_t count) {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::array<double, kThreads> sums{};
  const auto work = [&](unsigned thread) {
    constexpr std::uint64_t kAtOnce = 64;
    while (true) {
      const std::uint64_t begin = next.fetch_add(kAtOnce);
      if (begin >= count) return;
      for (std::uint64_t index = begin; index < std::min(count, begin + kAtOnce); ++index) {
        const auto said = forecast::forecast_series(fleet_series(index));
        if (!said) {
          failed = true;
          return;
        }
        sums[thread] += said->mean.front();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (unsigned thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  }
  if (failed) return std::nullopt;
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

Result<void> add_one(const Scale& scale, std::vector<Figure>& figures) {
  constexpr std::array kKinds{SeriesKind::hacc, SeriesKind::ckpt_mix, SeriesKind::ar2_noisy, SeriesKind::files_rank_order};
  std::vector<double> medians;
  std::string each;
  std::pair<double, SeriesKind> longest{0, SeriesKind::hacc};
  for (const SeriesKind kind : kKinds) {
    std::vector<double> seconds;
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
      const std::vector<double> values = make_series(kind, seed, kPoints).values;
      const auto start = Clock::now();
      IEZ_TRY(const forecast::SeriesForecast said, forecast::forecast_series(values));
      seconds.push_back(seconds_since(start));
      longest = std::max(longest, std::pair(seconds.back(), kind));
      if (said.mean.size() != 1) return fail(Errc::io, "a forecast has another length than asked for");
    }
    medians.push_back(median(seconds));
    if (!each.empty()) each += ", ";
    each += fmt::format("{} {:.2f}", to_string(kind), medians.back() * 1e3);
  }
  figures.push_back({.name = "forecast.auto_ms",
                     .value = median(medians) * 1e3,
                     .unit = "ms",
                     .higher_is_better = false,
                     .target = 10,
                     .note = fmt::format("one series of {} values, the whole choice; median over kinds of medians of {}: {}; the "
                                         "longest: {:.1f} ({})",
                                         kPoints, scale.seeds, each, longest.first * 1e3, to_string(longest.second))});
  return {};
}

}  // namespace

Result<void> add_forecast_memory(const Settings& settings, std::vector<Figure>& figures) {
  const std::uint64_t count = scale_of(settings).one_by_one;
  settings.progress(fmt::format("forecasting {} series one after the other", count));
  IEZ_TRY(const std::uint64_t kib, peak_growth_kib([count] {
            std::vector<double> means;
            for (std::uint64_t index = 0; index < count; ++index) {
              const auto said = forecast::forecast_series(fleet_series(index));
              if (!said) return false;
              means.push_back(said->mean.front());
            }
            return means.size() == count;
          }));
  figures.push_back(
      {.name = "forecast.mem_mib",
       .value = static_cast<double>(kib) / 1024,
       .unit = "MiB",
       .higher_is_better = false,
       .target = 10,
       .note = fmt::format("by how much the peak memory of a process grows with {} series of the fleet below, one after "
                           "the other, forecasts kept",
                           count)});
  return {};
}

Result<void> add_forecast_speed(const Settings& settings, std::vector<Figure>& figures) {
  const Scale scale = scale_of(settings);
  settings.progress(fmt::format("forecasting series of {} values", kPoints));
  IEZ_CHECK(add_one(scale, figures));
  settings.progress(fmt::format("forecasting {} series on {} threads", scale.fleet, kThreads));
  const auto start = Clock::now();
  if (!forecast_fleet(scale.fleet)) return fail(Errc::io, "a series of the fleet could not be forecast");
  figures.push_back(
      {.name = "forecast.fleet_s",
       .value = seconds_since(start),
       .unit = "s",
       .higher_is_better = false,
       .target = 60,
       .note = fmt::format("{} series, made and forecast on {} threads; a tenth needs the full search ({} to {} values: "
                           "remembering noise, checkpoints, files of ranks), the rest is constant, constant to a "
                           "millionth, or of 8 values",
                           scale.fleet, kThreads, kLeast, kPoints)});
  return {};
}

}  // namespace iez::bench
