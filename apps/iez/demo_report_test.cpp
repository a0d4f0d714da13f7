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

DemoReport one_case() {
  DemoOutcome outcome{.about = {.id = "x", .title = "one <two> & three", .published_default = 1.47, .published_iez = 1.01},
                      .by_default = {.write_mb_s = 100, .read_mb_s = 200, .ost_cost = 1.5, .oss_cost = 1.25, .used = {3, 1, 2}},
                      .by_iez = {.write_mb_s = 150, .read_mb_s = 198, .ost_cost = 1, .oss_cost = 1, .used = {2, 2, 2}},
                      .optimum = 1,
                      .files = 3,
                      .bytes = 6'000'000};
  return {.outcomes = {outcome}, .seconds = 12};
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

TEST(DemoReport, TextHasFiguresAndNothingButAscii) {
  const std::string text = demo_text(one_case(), {});
  for (const char* part : {"1.500", "1.000", "1.47 -> 1.01", "100 -> 150", "+50 %", "200 -> 198", "-1 %"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; }));
  EXPECT_THAT(text, Not(HasSubstr("quick")));
}

TEST(DemoReport, JsonHasWhatThePagePrints) {
  const ordered_json json = demo_json(one_case());
  EXPECT_EQ(json["cases"][0]["write_gain"], 1.5);
  EXPECT_EQ(json["cases"][0]["default"]["used_bytes"], (std::vector<std::uint64_t>{3, 1, 2}));
  EXPECT_EQ(json["cases"][0]["published_default"], 1.47);
}

TEST(DemoReport, PageIsEscapedAndStandsAlone) {
  const std::string page = demo_page(one_case());
  EXPECT_THAT(page, HasSubstr("one &lt;two&gt; &amp; three"));
  EXPECT_THAT(page, Not(HasSubstr("<two>")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(page, HasSubstr("OST 0: 0.0 MB"));
}

}  // namespace
}  // namespace iez::cli
