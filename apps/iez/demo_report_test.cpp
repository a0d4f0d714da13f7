#include "demo_report.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "demo_cases.hpp"
#include "workload/pattern.hpp"

namespace iez::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

DemoRates rates(const std::vector<double>& values) {
  DemoRates rates;
  for (const double value : values) rates.add(value);
  return rates;
}

DemoReport one_case() {
  DemoOutcome outcome{.about = {.id = "x", .title = "one <two> & three", .published_default = 1.47, .published_iez = 1.01},
                      .by_default = {.write_mb_s = rates({90, 100, 105}),
                                     .read_mb_s = rates({200}),
                                     .ost_cost = 1.5,
                                     .oss_cost = 1.25,
                                     .used = {3, 1, 2}},
                      .by_iez = {.write_mb_s = rates({150, 160, 140}),
                                 .read_mb_s = rates({198}),
                                 .ost_cost = 1,
                                 .oss_cost = 1,
                                 .used = {2, 2, 2},
                                 .said = "placed 3 of 3 <files>"},
                      .optimum = 1,
                      .files = 3,
                      .bytes = 6'000'000};
  return {.outcomes = {outcome}, .repetitions = 3, .seconds = 12};
}

TEST(DemoCases, LargestOverMean) {
  EXPECT_DOUBLE_EQ(largest_over_mean({3, 1, 2}), 1.5);
  EXPECT_DOUBLE_EQ(largest_over_mean({2, 2}), 1);
  EXPECT_DOUBLE_EQ(largest_over_mean({0, 0}), 1);
  EXPECT_DOUBLE_EQ(largest_over_mean({}), 1);
}

TEST(DemoCases, ServersAreSums) { EXPECT_THAT(server_sums({1, 2, 3, 4, 5}, 2), ElementsAre(3, 7, 5)); }

TEST(DemoCases, AllMakeSense) {
  for (const bool quick : {false, true}) {
    std::vector<std::string> names;
    for (const DemoCase& about : demo_cases(quick)) {
      SCOPED_TRACE(about.id);
      EXPECT_FALSE(about.applications.empty());
      for (const DemoApplication& application : about.applications) {
        workload::Pattern pattern = application.pattern;
        pattern.file = "x";
        EXPECT_TRUE(workload::check(pattern));
        EXPECT_LT(application.client, 2U);
        names.push_back(application.name);
      }
    }
    // An application is known by its name: none is another's.
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  }
}

TEST(DemoCases, OneHasStepsAndOneASharedFileWithoutALayout) {
  for (const bool quick : {false, true}) {
    const auto cases = demo_cases(quick);
    const auto has = [&cases](const auto& what) {
      return std::ranges::any_of(cases, [&what](const DemoCase& about) { return what(about.applications[0]); });
    };
    EXPECT_TRUE(
        has([](const DemoApplication& one) { return one.steps == 4 && one.pattern.ranks == 15 && one.pattern.spread > 0; }));
    EXPECT_TRUE(has([](const DemoApplication& one) { return one.stripe_count == 0 && !one.pattern.file_per_process; }));
  }
}

TEST(DemoCases, MedianAndSpread) {
  EXPECT_DOUBLE_EQ(rates({}).median(), 0);
  EXPECT_DOUBLE_EQ(rates({3, 1, 2}).median(), 2);
  EXPECT_DOUBLE_EQ(rates({113, 99}).median(), 106);
  EXPECT_DOUBLE_EQ(rates({4, 1, 2, 9}).median(), 3);
  EXPECT_DOUBLE_EQ(rates({3, 1, 2}).least(), 1);
  EXPECT_DOUBLE_EQ(rates({3, 1, 2}).most(), 3);
}

TEST(DemoCases, TieIsWhatTheSpreadHides) {
  EXPECT_TRUE(gain_of(rates({100, 98, 104}), rates({102, 99, 103})).is_tie);
  EXPECT_TRUE(gain_of(rates({100, 100, 100}), rates({90, 101, 110})).is_tie);
  const DemoGain gain = gain_of(rates({100, 98, 104}), rates({105, 110, 120}));
  EXPECT_FALSE(gain.is_tie);
  EXPECT_DOUBLE_EQ(gain.factor, 1.1);
  EXPECT_FALSE(gain_of(rates({100}), rates({103})).is_tie);  // of single runs nobody knows how far they spread
}

TEST(DemoCases, TieIsWhatIsTooNear) {
  EXPECT_TRUE(gain_of(rates({100, 100.1, 99.9}), rates({101, 101.1, 100.9})).is_tie);
  EXPECT_TRUE(gain_of(rates({100, 100.1, 99.9}), rates({98.5, 98.6, 98.4})).is_tie);
  EXPECT_FALSE(gain_of(rates({100, 100.1, 99.9}), rates({97.5, 97.6, 97.4})).is_tie);
  EXPECT_DOUBLE_EQ(gain_of(rates({100}), rates({101})).told(), 1);
  EXPECT_DOUBLE_EQ(gain_of(rates({100}), rates({150})).told(), 1.5);
}

