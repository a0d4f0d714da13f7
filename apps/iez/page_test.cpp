#include "page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "line_chart.hpp"
#include "page_charts.hpp"
#include "svg_chart.hpp"

namespace iez::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Page, HeadAndFootAreADocument) {
  const std::string page = page_head({.command = "iez sim run", .title = "a <b>", .about = "x & y"}) + page_foot("iez sim run");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>\n"));
  EXPECT_TRUE(page.ends_with("</footer>\n</body>\n</html>\n"));
  EXPECT_THAT(page, HasSubstr("<title>a &lt;b&gt; - iez sim run</title>"));
  EXPECT_THAT(
      page,
      HasSubstr("<p class=\"made\"><strong>iez</strong> sim run</p>\n<h1>a &lt;b&gt;</h1>\n<p class=\"quiet\">x &amp; y</p>"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(Page, NothingIsSaidOfNothing) {
  EXPECT_THAT(page_head({.command = "iez", .title = "t", .about = {}}), Not(HasSubstr("<p class=\"quiet\"")));
  EXPECT_THAT(page_foot("iez"), HasSubstr("<code>iez</code>.</footer>"));
  EXPECT_THAT(page_foot("iez", "More."), HasSubstr("<code>iez</code>. More.</footer>"));
}

TEST(Page, ACardSaysHowGoodItIs) {
  EXPECT_EQ(page_card("1 <", "a & b"), "<div class=\"card\"><strong>1 &lt;</strong><span>a &amp; b</span></div>\n");
  EXPECT_EQ(page_card("2", "c", CardMood::good), "<div class=\"card\"><strong class=\"good\">2</strong><span>c</span></div>\n");
}

TEST(Page, FiguresHaveTheSignsOfPaper) {
  EXPECT_EQ(typeset("34.5 ms +- 284 us"), "34.5 ms ± 284 µs");
  EXPECT_EQ(typeset("1 us, 2 us"), "1 µs, 2 µs");
  for (const char* const text : {"3 users", "all of us", "a+-b", " us", "", "1 s"}) EXPECT_EQ(typeset(text), text);
}

// A class that is used and not defined is a black shape on a black page.
TEST(Page, TheStyleDefinesEveryClassOfThePictures) {
  const std::string head = page_head({.command = "iez", .title = "t", .about = {}});
  LineChart lines{.title = "t", .x_axis = "x", .marks = true, .band_name = "b", .whisker_name = "w"};
  BarChart bars{.title = "t", .x_axis = "x", .categories = {"a"}};
  SvgChart grouped{.title = "t", .subtitle = "s", .categories = {"a"}};
  for (int i = 0; i < 9; ++i) {
    lines.lines.push_back(
        {.name = "l", .points = {{.x = 0, .y = 1, .low = 0, .high = 2}}, .band = {{.x = 0, .low = 0, .high = 2}}});
    bars.series.push_back({.name = "b", .values = {1}});
    grouped.series.push_back({.name = "g", .bars = {SvgBar{.value = 2, .low = 1, .high = 3}}});
  }
  const HeatMap heat{.title = "t",
                     .x_axis = "x",
                     .columns = {"0", "1", "2", "3", "4", "5"},
                     .rows = {"r"},
                     .cells = {{0.0, 0.2, 0.4, 0.6, 0.7, 0.9}},
                     .notes = {}};
  std::size_t seen = 0;
  for (const std::string& svg : {to_svg(lines), to_svg(bars), to_svg(grouped, SvgUse::page), to_svg(heat)}) {
    constexpr std::string_view kClass = "class=\"";
    for (std::size_t at = svg.find(kClass); at != std::string::npos; at = svg.find(kClass, at)) {
      at += kClass.size();
      std::string names = svg.substr(at, svg.find('"', at) - at) + ' ';
      for (std::size_t end = names.find(' '); end != std::string::npos; names.erase(0, end + 1), end = names.find(' ')) {
        const std::string rule = "." + names.substr(0, end);
        EXPECT_TRUE(head.find(rule + "{") != std::string::npos || head.find(rule + " ") != std::string::npos ||
                    head.find(rule + ".") != std::string::npos)
            << rule;
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 50U);
}

}  // namespace
}  // namespace iez::cli
