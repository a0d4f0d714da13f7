// The next values of a numeric series, with how sure they are, chosen without anybody's help.
//
// Method `automatic`, the default:
//  1. The series is divided by the mean size of its values: sizes of 1e12 bytes and shares of 1e-6 are the same from here on.
//  2. Constant: that constant, and no doubt. Fewer than kFew values: their median, or a line, if that would have come nearer
//     to each value from those before it.
//  3. Otherwise each candidate says what it would have said of the last half of the values (4 to 60 of them), each from those
//     before it: the simple forecasters (simple.hpp); those again for each phase, if the series repeats (series.hpp); ARIMA, its
//     differences by KPSS, its order by AICc (order_search.hpp); with a season, seasonal ARIMA, and ARIMA on what the phases
//     leave. The coefficients of a model come from all values; its errors are enlarged by Akaike's final prediction error to make
//     up for it. Fitting them to the first half only would judge a model by half of what it will know.
//  4. The least mean absolute error wins; a model must beat the best simple forecaster by kFavour.
//  5. The result is kept to the plausible: no further from the values seen than their range and their largest step allow;
//     and, for sizes, not below zero.
//
// Method `grid` fits all 216 orders of the published method and takes the one with the least error in the sample; method `order`
// fits the given one. Both fall back on a simple forecaster where nothing can be fitted, and say so.
//
// Never a number that is not finite. The spread is that of a normal error: from the model, and never less than the errors that
// the winner made on the last half of the values.
//
// Cost: O(n) for the constant; some milliseconds for 72 values with the full search. Memory: O(n).
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "forecast/arima.hpp"
#include "forecast/series.hpp"
#include "forecast/simple.hpp"

namespace iez::forecast {

inline constexpr std::size_t kFew = 10;
inline constexpr double kFavour = 0.03;

enum class Search { automatic, order, grid };

struct SeriesOptions {
  std::size_t horizon = 1;
  Search search = Search::automatic;
  ArimaOrder order;                // for Search::order
  std::optional<unsigned> period;  // given: not looked for; 0 or 1: none
  bool nonnegative = true;         // sizes: no value below zero
};

enum class Method { constant, simple, arima, phases_and_arima };

// How one forecaster did on the last half of the values.
struct Candidate {
  Method method = Method::simple;
  Simple simple = Simple::median;
  unsigned period = 0;            // 0: not by phases
  std::optional<ArimaFit> model;  // in units of the scaled series, fitted to what was before the held-out values
  std::optional<double> error;    // mean absolute error over mean size; none: could not say anything
};

struct SeriesForecast {
  std::vector<double> mean;    // the next values
  std::vector<double> spread;  // standard deviation of their errors
  Method method = Method::constant;
  Simple simple = Simple::median;  // of Method::simple, and of the phases
  unsigned period = 0;             // of the phases; 0: none
  std::optional<ArimaFit> model;   // of Method::arima and phases_and_arima, in units of value / scale
  double scale = 1;
  bool nonnegative = true;
  std::optional<Season> season;       // found, whether used or not
  std::optional<double> error;        // error of the winner, as Candidate::error
  std::vector<Candidate> candidates;  // by error
  std::size_t observations = 0;
  std::size_t missing = 0;
  std::string note;  // a fallback, in words; empty: none

  // The value that is not exceeded with this probability. REQUIRES: step < mean.size(), 0 < probability < 1.
  double quantile(std::size_t step, double probability) const;
};

// "median", "by phase of 8: trend", "ARIMA(2,1,1)", "ARIMA(0,1,1)(0,1,1)12"
std::string describe(const SeriesForecast& forecast);
std::string describe(const Candidate& candidate);
std::string to_string(const ArimaOrder& order);

// NaN is a missing value. Fails for a series without values, for one that holds an infinity, and for an order that cannot be.
[[nodiscard]] Result<SeriesForecast> forecast_series(std::span<const double> values, const SeriesOptions& options = {});

// How good a forecast was. Accuracy as the source has it, 100 (1 - mean |error| / |actual|), over the actual values that are not
// zero; and by weight, 100 (1 - sum |error| / sum |actual|), which zeros do not disturb. None where the divisor is zero.
struct Accuracy {
  std::optional<double> mape;
  std::optional<double> wape;
};

// REQUIRES: as many forecasts as actual values. Pairs with a missing one are left out.
Accuracy accuracy(std::span<const double> forecasts, std::span<const double> actual);

}  // namespace iez::forecast
