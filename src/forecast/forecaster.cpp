#include "forecast/forecaster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "forecast/order_search.hpp"

namespace iez::forecast {
namespace {

constexpr unsigned kMaxDifferences = 2;
constexpr double kStrongSeason = 0.64;     // above it the season is differenced away
constexpr unsigned kLongestModelled = 24;  // a longer season makes the model too large; phases serve it
constexpr std::size_t kLeastHeld = 4;
constexpr std::size_t kMostHeld = 60;
constexpr std::size_t kLeastOfPhase = 3;
constexpr double kNormalOverMean =
    1.2533141373155;  // standard deviation over mean absolute error, of a normal error: sqrt(pi / 2)
constexpr double kFavourOfFew = 0.25;
constexpr double kNearlyConstant = 1e-6;  // of the mean size: no search pays

// What to multiply a spread with that was measured on `measured` values and is used for one more: Student's quantile at 90 % over
// the normal one, and the doubt of the level itself.
double small_sample(double measured) {
  const double free = std::max(1.0, measured - 1);
  return (1 + 0.72 / free + 0.2 / (free * free)) * std::sqrt(1 + 1 / std::max(1.0, measured));
}

// The normal quantile, by bisection of erfc: some 60 halvings of [-40, 40].
double normal_quantile(double probability) {
  double low = -40;
  double high = 40;
  for (int i = 0; i < 64; ++i) {
    const double middle = std::midpoint(low, high);
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return std::midpoint(low, high);
}

double mean_size(std::span<const Observation> there) {
  double largest = 0;
  for (const Observation& one : there) largest = std::max(largest, std::abs(one.value));
  if (largest == 0) return 0;
  double sum = 0;
  for (const Observation& one : there) sum += std::abs(one.value) / largest;
  return sum / static_cast<double>(there.size()) * largest;
}

// Mean absolute error of what was said; none if anything was left unsaid or is not finite.
std::optional<double> mean_error(std::span<const double> said, std::span<const double> actual) {
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i])) continue;
    if (!std::isfinite(said[i])) return std::nullopt;
    sum += std::abs(said[i] - actual[i]);
    count += 1;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

// What a fitted model says of the last `count` values, one step ahead.
std::vector<double> model_rolling(std::span<const double> values, const ArimaFit& fit, std::size_t count) {
  const auto errors = one_step_errors(values, fit);
  std::vector<double> said;
  said.reserve(count);
  for (std::size_t i = values.size() - count; i < values.size(); ++i) {
    // Where a value is missing its forecast is never asked for.
    said.push_back(std::isnan(values[i]) ? 0.0 : values[i] - errors[i]);
  }
  return said;
}

// What the phases leave of each value: one step ahead, so that nothing is known before it is time. The first cycle is missing.
std::vector<double> without_phases(std::span<const double> values, Simple simple, unsigned period) {
  auto rest = simple_rolling(simple, values, period, values.size());
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = values[i] - rest[i];
  return rest;
}

std::span<const double> after_first_cycles(std::span<const double> values, unsigned period) {
  return values.subspan(std::min<std::size_t>(values.size(), std::size_t{period} * 2));
}

void use_simple(SeriesForecast& result, std::span<const double> scaled, Simple simple, std::size_t horizon) {
  const auto there = observations(scaled);
  result.method = Method::simple;
  result.simple = simple;
  result.period = 0;
  result.model.reset();
  result.mean = simple_path(simple, scaled, 0, horizon);
  const auto said = simple_rolling(simple, scaled, 0, scaled.size());
  std::vector<double> errors;
  errors.reserve(scaled.size());
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    if (std::isfinite(said[i]) && !std::isnan(scaled[i])) errors.push_back(scaled[i] - said[i]);
  }
  // One value alone says nothing of its spread; half of it is a guess on the safe side.
  const double one =
      errors.empty() ? std::abs(there.back().value) / 2 : spread(errors) * small_sample(static_cast<double>(errors.size()));
  result.spread.resize(horizon);
  for (std::size_t i = 0; i < horizon; ++i) {
    result.spread[i] = simple == Simple::median || simple == Simple::trend ? one : one * std::sqrt(static_cast<double>(i + 1));
  }
}

