// How near one-step forecasts come: on the traces, and on series from other seeds against who knows their law.
#include "forecast_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "forecast/backtest.hpp"
#include "forecast/forecaster.hpp"
#include "forecast_data.hpp"
#include "forecast_workloads.hpp"

namespace iez::bench {

namespace {

constexpr double kAllowance = 0.3;  // points below the best that is known
constexpr std::uint64_t kSeeds = 40;
constexpr std::uint64_t kQuickSeeds = 3;
constexpr std::size_t kRanks = 8;  // of the traces of files

struct KnownAccuracy {
  std::string_view trace;
  double best;  // of statsmodels, R and a blend of simple forecasters and these
};

constexpr std::array kKnown{KnownAccuracy{"ior_const", 100},     KnownAccuracy{"hacc", 99.83},
                            KnownAccuracy{"ckpt_mix", 98.9},     KnownAccuracy{"ar2_noisy", 95.26},
                            KnownAccuracy{"short8_hacc", 99.84}, KnownAccuracy{"files_rank_order", 99.66},
                            KnownAccuracy{"short8_const", 100}};

Result<double> accuracy_of(std::span<const double> values) {
  IEZ_TRY(const forecast::Backtest test, forecast::backtest(values, held_out(values.size())));
  if (!test.accuracy.mape) return fail(Errc::io, "no accuracy: all values held out are zero");
  return *test.accuracy.mape;
}

Result<void> add_trace(const NamedText& trace, std::vector<Figure>& figures) {
  IEZ_TRY(const std::vector<double> values, trace_values(trace.name));
  IEZ_TRY(const double reached, accuracy_of(values));
  IEZ_TRY(const forecast::SeriesForecast next, forecast::forecast_series(values));
  const auto* const known = std::ranges::find(kKnown, trace.name, &KnownAccuracy::trace);
  Figure figure{.name = fmt::format("forecast.accuracy.{}", trace.name), .value = reached, .unit = "%"};
  figure.note = fmt::format("the last {} of {} values, one step ahead; then: {}", held_out(values.size()), values.size(),
                            forecast::describe(next));
  if (known != kKnown.end()) {
    figure.target = known->best - kAllowance;
    figure.note += fmt::format("; the best of other methods: {}", known->best);
  }
  figures.push_back(std::move(figure));
  return {};
}

struct Created {
  std::size_t rank = 0;
  double bytes = 0;
};

// Ranks create their files in any order within a step.
std::vector<Created> racing(std::span<const double> by_rank, Rng& rng) {
  std::vector<Created> files;
  files.reserve(by_rank.size());
  for (std::size_t i = 0; i < by_rank.size(); ++i) files.push_back({.rank = i % kRanks, .bytes = by_rank[i]});
  for (std::size_t step = 0; step + kRanks <= files.size(); step += kRanks) {
    for (std::size_t i = kRanks - 1; i > 0; --i) std::swap(files[step + i], files[step + rng.below(i + 1)]);
  }
  return files;
}

Result<void> add_race(std::vector<Figure>& figures) {
  IEZ_TRY(const std::vector<double> by_rank, trace_values("files_rank_order"));
  Rng rng(1);
  std::array<std::vector<double>, kRanks> series;
  for (const Created& file : racing(by_rank, rng)) series[file.rank].push_back(file.bytes);
  double sum = 0;
  for (const std::vector<double>& values : series) {
    IEZ_TRY(const double reached, accuracy_of(values));
    sum += reached;
  }
  IEZ_TRY(const std::vector<double> in_order, trace_values("files_race_order"));
  IEZ_TRY(const double untold, accuracy_of(in_order));
  figures.push_back({.name = "forecast.accuracy.files_race_order",
                     .value = sum / kRanks,
                     .unit = "%",
                     .target = 99,
                     .note = fmt::format("created in racing order, taken per rank: the last {} of {} values of each of {} ranks; "
                                         "as one series in order of creation: {:.2f}",
                                         held_out(series[0].size()), series[0].size(), kRanks, untold)});
  return {};
}

Result<void> add_seeds(SeriesKind kind, std::uint64_t seeds, std::vector<Figure>& figures) {
  double ours = 0;
  double knowing = 0;
  double squares = 0;  // of the differences
  double worst = 0;
  std::uint64_t worst_seed = 1;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const KnownSeries series = make_series(kind, seed);
    const std::size_t count = held_out(series.values.size());
    IEZ_TRY(const double reached, accuracy_of(series.values));
    const auto best =
        forecast::accuracy(std::span(series.expected).last(count), std::span(series.values).last(count)).mape.value_or(0);
    ours += reached;
    knowing += best;
    squares += (reached - best) * (reached - best);
    if (reached - best < worst) {
      worst = reached - best;
      worst_seed = seed;
    }
  }
  const auto count = static_cast<double>(seeds);
  const double mean = (ours - knowing) / count;
  const double doubt = std::sqrt(std::max(0.0, squares / count - mean * mean) / count);
  figures.push_back(
      {.name = fmt::format("forecast.accuracy.{}.seeds", to_string(kind)),
       .value = mean,
       .unit = "points",
       .target = -kAllowance,
       .note = fmt::format("mean over {} seeds of our accuracy ({:.2f}) less that of who knows the law ({:.2f}: the "
                           "mean given all before), +-{:.2f}; the worst: {:.2f}, seed {}",
                           seeds, ours / count, knowing / count, doubt, worst, worst_seed)});
  return {};
}

}  // namespace

Result<void> add_accuracy(const Settings& settings, std::vector<Figure>& figures) {
  settings.progress("forecasting the last values of the traces");
  for (const NamedText& trace : kForecastTraces) {
    if (trace.name != "files_race_order") IEZ_CHECK(add_trace(trace, figures));
  }
  IEZ_CHECK(add_race(figures));
  const std::uint64_t seeds = settings.quick ? kQuickSeeds : kSeeds;
  settings.progress(fmt::format("the same from {} seeds each", seeds));
  for (const SeriesKind kind : kSeriesKinds) IEZ_CHECK(add_seeds(kind, seeds, figures));
  return {};
}

}  // namespace iez::bench
