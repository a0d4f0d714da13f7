// `iez forecast series`: the next values of a numeric series, from a CSV file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "command.hpp"

namespace iez::cli {

struct ForecastSeriesOptions {
  std::string file;    // "-": stdin
  std::string column;  // empty: "value", or the first
  std::optional<std::size_t> horizon;
  std::string order;  // "p,d,q" or "p,d,q,P,D,Q,period"; empty: automatic
  bool grid = false;
  std::optional<unsigned> period;
  double high = 0.9;  // the quantile shown; the low one is 1 - high
  bool negative = false;
  std::optional<std::size_t> test;  // forecast the last N values, too, and tell how good that was
  bool plot = false;                // also where there is no terminal
  bool no_plot = false;
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_forecast_series(const ForecastSeriesOptions& options, Context& context);

}  // namespace iez::cli