// The median, where the model cannot say anything.
void use_model(SeriesForecast& result, std::span<const double> scaled, const ArimaFit& fit, std::size_t horizon) {
  const auto steps = predict(scaled, fit, static_cast<unsigned>(horizon));
  if (steps.size() < horizon) {
    result.note = fmt::format("{} says nothing of this series; its median is given", to_string(fit.order));
    return use_simple(result, scaled, Simple::median, horizon);
  }
  result.method = Method::arima;
  result.model = fit;
  result.period = fit.order.period;
  for (const Predicted& step : steps) {
    result.mean.push_back(step.mean);
    result.spread.push_back(std::sqrt(std::max(0.0, step.variance)));
  }
}

double error_of(const Candidate& candidate) { return candidate.error.value_or(std::numeric_limits<double>::max()); }

class Chooser {
 public:
  Chooser(std::span<const double> scaled, const SeriesOptions& options) : values_(scaled), options_(options) {
    held_ = std::clamp<std::size_t>(values_.size() / 2, kLeastHeld, kMostHeld);
  }

  void choose(SeriesForecast& result) {
    season_ = find_period();
    if (season_) result.season = season_;
    try_simple();
    try_models();
    sort_candidates();
    finish(result, winner());
    result.candidates = std::move(candidates_);
  }

 private:
  std::span<const double> held() const { return values_.last(held_); }

