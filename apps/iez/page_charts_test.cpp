#include "page_charts.hpp"

#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(PageCharts, ABarForEachValueThatCanBeDrawn) {
  const BarChart chart{.title = "bars <b>",
                       .x_axis = "x",
                       .categories = {"one", "two", "three"},
                       .series = {{.name = "a & b", .values = {1, 0, std::numeric_limits<double>::quiet_NaN()}},
                                  {.name = "c", .values = {2, 3, 4}}}};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "<rect class=\"f0\""), 2U);  // one bar, one mark of the legend
  EXPECT_EQ(count(svg, "<rect class=\"f1\""), 4U);
  EXPECT_THAT(svg, HasSubstr("bars &lt;b&gt;"));
  EXPECT_THAT(svg, HasSubstr("a &amp; b, one: 1"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(PageCharts, StackedBarsFillTheirSum) {
  const BarChart chart{.title = "t",
                       .x_axis = "x",
                       .categories = {"one"},
                       .series = {{.name = "a", .values = {40}}, {.name = "b", .values = {60}}},
                       .stacked = true};
  // A frame of 196 pixels below the top at 40: 40 % and 60 % of it, one on the other.
  EXPECT_THAT(to_svg(chart), HasSubstr("y=\"157.60\" width=\"370.28\" height=\"78.40\""));
  EXPECT_THAT(to_svg(chart), HasSubstr("y=\"40.00\" width=\"370.28\" height=\"117.60\""));
}

// On a telephone text is larger, so fewer labels have room there.
TEST(PageCharts, LabelsThatHaveNoRoomWhenTheyAreLargerAreMarked) {
  BarChart chart{.title = "t", .x_axis = "x", .categories = {}, .series = {BarSeries{}}};
  for (int i = 0; i < 10; ++i) {
    chart.categories.push_back(fmt::format("{0}0-{0}9", i));
    chart.series[0].values.push_back(1);
  }
  const std::string svg = to_svg(chart);
  for (const std::string& label : chart.categories) EXPECT_THAT(svg, HasSubstr(">" + label + "</text>"));
  EXPECT_EQ(count(svg, "class=\"dense\""), 5U) << svg;
  chart.categories.resize(5);
  chart.series[0].values.resize(5);
  EXPECT_EQ(count(to_svg(chart), "class=\"dense\""), 0U);
}

TEST(PageCharts, TheLastLabelEndsBeforeTheEdge) {
  HeatMap map{.title = "t", .x_axis = "x", .columns = std::vector<std::string>(60), .rows = {"r"}, .cells = {}, .notes = {}};
  map.cells.assign(1, std::vector<std::optional<double>>(60));
  map.columns.back() = "2018-07";
  EXPECT_THAT(to_svg(map), HasSubstr("<text x=\"487.3\" y=\"82.0\" text-anchor=\"middle\">2018-07</text>"));
}

TEST(PageCharts, ALegendOfBarsGoesOnInTheNextRow) {
  BarChart chart{.title = "t", .x_axis = "x", .categories = {"a"}, .series = {}};
  for (int i = 0; i < 4; ++i) chart.series.push_back({.name = fmt::format("machine-number-{}", i), .values = {1}});
  const std::string svg = to_svg(chart);
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 520 324\""));
  EXPECT_THAT(svg, HasSubstr("<text x=\"247.2\" y=\"313.0\">machine-number-3</text>"));
}

TEST(PageCharts, AChartOfNothingIsStillOne) {
  EXPECT_THAT(to_svg(BarChart{.title = "none", .x_axis = "x", .categories = {}, .series = {}}), HasSubstr("</svg>"));
  EXPECT_THAT(to_svg(HeatMap{.title = "none", .x_axis = "x", .columns = {}, .rows = {}, .cells = {}, .notes = {}}),
              HasSubstr("</svg>"));
}

TEST(PageCharts, CellsOfAHeatMapHaveTheirHeatAndNote) {
  const HeatMap map{.title = "t",
                    .x_axis = "x",
                    .columns = {"a", "b", "c"},
                    .rows = {"r"},
                    .cells = {{0.0, std::nullopt, 1.0}},
                    .notes = {{"cold", "", "hot <"}}};
  const std::string svg = to_svg(map);
  EXPECT_EQ(count(svg, "<rect"), 2U);
  EXPECT_THAT(svg, HasSubstr("class=\"h0\""));
  EXPECT_THAT(svg, HasSubstr("class=\"h5\""));
  EXPECT_THAT(svg, HasSubstr("hot &lt;"));
}

// Colours turn around between light and dark pages: words at swatches hold on both.
TEST(PageCharts, ALegendTellsWhatTheColoursOfAHeatMapStandFor) {
  HeatMap map{.title = "t",
              .x_axis = "x",
              .columns = {"a"},
              .rows = {"r"},
              .cells = {{0.0}},
              .notes = {},
              .legend_title = "jobs:",
              .legend = {{.heat = 0.1, .label = "1 <"}, {.heat = 0.5, .label = "10"}, {.heat = 1, .label = "100"}}};
  const std::string svg = to_svg(map);
  EXPECT_EQ(count(svg, "<rect"), 4U);  // the cell, and three swatches
  EXPECT_THAT(svg, HasSubstr(">jobs:</text>"));
  EXPECT_THAT(svg, testing::ContainsRegex("class=\"h0\"[^\n]*width=\"12\"[^\n]*\n<text[^>]*>1 &lt;</text>"));
  EXPECT_THAT(svg, testing::ContainsRegex("class=\"h3\"[^\n]*width=\"12\"[^\n]*\n<text[^>]*>10</text>"));
  EXPECT_THAT(svg, testing::ContainsRegex("class=\"h5\"[^\n]*width=\"12\"[^\n]*\n<text[^>]*>100</text>"));
  // What has no room in one row goes on in the next, and the picture grows with it.
  const auto height_of = [](const HeatMap& drawn) {
    const std::string text = to_svg(drawn);
    return std::stod(text.substr(text.find("height=\"") + 8));
  };
  const double one_row = height_of(map);
  map.legend.assign(6, {.heat = 0.5, .label = std::string(30, 'w')});
  EXPECT_GT(height_of(map), one_row);
  map.legend.clear();
  EXPECT_LT(height_of(map), one_row);
}

}  // namespace
}  // namespace iez::cli
