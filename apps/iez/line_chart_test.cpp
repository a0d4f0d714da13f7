#include "line_chart.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::cli {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

TEST(LineChart, PointsAreWhereTheirValuesAre) {
  const std::string svg =
      to_svg(LineChart{.title = "T", .x_axis = "x", .lines = {{.name = "a", .points = {{0, 0}, {10, 10}, {5, 5}}}}});
  // The frame is from 56 to 504 and from 236 up to 40; both axes are from 0 to 10.
  EXPECT_NE(svg.find("d=\"M56.0 236.0h0L504.0 40.0L280.0 138.0\""), std::string::npos) << svg;
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(LineChart, AGapBreaksTheLine) {
  const std::string svg = to_svg(LineChart{.lines = {{.points = {{0, 1}, {1, kNaN}, {2, 1}, {3, 1}}}}});
  EXPECT_EQ(count(svg, "h0"), 2U) << svg;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(LineChart, ALegendForSeveralLines) {
  LineChart chart{.lines = {{.name = "first", .points = {{0, 1}}}}};
  EXPECT_EQ(to_svg(chart).find("first</text>"), std::string::npos);
  chart.lines.push_back({.name = "second", .points = {{0, 2}}});
  EXPECT_NE(to_svg(chart).find("first</text>"), std::string::npos);
  EXPECT_NE(to_svg(chart).find("second</text>"), std::string::npos);
}

TEST(LineChart, WhiskersAndMarks) {
  LineChart chart{.categories = {"1", "2"}, .lines = {{.name = "n", .points = {{0, 5, 4, 6}, {1, 5, 5, 5}}}}, .marks = true};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "<circle"), 2U);
  EXPECT_EQ(count(svg, "h12M"), 1U) << svg;
  EXPECT_EQ(svg.find("spread</text>"), std::string::npos);
  chart.whisker_name = "spread";
  EXPECT_EQ(count(to_svg(chart), "h12M"), 2U) << "and one in the legend";
  EXPECT_NE(to_svg(chart).find("spread</text>"), std::string::npos);
  EXPECT_NE(svg.find("<title>n, 2: 5</title>"), std::string::npos) << svg;
}

// Up to the highs, from left to right, and back along the lows; a gap makes two of it.
TEST(LineChart, ABandIsShadedBelowItsLine) {
  LineChart chart{.lines = {{.name = "n", .points = {{0, 5}, {10, 5}}, .band = {{0, 0, 10}, {10, 5, 10}}}}, .band_name = "all"};
  const std::string svg = to_svg(chart);
  const std::size_t band = svg.find("<path class=\"band f0\" d=\"M56.0 40.0L504.0 40.0L504.0 138.0L56.0 236.0z\"/>");
  ASSERT_NE(band, std::string::npos) << svg;
  EXPECT_LT(band, svg.find("<path class=\"line c0\""));
  EXPECT_NE(svg.find("all</text>"), std::string::npos);
  EXPECT_NE(svg.find("n</text>"), std::string::npos) << "what is not shaded";
  chart.lines[0].band = {{0, 0, 10}, {3, 0, 10}, {5, kNaN, kNaN}, {7, 0, 10}, {10, 0, 10}};
  const std::string gap = to_svg(chart);
  EXPECT_EQ(count(gap, "zM"), 1U) << gap;
  EXPECT_EQ(gap.find("nan"), std::string::npos);
  chart.lines[0].band.clear();
  EXPECT_EQ(to_svg(chart).find("all</text>"), std::string::npos);
}

TEST(LineChart, AnAxisIncludesBands) {
  const std::string svg = to_svg(LineChart{.lines = {{.points = {{0, 1}, {1, 1}}, .band = {{0, 0, 80}, {1, 0, 80}}}}});
  EXPECT_NE(svg.find(">80</text>"), std::string::npos) << svg;
}

TEST(LineChart, ALineMayHaveTheColourOfWhatIsComparedWith) {
  LineChart chart{.lines = {{.points = {{0, 1}, {1, 1}}, .colour = kChartGrey}, {.points = {{0, 2}, {1, 2}}}}};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "line c6"), 2U) << "the line, and in the legend";
  EXPECT_EQ(count(svg, "line c1"), 2U);
}