  // By error. Positions are sorted, not candidates: gcc 12 takes the moves of the optional models for uninitialized reads.
  void sort_candidates() {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(error_of(candidates_[i]), i); });
    std::vector<Candidate> sorted;
    sorted.reserve(order.size());
    for (const std::size_t i : order) sorted.push_back(std::move(candidates_[i]));
    candidates_ = std::move(sorted);
  }

  std::optional<Season> find_period() const {
    if (!options_.period) return find_season(values_);
    if (*options_.period < 2) return std::nullopt;
    return Season{.period = *options_.period, .strength = season_strength(values_, *options_.period)};
  }

  void try_simple() {
    for (const Simple simple : kSimple) {
      candidates_.push_back(
          {.method = Method::simple, .simple = simple, .error = mean_error(simple_rolling(simple, values_, 0, held_), held())});
    }
    if (!season_) return;
    for (const Simple simple : kSimple) {
      candidates_.push_back({.method = Method::simple,
                             .simple = simple,
                             .period = season_->period,
                             .error = mean_error(simple_rolling(simple, values_, season_->period, held_), held())});
    }
  }

  void try_models() {
    // On a series with a strong season a model without one only wastes time.
    const bool strong = season_ && season_->strength > kStrongSeason;
    if (!strong) try_arima(ArimaOrder{.d = differences_needed(values_, kMaxDifferences)}, {});
    if (!season_) return;
    try_phases(season_->period);
    if (season_->period > kLongestModelled) return;
    ArimaOrder seasonal{.period = season_->period};
    seasonal.sd = strong ? 1 : 0;
    std::vector<double> seasonless(values_.begin(), values_.end());
    if (seasonal.sd == 1) seasonless = without_phases(values_, Simple::naive, season_->period);
    seasonal.d = differences_needed(seasonless, seasonal.sd == 1 ? 1 : kMaxDifferences);
    try_arima(seasonal, {.first_terms = 1, .max_p = 2, .max_models = 8, .fit = {.starts = 1, .max_iterations = 25}});
  }

  void try_arima(const ArimaOrder& differences, const StepwiseOptions& search_options) {
    const OrderSearch search = stepwise(values_, differences, search_options);
    if (!search.best) return;
    candidates_.push_back({.method = Method::arima,
                           .period = differences.period,
                           .model = search.best,
                           .error = model_error(values_, *search.best)});
  }

  // ARIMA on what the best of the phases leaves.
  void try_phases(unsigned period) {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates_) {
      if (candidate.method != Method::simple || candidate.period != period || !candidate.error) continue;
      if (best == nullptr || error_of(candidate) < error_of(*best)) best = &candidate;
    }
    if (best == nullptr) return;
    const Simple simple = best->simple;
    const auto rest = without_phases(values_, simple, period);
    const auto known = after_first_cycles(rest, period);
    if (known.size() < std::max(held_, kFew)) return;
    const OrderSearch search = stepwise(known, ArimaOrder{.d = differences_needed(known, 1)});
    if (!search.best) return;
    candidates_.push_back({.method = Method::phases_and_arima,
                           .simple = simple,
                           .period = period,
                           .model = search.best,
                           .error = model_error(known, *search.best)});
  }

  // The coefficients have seen these values. Akaike's final prediction error tells how much smaller that made the errors.
  std::optional<double> model_error(std::span<const double> values, const ArimaFit& fit) const {
    const ArimaOrder& order = fit.order;
    const double coefficients = order.p + order.q + order.sp + order.sq + (order.d + order.sd == 0 ? 1 : 0);
    const double n = fit.observations;
    if (n <= coefficients) return std::nullopt;
    const auto error = mean_error(model_rolling(values, fit, held_), values.last(held_));
    if (!error) return std::nullopt;
    return *error * std::sqrt((n + coefficients) / (n - coefficients));
  }

  const Candidate& winner() const {
    const Candidate* best = &candidates_.front();
    if (best->method == Method::simple) return *best;
    for (const Candidate& candidate : candidates_) {
      if (candidate.method != Method::simple || !candidate.error) continue;
      return error_of(*best) < error_of(candidate) * (1 - kFavour) ? *best : candidate;
    }
    return *best;
  }

  void finish(SeriesForecast& result, const Candidate& winner) const {
    result.method = winner.method;
    result.simple = winner.simple;
    result.period = winner.period;
    result.error = winner.error;
    const double seen = winner.error ? *winner.error * kNormalOverMean * small_sample(static_cast<double>(held_)) : 0;
    if (winner.method == Method::arima) return finish_arima(result, winner, seen);
    result.mean = simple_path(winner.simple, values_, winner.period, options_.horizon);
    result.spread = simple_spread(winner, seen);
    if (winner.method == Method::phases_and_arima) finish_phases(result, winner, seen);
  }

  // Of a wandering forecaster the error grows with the root of the steps. Phases have errors of their own: a large file of a
  // cycle does not make the small ones uncertain.
  std::vector<double> simple_spread(const Candidate& winner, double seen) const {
    std::vector<double> spread(options_.horizon, seen);
    const std::size_t cycle = std::max(1U, winner.period);
    if (cycle > 1) {
      const auto said = simple_rolling(winner.simple, values_, winner.period, held_);
      for (std::size_t i = 0; i < spread.size(); ++i) {
        const auto error = phase_error(said, (values_.size() + i) % cycle, cycle);
        if (error) spread[i] = *error * kNormalOverMean * small_sample(static_cast<double>(held_) / static_cast<double>(cycle));
      }
    }
    const bool wanders = winner.simple == Simple::naive || winner.simple == Simple::drift || winner.simple == Simple::local;
    if (!wanders) return spread;
    for (std::size_t i = 0; i < spread.size(); ++i) spread[i] *= std::sqrt(cycle_of(i, cycle) + 1);
    return spread;
  }

  // Mean absolute error of one phase; none for fewer than kLeastOfPhase values of it.
  std::optional<double> phase_error(std::span<const double> said, std::size_t phase, std::size_t cycle) const {
    double sum = 0;
    std::size_t count = 0;
    const std::size_t first = values_.size() - held_;
    for (std::size_t i = first; i < values_.size(); ++i) {
      if (i % cycle != phase || std::isnan(values_[i]) || !std::isfinite(said[i - first])) continue;
      sum += std::abs(values_[i] - said[i - first]);
      ++count;
    }
    if (count < kLeastOfPhase) return std::nullopt;
    return sum / static_cast<double>(count);
  }

  // Fitted anew, with more starts; as it was, where that does not converge.
  static ArimaFit refit(std::span<const double> values, const ArimaFit& found) {
    const auto fit = fit_arima(values, found.order);
    return fit && fit->converged ? *fit : found;
  }

  void finish_arima(SeriesForecast& result, const Candidate& winner, double seen) const {
    if (winner.model) use_model(result, values_, refit(values_, *winner.model), options_.horizon);
    for (double& doubt : result.spread) doubt = std::max(seen, doubt);
  }

  void finish_phases(SeriesForecast& result, const Candidate& winner, double seen) const {
    if (!winner.model) return;
    const auto rest = without_phases(values_, winner.simple, winner.period);
    const auto known = after_first_cycles(rest, winner.period);
    const ArimaFit fit = refit(known, *winner.model);
    const auto steps = predict(known, fit, static_cast<unsigned>(options_.horizon));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      result.mean[i] += steps[i].mean;
      result.spread[i] = std::max(seen, std::sqrt(std::max(0.0, steps[i].variance)));
    }
    result.model = fit;
  }

  std::span<const double> values_;
  const SeriesOptions& options_;
  std::size_t held_ = 0;
  std::optional<Season> season_;
  std::vector<Candidate> candidates_;
};

