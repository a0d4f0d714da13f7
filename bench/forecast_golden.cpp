// Likelihoods of ARIMA models that dense linear algebra, statsmodels and R agree on, against ours.
#include "forecast_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "forecast/arima.hpp"
#include "forecast/forecaster.hpp"
#include "forecast_data.hpp"
#include "forecast_workloads.hpp"

namespace iez::bench {

namespace {

using nlohmann::json;

struct KnownFit {
  std::string series;
  forecast::ArimaOrder order;
  forecast::ArimaParameters fixed;
  std::optional<double> fixed_likelihood;  // logarithm; none: only R's, which is not exact
  double maximum = 0;
  bool strict = false;  // the maximum is inside, and found by several programs

  std::string name() const { return fmt::format("{} {}", series, forecast::to_string(order)); }
};

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

KnownFit parse_fit(const json& object) {
  KnownFit known;
  known.series = object.at("series").get<std::string>();
  const auto plain = object.at("order").get<std::array<unsigned, 3>>();
  const auto seasonal = object.at("seasonal").get<std::array<unsigned, 3>>();
  const json& period = object.at("period");
  known.order = {.p = plain[0],
                 .d = plain[1],
                 .q = plain[2],
                 .sp = seasonal[0],
                 .sd = seasonal[1],
                 .sq = seasonal[2],
                 .period = period.is_null() ? 0 : period.get<unsigned>()};
  // In R's order: ar, ma, seasonal ar, seasonal ma, mean.
  const auto fixed = object.at("fixed_params").get<std::vector<double>>();
  std::size_t at = 0;
  const auto take = [&](unsigned count) {
    std::vector<double> taken;
    taken.reserve(count);
    for (unsigned i = 0; i < count; ++i) taken.push_back(fixed.at(at++));
    return taken;
  };
  known.fixed.ar = take(known.order.p);
  known.fixed.ma = take(known.order.q);
  known.fixed.seasonal_ar = take(known.order.sp);
  known.fixed.seasonal_ma = take(known.order.sq);
  if (known.order.d == 0 && known.order.sd == 0) known.fixed.mean = fixed.at(at);
  known.fixed_likelihood = number(object, "mvn_fixed_loglik");
  known.maximum = number(object, "mvn_opt_loglik").value_or(object.at("loglik").get<double>());
  known.strict = object.at("strict").get<bool>();
  return known;
}

Result<std::vector<KnownFit>> parse_fits(std::string_view text) {
  std::vector<KnownFit> fits;
  try {
    const json document = json::parse(text);
    for (const json& object : document.at("fits")) fits.push_back(parse_fit(object));
  } catch (const std::exception& error) {
    return fail(Errc::parse, fmt::format("recorded fits: {}", error.what()));
  }
  if (fits.empty()) return fail(Errc::parse, "recorded fits: there are none");
  return fits;
}

struct Worst {
  double value = 0;
  std::string name = "none";
  std::size_t count = 0;

  void add(double candidate, const std::string& of) {
    if (count++ > 0 && candidate <= value) return;
    value = candidate;
    name = of;
  }
};

}  // namespace

Result<void> add_likelihoods(const Settings& settings, std::vector<Figure>& figures) {
  settings.progress("likelihoods at recorded parameters, and recorded maxima");
  IEZ_TRY(const std::vector<KnownFit> fits, parse_fits(kForecastGolden));
  Worst error;
  Worst shortfall;
  for (const KnownFit& known : fits) {
    IEZ_TRY(const std::vector<double> values, golden_values(known.series));
    if (known.fixed_likelihood) {
      const auto ours = forecast::log_likelihood(values, known.order, known.fixed);
      if (!ours) return fail(Errc::io, fmt::format("{}: no likelihood at the recorded parameters", known.name()));
      error.add(std::abs(ours->log_likelihood - *known.fixed_likelihood), known.name());
    }
    if (known.strict) {
      const auto fit = forecast::fit_arima(values, known.order);
      if (!fit) return fail(Errc::io, fmt::format("{}: no fit where one is recorded", known.name()));
      shortfall.add(known.maximum - fit->log_likelihood, known.name());
    }
  }
  figures.push_back({.name = "forecast.loglik_err",
                     .value = error.value,
                     .unit = "nat",
                     .higher_is_better = false,
                     .target = 1e-6,
                     .note = fmt::format("log-likelihood at fixed parameters against the dense normal law's; worst of {}: {}; {} "
                                         "more have no exact record",
                                         error.count, error.name, fits.size() - error.count)});
  figures.push_back({.name = "forecast.maxlik_short",
                     .value = shortfall.value,
                     .unit = "nat",
                     .higher_is_better = false,
                     .target = 1e-4,
                     .note = fmt::format("recorded maximum (40 starts) less that of one fit with {} starts; worst of {}: {}",
                                         forecast::FitOptions{}.starts, shortfall.count, shortfall.name)});
  return {};
}

}  // namespace iez::bench
