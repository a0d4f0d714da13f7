// Files that the forecast benchmark carries along, so that an installed program needs none of them (forecast_data.cpp.in).
#pragma once

#include <span>
#include <string_view>

namespace iez::bench {

struct NamedText {
  std::string_view name;
  std::string_view text;
};

extern const std::string_view kForecastGolden;            // tests/golden/forecast/golden.json
extern const std::span<const NamedText> kForecastSeries;  // tests/golden/forecast/series_NAME.csv
extern const std::span<const NamedText> kForecastTraces;  // tests/golden/forecast/traces/NAME.csv
extern const std::string_view kStatsmodelsGrid;           // bench/compare/statsmodels_grid.py
extern const std::string_view kRGrid;                     // bench/compare/r_grid.R

}  // namespace iez::bench