// For a series too short to hold anything out: the median, unless a line through what was before each value came much nearer.
Simple choose_of_few(std::span<const double> scaled, std::size_t there) {
  if (there < 3) return Simple::naive;
  Simple best = Simple::median;
  double least = std::numeric_limits<double>::infinity();
  for (const Simple simple : {Simple::median, Simple::drift, Simple::trend}) {
    const auto said = simple_rolling(simple, scaled, 0, scaled.size());
    double error = 0;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      if (std::isnan(scaled[i])) continue;
      // A line needs two values before it says anything of its own.
      if (seen++ >= 2) error += std::abs(scaled[i] - said[i]);
    }
    if (error < (1 - kFavourOfFew) * least) {
      least = error;
      best = simple;
    }
  }
  return best;
}

// Keeps a forecast to what the values seen make plausible, and to finite numbers.
void restrain(SeriesForecast& result, std::span<const Observation> there) {
  double low = there.front().value;
  double high = low;
  double step = 0;
  for (std::size_t i = 0; i < there.size(); ++i) {
    low = std::min(low, there[i].value);
    high = std::max(high, there[i].value);
    if (i > 0) step = std::max(step, std::abs(there[i].value - there[i - 1].value));
  }
  const double middle = there.back().value;
  for (std::size_t i = 0; i < result.mean.size(); ++i) {
    const double reach = (high - low) + step * static_cast<double>(i + 1);
    double& value = result.mean[i];
    value = std::isfinite(value) ? std::clamp(value, low - reach, high + reach) : middle;
    double& doubt = result.spread[i];
    if (!std::isfinite(doubt)) doubt = reach;
    if (result.nonnegative) value = std::max(0.0, value);
  }
}

void unscale(SeriesForecast& result, double scale) {
  constexpr double kMost = std::numeric_limits<double>::max();
  result.scale = scale;
  for (double& value : result.mean) value = std::clamp(value * scale, -kMost, kMost);
  for (double& doubt : result.spread) doubt = std::min(doubt * scale, kMost);
}

Result<void> check(std::span<const double> values, const SeriesOptions& options) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(values[i])) {
      return fail(Errc::invalid_argument,
                  fmt::format("value {} is infinite; expected a finite number, or NaN for a missing one", i + 1));
    }
  }
  if (options.period && *options.period > values.size()) {
    return fail(Errc::invalid_argument,
                fmt::format("a period of {}: expected no more than the {} values there are", *options.period, values.size()));
  }
  if (options.search != Search::order) return {};
  const ArimaOrder& order = options.order;
  const bool seasonal = order.sp + order.sd + order.sq > 0;
  if (seasonal && order.period < 2) return fail(Errc::invalid_argument, "a seasonal order needs a period of 2 or more");
  return {};
}

