#include "sim_figures.hpp"

#include <array>
#include <chrono>
#include <numeric>

#include <gtest/gtest.h>

namespace iez::cli {
namespace {

using std::chrono::seconds;

TEST(SimFigures, Seconds) {
  for (const auto& [value, text] : {std::pair<double, const char*>{0, "0 s"},
                                    {2e-6, "2.00 us"},
                                    {0.00125, "1.25 ms"},
                                    {0.9996, "1.00 s"},
                                    {0.057, "57.0 ms"},
                                    {0.207, "207 ms"},
                                    {56.04, "56.0 s"},
                                    {145, "145 s"},
                                    {3600, "3600 s"}}) {
    EXPECT_EQ(seconds_text(value), text);
  }
}

TEST(SimFigures, SpreadOfKnownValues) {
  const Spread one = spread_of(std::array{5.0});
  EXPECT_EQ(one.mean, 5);
  EXPECT_FALSE(one.band);
  // Deviation 1 of three values: 4.303 / sqrt(3).
  const Spread three = spread_of(std::array{1.0, 2.0, 3.0});
  EXPECT_DOUBLE_EQ(three.mean, 2);
  EXPECT_NEAR(three.band.value_or(0), 2.48434, 1e-4);
  const Spread equal = spread_of(std::array{0.1, 0.1, 0.1, 0.1});
  EXPECT_EQ(equal.mean, 0.1);
  EXPECT_EQ(equal.band, 0);
  // 101 values: t with 100 degrees of freedom is 1.984.
  std::vector<double> many(101);
  std::iota(many.begin(), many.end(), 0.0);
  EXPECT_NEAR(spread_of(many).band.value_or(0), 1.984 * 29.3002 / 10.0499, 0.01);
}

TEST(SimFigures, SharesOfTargets) {
  sim::RunResult run;
  EXPECT_EQ(mean_busy(run), 0);
  EXPECT_EQ(seek_share(run), 0);
  run.end = seconds(10);
  run.targets = {{.requests = 30, .positionings = 3, .busy = seconds(10)},
                 {.requests = 10, .positionings = 7, .busy = seconds(5)}};
  EXPECT_DOUBLE_EQ(mean_busy(run), 0.75);
  EXPECT_DOUBLE_EQ(highest_busy(run), 1);
  EXPECT_DOUBLE_EQ(seek_share(run), 0.25);
}

TEST(SimFigures, EachFigureReadsItsField) {
  sim::RunResult run{.end = seconds(8), .bandwidth = {1}, .latency = {.mean = 3, .p99 = 4, .max = 5}};
  run.timeouts = 6;
  run.useless = 7;
  run.deepest = 9;
  std::vector<double> found;
  std::size_t missing = 0;
  for (const Figure& figure : run_figures()) {
    const auto value = figure.of(run);
    if (value) found.push_back(*value);
    missing += value ? 0U : 1U;
  }
  EXPECT_EQ(found, (std::vector<double>{1, 8, 3, 4, 5, 9, 6, 7, 0, 0, 0}));
  EXPECT_EQ(missing, 3U) << "there is no stable phase";
  run.stable = {.latency = {.mean = 11, .p99 = 12}, .bandwidth = {10}};
  const auto figures = run_figures();
  EXPECT_EQ(figures[11].of(run), 10);
  EXPECT_EQ(figures[12].of(run), 11);
  EXPECT_EQ(figures[13].of(run), 12);
}

TEST(SimFigures, Texts) {
  EXPECT_EQ(figure_text(FigureUnit::rate, 163e6), "163 MB/s");
  EXPECT_EQ(figure_text(FigureUnit::share, 0.613), "61.3 %");
  EXPECT_EQ(figure_text(FigureUnit::count, 12), "12");
  EXPECT_EQ(figure_text(FigureUnit::count, 12.25), "12.2");
  EXPECT_EQ(spread_text(FigureUnit::seconds, {.mean = 60, .band = 1.5}), "60.0 s +- 1.50 s");
}

}  // namespace
}  // namespace iez::cli
