// How good would the forecasts have been? Each of the last values is forecast one step ahead from what was before it, with the
// whole choice made anew each time.
//
// Cost: `count` times that of forecast_series().
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "forecast/forecaster.hpp"

namespace iez::forecast {

struct Backtest {
  std::vector<double> said;  // of the last values, in order
  Accuracy accuracy;
};

// options.horizon is ignored. Fails if fewer than one value would be left to forecast the first from, or as forecast_series()
// does.
[[nodiscard]] Result<Backtest> backtest(std::span<const double> values, std::size_t count, SeriesOptions options = {});

}  // namespace iez::forecast
