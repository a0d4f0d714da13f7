#include "forecast_series.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/series_csv.hpp"
#include "forecast/backtest.hpp"
#include "forecast/forecaster.hpp"
#include "json.hpp"
#include "plot.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kHorizon = 12;  // where the series has no period
constexpr std::size_t kMaxHorizon = 100'000;
constexpr std::size_t kCandidatesShown = 4;
constexpr unsigned kMaxOrder = 24;
constexpr unsigned kPlotWidth = 76;
constexpr unsigned kPlotHeight = 14;

using forecast::SeriesForecast;

Result<std::vector<unsigned>> numbers(std::string_view given) {
  std::vector<unsigned> list;
  for (const auto word : std::views::split(given, ',')) {
    unsigned value = 0;
    const std::string_view digits = text::trim(std::string_view(word.begin(), word.end()));
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (problem != std::errc{} || end != digits.data() + digits.size()) {
      return fail(Errc::invalid_argument,
                  fmt::format("--order: found '{}', expected p,d,q or p,d,q,P,D,Q,period", text::printable(given)));
    }
    list.push_back(value);
  }
  return list;
}

Result<forecast::ArimaOrder> parse_order(std::string_view given) {
  IEZ_TRY(const auto n, numbers(given));
  if (n.size() != 3 && n.size() != 7) {
    return fail(Errc::invalid_argument,
                fmt::format("--order: found {} numbers, expected 3 (p,d,q) or 7 (p,d,q,P,D,Q,period)", n.size()));
  }
  forecast::ArimaOrder order{.p = n[0], .d = n[1], .q = n[2]};
  if (n.size() == 7) {
    order.sp = n[3];
    order.sd = n[4];
    order.sq = n[5];
    order.period = n[6];
    if (order.period < 2)
      return fail(Errc::invalid_argument, fmt::format("--order: found a period of {}, expected 2 or more", order.period));
  }
  if (std::ranges::any_of(std::span(n).first(std::min<std::size_t>(n.size(), 6)), [](unsigned one) { return one > kMaxOrder; })) {
    return fail(Errc::invalid_argument,
                fmt::format("--order: found '{}', expected numbers up to {}", text::printable(given), kMaxOrder));
  }
  return order;
}

Result<forecast::SeriesOptions> series_options(const ForecastSeriesOptions& options, std::span<const double> values) {
  if (!options.order.empty() && options.grid) return fail(Errc::invalid_argument, "--order with --grid: give one");
  const bool probability = options.high > 0.5 && options.high < 1;  // false for NaN
  if (!probability) {
    return fail(Errc::invalid_argument,
                fmt::format("--quantile: found {}, expected more than 0.5 and less than 1", options.high));
  }
  if (options.period && *options.period > values.size()) {
    return fail(Errc::invalid_argument,
                fmt::format("--period: found {}, expected at most {}, the number of values", *options.period, values.size()));
  }
  forecast::SeriesOptions chosen{.period = options.period, .nonnegative = !options.negative};
  if (!options.order.empty()) {
    IEZ_TRY(chosen.order, parse_order(options.order));
    chosen.search = forecast::Search::order;
  } else if (options.grid) {
    chosen.search = forecast::Search::grid;
  }
  if (options.horizon) {
    chosen.horizon = *options.horizon;
  } else {
    const auto season = options.period ? std::nullopt : forecast::find_season(values);
    const unsigned period = options.period.value_or(season ? season->period : 0);
    chosen.horizon = period > 1 ? period : kHorizon;
  }
  if (chosen.horizon < 1 || chosen.horizon > kMaxHorizon) {
    return fail(Errc::invalid_argument, fmt::format("--horizon: found {}, expected 1 to {}", chosen.horizon, kMaxHorizon));
  }
  return chosen;
}

struct Answer {
  std::string file;
  config::Series series;
  SeriesForecast forecast;
  std::optional<forecast::Backtest> test;
  double high = 0.9;
};

ordered_json model_json(const forecast::ArimaFit& fit) {
  const forecast::ArimaOrder& order = fit.order;
  return {{"order", {order.p, order.d, order.q}},
          {"seasonal_order", {order.sp, order.sd, order.sq}},
          {"period", order.period},
          {"ar", fit.parameters.ar},
          {"ma", fit.parameters.ma},
          {"seasonal_ar", fit.parameters.seasonal_ar},
          {"seasonal_ma", fit.parameters.seasonal_ma},
          {"mean", fit.parameters.mean},
          {"sigma2", fit.sigma2},
          {"log_likelihood", fit.log_likelihood},
          {"aicc", fit.aicc},
          {"converged", fit.converged}};
}

ordered_json to_json(const Answer& answer) {
  const SeriesForecast& forecast = answer.forecast;
  ordered_json json{{"file", answer.file},
                    {"column", answer.series.column},
                    {"values", forecast.observations},
                    {"missing", forecast.missing},
                    {"season", nullptr},
                    {"method", describe(forecast)},
                    {"scale", forecast.scale},
                    {"model", forecast.model ? model_json(*forecast.model) : ordered_json(nullptr)},
                    {"last_half_error", or_null(forecast.error)},
                    {"candidates", ordered_json::array()},
                    {"forecast", ordered_json::array()},
                    {"test", nullptr},
                    {"note", forecast.note}};
  if (forecast.season) json["season"] = {{"period", forecast.season->period}, {"strength", forecast.season->strength}};
  for (const forecast::Candidate& candidate : forecast.candidates) {
    json["candidates"].push_back({{"method", describe(candidate)}, {"error", or_null(candidate.error)}});
  }
  for (std::size_t i = 0; i < forecast.mean.size(); ++i) {
    json["forecast"].push_back({{"index", answer.series.values.size() + i + 1},
                                {"mean", forecast.mean[i]},
                                {"spread", forecast.spread[i]},
                                {"low", forecast.quantile(i, 1 - answer.high)},
                                {"high", forecast.quantile(i, answer.high)}});
  }
  if (answer.test) {
    json["test"] = {{"values", answer.test->said.size()},
                    {"accuracy", or_null(answer.test->accuracy.mape)},
                    {"wape_accuracy", or_null(answer.test->accuracy.wape)},
                    {"said", answer.test->said}};
  }
  return json;
}

