// Bars and heat maps as SVG to put into a page of HTML, beside those of line_chart.hpp: nothing to load, no script. Pure.
//
// Colours come from classes, which page.hpp defines for light and dark pages. Deterministic. Text from outside is escaped.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iez::cli {

struct BarSeries {
  std::string name;
  std::vector<double> values;  // one for each category; what is not finite or below 0 is not drawn
};

struct BarChart {
  std::string title;  // with the unit of the values
  std::string x_axis;
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
  bool stacked = false;
};

// REQUIRES: every series has as many values as there are categories.
std::string to_svg(const BarChart& chart);

// What a colour of a heat map stands for: a swatch of this heat, and its words.
struct HeatKey {
  double heat = 0;
  std::string label;
};

inline constexpr int kHeatColours = 6;  // of cells: the first below 1/6

struct HeatMap {
  std::string title;
  std::string x_axis;
  std::vector<std::string> columns;                       // labels; some may be empty
  std::vector<std::string> rows;                          // labels, from the top
  std::vector<std::vector<std::optional<double>>> cells;  // by row, from 0 to 1; none: nothing there
  std::vector<std::vector<std::string>> notes;            // by row: what a cell tells when it is pointed at; may be empty
  std::string legend_title;
  std::vector<HeatKey> legend;  // below the map; from little to much
};

// REQUIRES: as many cells in each row as columns, as many rows of cells as rows.
std::string to_svg(const HeatMap& map);

}  // namespace iez::cli