TEST(LineChart, TextFromOutsideIsEscaped) {
  const std::string svg = to_svg(LineChart{.title = "<script>&\"",
                                           .x_axis = "\x1b",
                                           .categories = {"<b>"},
                                           .lines = {{.name = "a>b", .points = {{0, 1}}}, {.name = "<i>"}},
                                           .marks = true});
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;&amp;&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_EQ(svg.find("<i>"), std::string::npos);
  EXPECT_EQ(svg.find('\x1b'), std::string::npos);
}

TEST(LineChart, NothingToDrawAndExtremes) {
  constexpr double kMost = std::numeric_limits<double>::max();
  for (const std::vector<ChartPoint>& points : {std::vector<ChartPoint>{},
                                                {{kNaN, kNaN}},
                                                {{0, 0}},
                                                {{1, 1}, {1, 1}},
                                                {{0, 1e-300}, {1, 2e-300}},
                                                {{-5, -5}, {-4, -1}},
                                                {{0, 1}, {1e15, 1e18}},
                                                {{0, 1, kNaN, 2}},
                                                {{0, 1, 0, kMost / 8}}}) {
    const std::string svg = to_svg(LineChart{.lines = {{.points = points}}, .marks = true});
    EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
    EXPECT_LT(count(svg, "<text"), 30U);
  }
}

TEST(LineChart, ManyCategoriesHaveFewLabels) {
  LineChart chart;
  chart.lines.emplace_back();
  for (int i = 0; i < 1000; ++i) {
    chart.categories.push_back(std::to_string(i));
    chart.lines[0].points.push_back({static_cast<double>(i), 1});
  }
  EXPECT_LT(count(to_svg(chart), "<text"), 40U);
}

TEST(LineChart, ThinningKeepsTheExtremes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<ChartPoint> points;
    double low = 1e9;
    double high = -1e9;
    const std::uint64_t size = rng.between(1, 5000);
    for (std::uint64_t i = 0; i < size; ++i) {
      const double y = rng.chance(0.1) ? kNaN : rng.unit() * 100 - 50;
      points.push_back({static_cast<double>(i), y});
      if (std::isnan(y)) continue;
      low = std::min(low, y);
      high = std::max(high, y);
    }
    const auto kept = thinned(points, 100);
    EXPECT_LE(kept.size(), 100U);
    double kept_low = 1e9;
    double kept_high = -1e9;
    double before = -1;
    for (const ChartPoint& point : kept) {
      EXPECT_GT(point.x, before);
      before = point.x;
      if (std::isnan(point.y)) continue;
      kept_low = std::min(kept_low, point.y);
      kept_high = std::max(kept_high, point.y);
    }
    EXPECT_EQ(kept_low, low);
    EXPECT_EQ(kept_high, high);
  }
  EXPECT_EQ(thinned({{1, 2}, {3, 4}}, 4).size(), 2U);
}

TEST(LineChart, AThinnedBandCoversAllOfIt) {
  std::vector<ChartRange> band;
  for (int i = 0; i < 1000; ++i) band.push_back({static_cast<double>(i), -1, 1});
  band[123].low = -7;
  band[456].high = 9;
  for (std::size_t i = 700; i < 800; ++i) band[i] = {static_cast<double>(i), kNaN, kNaN};
  band[700 + 7] = {707, -2, 2};
  const auto kept = thinned_band(band, 100);
  ASSERT_EQ(kept.size(), 100U);
  EXPECT_EQ(kept[12].low, -7);
  EXPECT_EQ(kept[45].high, 9);
  EXPECT_EQ(kept[70].low, -2) << "what is known of a stretch";
  EXPECT_TRUE(std::isnan(kept[75].low));
  EXPECT_EQ(kept.front().x, 0);
  EXPECT_EQ(kept.back().x, 999);
}

TEST(LineChart, ShortNumbers) {
  for (const auto& [value, text] : {std::pair<double, const char*>{0, "0"},
                                    {0.25, "0.25"},
                                    {1500, "1500"},
                                    {12500, "12.5k"},
                                    {1e6, "1M"},
                                    {2.5e9, "2.5G"},
                                    {-3e12, "-3T"},
                                    {7e15, "7P"}}) {
    EXPECT_EQ(short_number(value), text);
  }
}

}  // namespace
}  // namespace iez::cli