void search_in(SeriesForecast& result, std::span<const double> scaled, const SeriesOptions& options) {
  if (options.search == Search::order) {
    const auto fit = fit_arima(scaled, options.order);
    if (fit) return use_model(result, scaled, *fit, options.horizon);
    result.note =
        fmt::format("{} cannot be fitted to {} values; their median is given", to_string(options.order), result.observations);
    return use_simple(result, scaled, Simple::median, options.horizon);
  }
  if (options.search == Search::grid) {
    const GridSearch grid = full_grid(scaled);
    if (!grid.rows.empty()) return use_model(result, scaled, grid.rows.front().fit, options.horizon);
    result.note =
        fmt::format("none of {} orders could be fitted to {} values; their median is given", grid.tried, result.observations);
    return use_simple(result, scaled, Simple::median, options.horizon);
  }
  Chooser(scaled, options).choose(result);
}

}  // namespace

double SeriesForecast::quantile(std::size_t step, double probability) const {
  IEZ_ASSERT(step < mean.size() && probability > 0 && probability < 1);
  constexpr double kMost = std::numeric_limits<double>::max();
  const double value = std::clamp(mean[step] + normal_quantile(probability) * spread[step], -kMost, kMost);
  return nonnegative ? std::max(0.0, value) : value;
}

std::string to_string(const ArimaOrder& order) {
  std::string text = fmt::format("ARIMA({},{},{})", order.p, order.d, order.q);
  if (order.period > 1) text += fmt::format("({},{},{}){}", order.sp, order.sd, order.sq, order.period);
  return text;
}

namespace {

std::string describe(Method method, Simple simple, unsigned period, const std::optional<ArimaFit>& model) {
  std::string order = model ? to_string(model->order) : "";
  if (method == Method::constant) return "constant";
  if (method == Method::arima) return order;
  std::string text(to_string(simple));
  if (period > 1) text = fmt::format("{} by phase of {}", text, period);
  if (method == Method::phases_and_arima) text += " + " + order;
  return text;
}

}  // namespace

std::string describe(const SeriesForecast& forecast) {
  return describe(forecast.method, forecast.simple, forecast.period, forecast.model);
}

std::string describe(const Candidate& candidate) {
  return describe(candidate.method, candidate.simple, candidate.period, candidate.model);
}

Result<SeriesForecast> forecast_series(std::span<const double> values, const SeriesOptions& options) {
  IEZ_CHECK(check(values, options));
  const auto there = observations(values);
  if (there.empty()) return fail(Errc::invalid_argument, "the series holds no value; expected at least one");

  SeriesForecast result;
  result.nonnegative = options.nonnegative;
  result.observations = there.size();
  result.missing = values.size() - there.size();
  if (constant(values)) {
    const double value = options.nonnegative ? std::max(0.0, there.back().value) : there.back().value;
    result.mean.assign(options.horizon, value);
    result.spread.assign(options.horizon, 0);
    return result;
  }

  const double scale = mean_size(there);
  std::vector<double> scaled(values.begin(), values.end());
  for (double& value : scaled) value /= scale;
  const auto scaled_there = observations(scaled);
  double range = 0;
  for (const Observation& one : scaled_there) range = std::max(range, std::abs(one.value - scaled_there.front().value));
  if (range < kNearlyConstant && options.search == Search::automatic) {
    use_simple(result, scaled, Simple::median, options.horizon);
  } else if (there.size() < kFew && options.search == Search::automatic) {
    use_simple(result, scaled, choose_of_few(scaled, there.size()), options.horizon);
  } else {
    search_in(result, scaled, options);
  }
  restrain(result, scaled_there);
  unscale(result, scale);
  return result;
}

Accuracy accuracy(std::span<const double> forecasts, std::span<const double> actual) {
  IEZ_ASSERT(forecasts.size() == actual.size());
  double relative = 0;
  double nonzero = 0;
  double errors = 0;
  double sizes = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) || std::isnan(forecasts[i])) continue;
    const double error = std::abs(forecasts[i] - actual[i]);
    errors += error;
    sizes += std::abs(actual[i]);
    if (actual[i] == 0) continue;
    relative += error / std::abs(actual[i]);
    nonzero += 1;
  }
  Accuracy result;
  if (nonzero > 0) result.mape = 100 * (1 - relative / nonzero);
  if (sizes > 0) result.wape = 100 * (1 - errors / sizes);
  return result;
}

}  // namespace iez::forecast