TEST(DemoCases, WhatIezSaysOfAllApplications) {
  EXPECT_EQ(demo_said({R"({"application": "a", "mode": "place", "placed": 3, "files": 4})",
                       R"({"application": "b", "mode": "place", "placed": 5, "files": 5})"}),
            "placed 8 of 9");
  EXPECT_EQ(demo_said({R"({"application": "a", "mode": "learn", "placed": 0, "files": 4, "why": "the default is as good"})"}),
            "not placed: the default is as good");
  EXPECT_EQ(demo_said({R"({"application": "a", "mode": "place", "placed": 0, "files": 4})", "nothing"}), "not placed");
}

TEST(DemoReport, ATieIsCalledOne) {
  DemoReport report = one_case();
  report.outcomes[0].by_iez.write_mb_s = rates({104, 99, 101});
  const std::string text = demo_text(report, {});
  EXPECT_THAT(text, HasSubstr("tie"));
  EXPECT_THAT(text, Not(HasSubstr("+1 %")));
  EXPECT_EQ(demo_json(report)["cases"][0]["write_tie"], true);
  EXPECT_THAT(demo_page(report), HasSubstr("write tie"));
}

TEST(DemoReport, NoOptimumWhereStripesAreOpen) {
  DemoReport report = one_case();
  report.outcomes[0].optimum.reset();
  EXPECT_TRUE(demo_json(report)["cases"][0]["optimum"].is_null());
  EXPECT_THAT(demo_page(report), HasSubstr("<td class=\"right\">–</td>"));
}

TEST(DemoReport, TextHasFiguresAndNothingButAscii) {
  const std::string text = demo_text(one_case(), {});
  for (const char* part : {"1.500", "1.000", "1.47 -> 1.01", "100 (90..105) -> 150 (140..160)", "+50 %", "200 -> 198", "tie",
                           "3 times each way", "placed 3 of 3 <files>"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; }));
  EXPECT_THAT(text, Not(HasSubstr("quick")));
}

// The least even case by default is not the least even one as placed: each tile tells of one case, and names it.
TEST(DemoReport, ATileComparesACaseWithItselfAlone) {
  DemoReport report = one_case();
  DemoOutcome even = report.outcomes[0];
  even.about.title = "files on some OSTs";
  even.by_default.ost_cost = even.by_iez.ost_cost = 1.67;
  even.optimum = 1.67;
  even.by_default.write_mb_s = even.by_iez.write_mb_s = rates({100, 99, 101});
  report.outcomes.push_back(even);
  const std::string page = demo_page(report);
  EXPECT_THAT(page, HasSubstr("<strong class=\"good\">1.50 → 1.00</strong><span>OSTCost, least even case: one &lt;two&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("1.67 → 1.67")));
  EXPECT_THAT(page, Not(HasSubstr("1.50 → 1.67")));
  EXPECT_THAT(page, HasSubstr("<strong class=\"good\">+50 %</strong><span>write rate, best case: one &lt;two&gt;"));
  EXPECT_THAT(page, HasSubstr("<strong>tie</strong><span>read rate, best case"));
  EXPECT_THAT(page, HasSubstr("<strong>none</strong><span>of the cases is slower"));
}

// A tie that came out low is no loss, and does not hide one.
TEST(DemoReport, TheWorstCaseIsALossAndNoTie) {
  DemoReport report = one_case();
  DemoOutcome tie = report.outcomes[0];
  tie.about.title = "a tie";
  tie.by_default.write_mb_s = rates({100, 80, 110});
  tie.by_iez.write_mb_s = rates({90, 85, 105});
  DemoOutcome slower = report.outcomes[0];
  slower.about.title = "slower";
  slower.by_iez.write_mb_s = rates({95, 94, 96});
  slower.by_default.write_mb_s = rates({100, 101, 99});
  report.outcomes = {tie, slower, report.outcomes[0]};
  EXPECT_THAT(demo_page(report), HasSubstr("<strong>-5 %</strong><span>worst case: slower</span>"));
}

TEST(DemoReport, OneWithoutCasesIsAPage) { EXPECT_TRUE(demo_page({}).ends_with("</html>\n")); }

TEST(DemoReport, JsonHasWhatThePagePrints) {
  const ordered_json json = demo_json(one_case());
  EXPECT_EQ(json["cases"][0]["write_gain"], 1.5);
  EXPECT_EQ(json["cases"][0]["write_tie"], false);
  EXPECT_EQ(json["cases"][0]["iez"]["write_mb_s_most"], 160);
  EXPECT_EQ(json["cases"][0]["said"], "placed 3 of 3 <files>");
  EXPECT_EQ(json["repetitions"], 3);
  EXPECT_EQ(json["cases"][0]["default"]["used_bytes"], (std::vector<std::uint64_t>{3, 1, 2}));
  EXPECT_EQ(json["cases"][0]["published_default"], 1.47);
}

TEST(DemoReport, PageIsEscapedAndStandsAlone) {
  const std::string page = demo_page(one_case());
  EXPECT_THAT(page, HasSubstr("one &lt;two&gt; &amp; three"));
  EXPECT_THAT(page, Not(HasSubstr("<two>")));
  EXPECT_THAT(page, HasSubstr("placed 3 of 3 &lt;files&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, HasSubstr("OST 0: 0.0 MB"));
  EXPECT_THAT(page, HasSubstr("<td class=\"right\">100<small>90–105</small></td>"));
}

}  // namespace
}  // namespace iez::cli
