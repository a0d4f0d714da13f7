#include "sim_view.hpp"

#include <array>
#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "sim_compare.hpp"
#include "sim_page.hpp"

namespace iez::cli {
namespace {

using std::chrono::seconds;

SimRun run_of(double bandwidth, std::vector<config::Override> set, std::uint64_t seed) {
  SimRun run{.set = std::move(set), .result = {.seed = seed, .end = seconds(10), .bandwidth = {bandwidth}}};
  run.result.bytes = Bytes{static_cast<std::uint64_t>(10 * bandwidth)};
  run.result.jobs = {{.name = "a", .finished = seconds(10), .bandwidth = {bandwidth}}};
  return run;
}

SimReport sweep_report() {
  SimReport report{.file = "x.toml", .sweeps = {{.key = "k", .values = {"1", "2"}}}, .seeds = 2};
  report.scenario.name = "a <b> & c";
  for (int i = 0; i < 4; ++i) {
    report.runs.push_back(run_of(1e6 * (i + 1), {{.key = "k", .value = i < 2 ? "1" : "2"}}, i % 2 == 0 ? 1 : 2));
  }
  return report;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

TEST(SimView, RowsOfASweep) {
  const SimReport report = sweep_report();
  const Grid runs = run_grid(report);
  ASSERT_EQ(runs.rows.size(), 4U);
  EXPECT_EQ(runs.columns[0].title, "RUN");
  EXPECT_EQ(runs.columns[1].title, "k");
  EXPECT_EQ(runs.columns[2].title, "SEED");
  EXPECT_EQ(runs.rows[3][0], "4");
  EXPECT_EQ(runs.rows[3][1], "2");
  EXPECT_EQ(runs.rows[3][2], "2");
  EXPECT_EQ(runs.rows[3][3], "4.00 MB/s");
  const Grid spread = spread_grid(report);
  ASSERT_EQ(spread.rows.size(), 2U);
  // 3 and 4 MB/s: a band of 12.706 x 0.5.
  EXPECT_EQ(spread.rows[1][2], "3.50 MB/s +- 6.35 MB/s");
  for (const Grid& grid : {runs, spread, job_grid(report), stable_grid(report)}) {
    for (const auto& row : grid.rows) EXPECT_EQ(row.size(), grid.columns.size());
  }
}

TEST(SimView, OneRunHasNoNumberAndNoSeed) {
  SimReport report;
  report.runs.push_back(run_of(1e6, {}, 1));
  EXPECT_EQ(run_grid(report).columns[0].title, "BANDWIDTH");
  EXPECT_TRUE(stable_grid(report).rows.empty());
}

TEST(SimView, CsvConservesBytesAndKnowsTheLengthOfIntervals) {
  const std::vector<sim::Sample> samples{{.at = seconds(2), .depth = 3, .finished = 4, .bytes = {100}, .latency = 0.5},
                                         {.at = seconds(3), .bytes = {50}}};
  EXPECT_EQ(csv_rows(7, samples), "7,2,3,4,100,50,0.5,0,0,0,0\n7,3,0,0,50,50,0,0,0,0,0\n");
  EXPECT_EQ(count(csv_title(), ","), 10U);
}

TEST(SimView, NotesTellWhatWentWrong) {
  SimReport report;
  report.runs.push_back(run_of(1e6, {}, 1));
  EXPECT_TRUE(run_notes(report).empty());
  report.runs[0].result.jobs[0].finished.reset();
  report.runs[0].result.jobs[0].refused_files = 2;
  report.runs[0].result.requests = 4;
  report.runs[0].result.useless = 1;
  const auto notes = run_notes(report);
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_EQ(notes[0], "job a was not done after 10.0 s");
  EXPECT_EQ(notes[1], "job a: no space for 2 files");
  EXPECT_EQ(notes[2], "25.0 % of the requests served were for clients that had given up");
}

TEST(SimView, JsonHasAllRuns) {
  const auto json = ordered_json::parse(report_json(sweep_report(), false));
  EXPECT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["points"].size(), 2U);
  EXPECT_EQ(json["runs"][2]["set"][0]["value"], "2");
  EXPECT_FALSE(json["runs"][0].contains("samples"));
  EXPECT_TRUE(json["runs"][0]["stable"].is_null());
}

TEST(SimPage, IsWholeAndEscaped) {
  const SimReport report = sweep_report();
  const std::vector<SeedTraces> traces{SeedTraces("<i>")};
  const std::string page = report_page(report, finished(traces));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(page.find("a <b>"), std::string::npos);
  EXPECT_NE(page.find("a &lt;b&gt; &amp; c"), std::string::npos);
  EXPECT_EQ(page.find("://"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(count(page, "<svg"), 8U) << "two against the key, six over time";
  EXPECT_EQ(count(page, "<svg"), count(page, "</svg>"));
  EXPECT_EQ(count(page, "<table"), count(page, "</table>"));
}

std::vector<sim::Sample> samples_of(std::initializer_list<std::pair<int, std::uint64_t>> depths) {
  std::vector<sim::Sample> samples;
  for (const auto& [at, depth] : depths) samples.push_back({.at = seconds(at), .depth = depth});
  return samples;
}

TEST(SimPage, ABandIsFromTheLowestSeedToTheHighest) {
  SeedTraces traces("t");
  traces.add(samples_of({{1, 5}, {2, 6}, {3, 7}}));
  EXPECT_TRUE(traces.trace().bands[0].empty()) << "of one seed nothing spreads";
  traces.add(samples_of({{1, 9}, {2, 6}, {4, 1}}));  // it ended between two samples
  traces.add(samples_of({{1, 4}, {2, 8}, {3, 6}, {5, 2}}));
  const RunTrace trace = traces.trace();
  EXPECT_EQ(trace.seeds, 3U);
  ASSERT_EQ(trace.series[0].size(), 3U);
  EXPECT_EQ(trace.series[0][2].y, 7) << "the first seed's";
  ASSERT_EQ(trace.bands[0].size(), 3U) << "the ends of single runs are none";
  constexpr std::array<ChartRange, 3> kExpected{{{1, 4, 9}, {2, 6, 8}, {3, 6, 7}}};
  for (std::size_t i = 0; i < kExpected.size(); ++i) {
    EXPECT_EQ(trace.bands[0][i].x, kExpected[i].x);
    EXPECT_EQ(trace.bands[0][i].low, kExpected[i].low);
    EXPECT_EQ(trace.bands[0][i].high, kExpected[i].high);
  }
  EXPECT_TRUE(std::isnan(trace.bands[1][0].low)) << "nobody finished a request, nobody has a latency";
}

TEST(SimPage, SeedsAreDrawnAsBandsAndAxesTellTheirUnits) {
  SimReport report = sweep_report();
  for (SimRun& run : report.runs) run.result.latency.mean = 200e-6;
  SeedTraces traces("t");
  traces.add(samples_of({{1, 5}, {2, 6}}));
  traces.add(samples_of({{1, 9}, {2, 7}}));
  const std::string page = report_page(report, finished(std::vector<SeedTraces>{traces}));
  EXPECT_GE(count(page, "class=\"band f0\""), 2U) << "the band, and in the legend";
  EXPECT_NE(page.find("2 seeds, lowest to highest</text>"), std::string::npos);
  EXPECT_NE(page.find("where the true mean is, 95 %</text>"), std::string::npos);
  EXPECT_NE(page.find("Bandwidth (MB/s)</text>"), std::string::npos);
  EXPECT_NE(page.find("Latency at the server (µs)</text>"), std::string::npos);
  EXPECT_NE(page.find("3.50 MB/s ± 6.35 MB/s"), std::string::npos);
  EXPECT_NE(page.find("200 µs"), std::string::npos);
  EXPECT_EQ(page.find("+-"), std::string::npos);
}

TEST(SimCompare, APageShowsHowFarTheSpreadsAreApart) {
  SimReport a{.seeds = 2};
  SimReport b{.seeds = 2};
  for (int seed = 1; seed <= 2; ++seed) {
    a.runs.push_back(run_of(2e6 + seed * 1e5, {}, 1));
    b.runs.push_back(run_of(3e6 + seed * 1e5, {}, 1));
  }
  const std::string page = compare_page(a, b, compare_runs(a, b), {});
  EXPECT_EQ(count(page, "class=\"whisker\""), 2U) << "the bandwidths; times are equal";
  EXPECT_NE(page.find("bandwidth, B: : 1.47</title>"), std::string::npos) << "3.15 of 2.15";
  EXPECT_NE(page.find("2.15 MB/s ± 635 kB/s"), std::string::npos);
}

TEST(SimCompare, ChangesAndJobs) {
  SimReport a;
  SimReport b;
  for (SimReport* report : {&a, &b}) report->scenario.jobs = {{.name = "a"}, {.name = "only"}};
  b.scenario.jobs[1].name = "other";
  a.runs.push_back(run_of(2e6, {}, 1));
  b.runs.push_back(run_of(3e6, {}, 1));
  b.runs[0].result.timeouts = 5;
  const auto figures = compare_runs(a, b);
  const auto at = [&](std::string_view name) { return std::ranges::find(figures, name, &Compared::name); };
  ASSERT_NE(at("bandwidth"), figures.end());
  EXPECT_DOUBLE_EQ(change_of(*at("bandwidth")).value_or(0), 0.5);
  EXPECT_EQ(change_of(*at("time")), 0);
  EXPECT_EQ(change_of(*at("time-outs")), std::nullopt) << "none became five";
  EXPECT_NE(at("job a: bandwidth"), figures.end());
  EXPECT_EQ(at("job only: bandwidth"), figures.end());
  EXPECT_EQ(at("stable bandwidth"), figures.end());
  const Grid grid = compare_grid(figures);
  EXPECT_EQ(grid.rows[0], (std::vector<std::string>{"bandwidth", "2.00 MB/s", "3.00 MB/s", "+50.0 %"}));
}

}  // namespace
}  // namespace iez::cli
