// Line charts as SVG to put into a page of HTML: nothing to load, no script. Pure.
//
// Colours come from classes, which page.hpp defines for light and dark pages. Deterministic: the same chart gives the same text.
// Text from outside is escaped. A point that is not finite is not drawn, and breaks its line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iez::cli {

struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = 0;  // a whisker from low to high, where they differ
  double high = 0;
};

// What is shaded at an x, from low to high.
struct ChartRange {
  double x = 0;
  double low = 0;
  double high = 0;
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;                    // ascending x
  std::vector<ChartRange> band;                      // ascending x; one that is not finite breaks it
  std::optional<std::size_t> colour = std::nullopt;  // none: by its place among the lines
};

struct LineChart {
  std::string title;                    // with the unit of y
  std::string x_axis;                   // what x is
  std::vector<std::string> categories;  // if any, x counts them from 0, and they are shown below the axis
  std::vector<std::pair<double, std::string>>
      ticks;  // else, if any: where on x they are, ascending; the axis goes from first to last
  std::vector<ChartLine> lines;
  bool marks = false;             // a dot at each point, which tells its value
  std::string band_name = {};     // for the legend, where there are bands
  std::string whisker_name = {};  // for the legend, where there are whiskers
};

inline constexpr std::size_t kChartColours = 8;  // more lines begin anew
inline constexpr std::size_t kChartGrey = 6;     // the colour of what others are compared with

// Both axes start at 0 unless there are negative values, or ticks.
std::string to_svg(const LineChart& chart);

// At most about `most` points that look the same: of each stretch the lowest and the highest. REQUIRES: most >= 4.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most);

// The same of a band: of each stretch what covers all of it. What is not finite is kept only where nothing else is. REQUIRES:
// most >= 4.
std::vector<ChartRange> thinned_band(const std::vector<ChartRange>& band, std::size_t most);

// "0", "0.25", "12.5k", "3M": short numbers for axes.
std::string short_number(double value);

}  // namespace iez::cli
