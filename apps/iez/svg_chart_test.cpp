#include "svg_chart.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace iez::cli {
namespace {

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

TEST(Svg, BarsAreAsHighAsTheirValues) {
  const SvgChart chart{
      .title = "T", .axis = "A", .categories = {"x"}, .series = {{"one", {SvgBar{.value = 2}}}, {"two", {SvgBar{.value = 1}}}}};
  const std::string svg = to_svg(chart);
  // The axis ends at 2.5; 306 px are 2.5.
  EXPECT_NE(svg.find("height=\"244.8\" fill=\"#7f7f7f\"><title>x, one: 2.00</title>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("height=\"122.4\" fill=\"#0072b2\"><title>x, two: 1.00</title>"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("<svg "), 0U);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
}

TEST(Svg, TextFromOutsideIsEscaped) {
  const std::string svg = to_svg({.title = "<script>&\"", .categories = {"\x1b"}, .series = {{"a>b", {SvgBar{.value = 1}}}}});
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;&amp;&quot;"), std::string::npos);
  EXPECT_EQ(svg.find('\x1b'), std::string::npos);
}

TEST(Svg, OnlyAFileSaysWhatItIs) {
  EXPECT_EQ(count(to_svg({.title = "t"}), "http://www.w3.org/2000/svg"), 1U);
  EXPECT_EQ(count(to_svg({.title = "t"}, SvgUse::page), "http"), 0U);
}

TEST(Svg, WhiskersOnlyForRanges) {
  const SvgSeries drawn{"drawn",
                        {SvgBar{.value = 2, .low = 1, .high = 3}, SvgBar{.value = 2, .low = 2, .high = 2}, std::nullopt}};
  const std::string svg = to_svg({.categories = {"a", "b", "c"}, .series = {drawn}});
  EXPECT_EQ(count(svg, "<path"), 1U);
  EXPECT_EQ(count(svg, "<rect"), 3U) << "the background and two bars";
}

TEST(Svg, ManyNarrowBarsCarryNoNumbersAndFewLabels) {
  SvgChart chart{.series = {{"", {}}}};
  for (int i = 0; i < 500; ++i) {
    chart.categories.push_back(std::to_string(i));
    chart.series[0].bars.emplace_back(SvgBar{.value = 0.5});
  }
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "font-size=\"10\""), 0U);
  EXPECT_LT(count(svg, "<text"), 70U);
  EXPECT_EQ(count(svg, "<rect"), 501U);
}

TEST(Svg, NothingToDraw) {
  for (const SvgChart& chart : {SvgChart{}, SvgChart{.categories = {"a"}, .series = {{"s", {std::nullopt}}}},
                                SvgChart{.categories = {"a"}, .series = {{"s", {SvgBar{.value = 0}}}}}}) {
    const std::string svg = to_svg(chart);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
  }
}

}  // namespace
}  // namespace iez::cli