// Sizes in bytes are long numbers; nobody reads their fractions.
std::string shown(double value) {
  const bool whole = std::abs(value) >= 1e6 && std::abs(value) < 1e16;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

std::string heading(const Answer& answer) {
  const SeriesForecast& forecast = answer.forecast;
  std::string text = counted(forecast.observations, "value");
  if (forecast.missing > 0) text += fmt::format(", {} missing", forecast.missing);
  if (forecast.season) {
    text += fmt::format(", period {} (explains {})", forecast.season->period, percent(forecast.season->strength));
  }
  text += fmt::format("\nmethod: {}", describe(forecast));
  if (forecast.model) {
    text += fmt::format(", log-likelihood {:.3f}, AICc {:.3f}", forecast.model->log_likelihood, forecast.model->aicc);
  }
  text += '\n';
  if (!forecast.note.empty()) text += fmt::format("note: {}\n", forecast.note);
  if (!forecast.candidates.empty()) {
    text += "errors on the last half:";
    std::string_view separator = " ";
    for (const auto& candidate : std::span(forecast.candidates).first(std::min(kCandidatesShown, forecast.candidates.size()))) {
      if (!candidate.error) continue;
      text += fmt::format("{}{} {}", separator, describe(candidate), percent(*candidate.error));
      separator = ", ";
    }
    text += '\n';
  }
  if (answer.test) {
    const auto words = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.2f} %", *value) : std::string("none");
    };
    text += fmt::format("test on the last {}, one step ahead: accuracy {}, by weight {}\n", answer.test->said.size(),
                        words(answer.test->accuracy.mape), words(answer.test->accuracy.wape));
  }
  return text + '\n';
}

std::string plot(const Answer& answer, const Terminal& terminal) {
  const auto& values = answer.series.values;
  const SeriesForecast& forecast = answer.forecast;
  Line history{.name = "history"};
  for (std::size_t i = 0; i < values.size(); ++i) history.points.push_back({.x = static_cast<double>(i + 1), .y = values[i]});
  Line next{.name = "forecast"};
  Line high{.name = fmt::format("{:g} %", 100 * answer.high)};
  for (std::size_t i = 0; i < forecast.mean.size(); ++i) {
    const auto x = static_cast<double>(values.size() + i + 1);
    high.points.push_back({.x = x, .y = forecast.quantile(i, answer.high)});
    next.points.push_back({.x = x, .y = forecast.mean[i]});
  }
  const std::vector<Line> lines{std::move(high), std::move(history), std::move(next)};
  return line_chart(lines, kPlotWidth, kPlotHeight, terminal);
}

std::string to_text(const Answer& answer, const ForecastSeriesOptions& options, const Terminal& terminal) {
  const std::string low_title = fmt::format("{:g} %", 100 * (1 - answer.high));
  const std::string high_title = fmt::format("{:g} %", 100 * answer.high);
  Table table({{.title = "INDEX", .align = Align::right},
               {.title = "FORECAST", .align = Align::right},
               {.title = low_title, .align = Align::right},
               {.title = high_title, .align = Align::right}});
  for (std::size_t i = 0; i < answer.forecast.mean.size(); ++i) {
    table.add({{.text = fmt::to_string(answer.series.values.size() + i + 1)},
               {.text = shown(answer.forecast.mean[i])},
               {.text = shown(answer.forecast.quantile(i, 1 - answer.high))},
               {.text = shown(answer.forecast.quantile(i, answer.high))}});
  }
  std::string out = options.no_header ? "" : heading(answer);
  out += table.render(terminal, !options.no_header);
  if ((terminal.interactive || options.plot) && !options.no_plot) {
    out += '\n';
    out += plot(answer, terminal);
  }
  return out;
}

}  // namespace

Result<void> run_forecast_series(const ForecastSeriesOptions& options, Context& context) {
  IEZ_TRY(const std::string text, read_text_file(options.file));
  const std::string name = options.file == "-" ? "stdin" : options.file;
  IEZ_TRY(auto series, config::parse_series(text, name, options.column));
  if (std::ranges::all_of(series.values, [](double value) { return std::isnan(value); }))
    return fail(Errc::parse, fmt::format("{}: found no value, expected at least one", text::printable(name)));
  IEZ_TRY(const auto chosen, series_options(options, series.values));
  auto forecast = forecast::forecast_series(series.values, chosen);
  if (!forecast) return with_context(std::move(forecast).error(), text::printable(name));
  if (!options.negative && std::ranges::any_of(series.values, [](double value) { return value < 0; })) {
    forecast->note += forecast->note.empty() ? "" : "; ";
    forecast->note += "some values are below zero, and forecasts are cut there: --negative lets them go below";
  }
  Answer answer{.file = name, .series = std::move(series), .forecast = *std::move(forecast), .high = options.high};
  if (options.test) {
    auto test = forecast::backtest(answer.series.values, *options.test, chosen);
    if (!test) return with_context(std::move(test).error(), "--test");
    answer.test = *std::move(test);
  }
  return print(options.json ? to_line(to_json(answer)) : to_text(answer, options, context.terminal));
}

}  // namespace iez::cli
