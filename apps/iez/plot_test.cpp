#include "plot.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::cli {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Terminal kAscii;
const Terminal kFine{.utf8 = true};

TEST(BarChart, LargestHasFullWidth) {
  const std::vector<Bar> bars{{"a", 1, "1.0"}, {"long", 2, "2.0"}, {"none", 0, "0"}};
  EXPECT_EQ(bar_chart(bars, 10, kAscii),
            "a     ##### 1.0\n"
            "long  ########## 2.0\n"
            "none  0\n");
  EXPECT_EQ(bar_chart(std::vector<Bar>{{"gr\xc3\xbcn", 4, ""}, {"x", 1.5, "n"}}, 4, kFine), "gr\xc3\xbcn  ████\nx     █▌ n\n");
}

TEST(BarChart, ValuesThatCannotBeDrawn) {
  const std::vector<Bar> bars{{"nan", kNan, "-"}, {"inf", kInfinity, "-"}, {"minus", -3, "-3"}, {"one", 1, "1"}};
  EXPECT_EQ(bar_chart(bars, 3, kAscii), "nan    -\ninf    -\nminus  -3\none    ### 1\n");
  EXPECT_EQ(bar_chart({}, 10, kAscii), "");
  EXPECT_EQ(bar_chart(std::vector<Bar>{{"zero", 0, ""}}, 10, kAscii), "zero\n");
}

TEST(BarChart, TextFromOutsideIsHarmless) {
  EXPECT_EQ(bar_chart(std::vector<Bar>{{"\x1b[2J", 1, "\n"}}, 2, kAscii), "\\x1b[2J  ## \\x0a\n");
}

TEST(TwoPartBar, BeforeAddedAndRest) {
  EXPECT_EQ(two_part_bar(0.4, 0.6, 10, kAscii), "[####++....]");
  EXPECT_EQ(two_part_bar(0, 0, 4, kAscii), "[....]");
  EXPECT_EQ(two_part_bar(0.5, 7, 4, kAscii), "[##++]") << "never longer than its frame";
  EXPECT_EQ(two_part_bar(0.5, 0.25, 4, kAscii), "[##..]") << "nothing is taken away";
  EXPECT_EQ(two_part_bar(kNan, kNan, 4, kAscii), "[....]");
  EXPECT_EQ(two_part_bar(0.25, 0.75, 4, kFine), "▕█▒▒ ▏");
}

TEST(LineChart, CornersAndLegend) {
  const std::vector<Line> lines{{"up", {{0, 0}, {4, 2}}}, {"down", {{0, 2}, {4, 0}}}};
  EXPECT_EQ(line_chart(lines, 5, 3, kAscii),
            "2 |oo **\n"
            "  | *oo\n"
            "0 |*   o\n"
            "  +-----\n"
            "   0   4\n"
            "   * up   o down\n");
}

TEST(LineChart, GapsAreNotJoined) {
  const std::vector<Line> lines{{"", {{0, 1}, {1, kNan}, {2, 1}, {3, 0}}}};
  EXPECT_EQ(line_chart(lines, 4, 2, kAscii),
            "1 |* *\n"
            "0 |   *\n"
            "  +----\n"
            "   0  3\n");
}

TEST(LineChart, NothingAndOnePoint) {
  EXPECT_EQ(line_chart({}, 10, 4, kAscii), "");
  EXPECT_EQ(line_chart(std::vector<Line>{{"x", {{kNan, 1}}}}, 10, 4, kAscii), "");
  EXPECT_EQ(line_chart(std::vector<Line>{{"", {{5, 7}}}}, 3, 3, kAscii),
            "7 |\n"
            "  | *\n"
            "7 |\n"
            "  +---\n"
            "   5 5\n");
}

TEST(LineChart, AnyNumbersStayInTheFrame) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    std::vector<Line> lines(1 + rng.below(3));
    for (Line& line : lines) {
      double x = -1e308 * rng.unit();
      const std::uint64_t points = rng.below(20);
      for (std::uint64_t i = 0; i < points; ++i) {
        x += 1e307 * rng.unit();
        line.points.push_back(
            {x, rng.chance(0.1) ? kInfinity : (rng.unit() - 0.5) * std::pow(10, static_cast<double>(rng.below(308)))});
      }
    }
    const auto width = static_cast<unsigned>(2 + rng.below(50));
    const auto height = static_cast<unsigned>(2 + rng.below(20));
    const std::string chart = line_chart(lines, width, height, kFine);
    if (chart.empty()) continue;
    std::size_t rows = 0;
    for (std::size_t at = 0; at < chart.size(); at = chart.find('\n', at) + 1) {
      const std::string row = chart.substr(at, chart.find('\n', at) - at);
      const std::size_t bar = row.find("│");
      if (bar == std::string::npos) continue;
      ++rows;
      EXPECT_LE(text_width(row.substr(bar)), width + 1U);
    }
    EXPECT_EQ(rows, height);
  }
}

}  // namespace
}  // namespace iez::cli
