// Pages of `iez sim`: HTML with everything in it, no script and nothing to load, for light and dark screens. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "line_chart.hpp"
#include "sim/result.hpp"
#include "sim_view.hpp"

namespace iez::cli {

// What a page shows of one run over time, thinned to what can be seen.
struct RunTrace {
  static constexpr std::size_t kSeries = 6;

  std::string name;
  std::array<std::vector<ChartPoint>, kSeries> series;
};

inline constexpr std::size_t kMostTraces = kChartColours;  // that are laid over one another

RunTrace trace_of(std::string name, std::span<const sim::Sample> samples);

// traces: of the first combinations with their first seed, at most kMostTraces.
std::string report_page(const SimReport& report, std::span<const RunTrace> traces);

// Two scenarios side by side: `figures` is the table of the comparison, `traces` one of each.
std::string compare_page(const SimReport& a, const SimReport& b, const Grid& figures, std::span<const RunTrace> traces);

}  // namespace iez::cli
