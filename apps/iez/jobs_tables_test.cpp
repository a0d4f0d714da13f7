#include "jobs_tables.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Values = std::vector<std::vector<jobs::Value>>;

jobs::AnswerTable answer(std::string name, std::vector<std::string> columns, Values rows) {
  return {
      .name = std::move(name), .caption = "as SQL says it", .table = {.columns = std::move(columns), .rows = std::move(rows)}};
}

jobs::Value whole(std::int64_t value) { return value; }
jobs::Value real(double value) { return value; }
jobs::Value word(std::string value) { return value; }

TEST(JobsTables, DurationsAreNoDecimalHours) {
  const auto table =
      answer("statistics", {"cluster", "metric", "jobs", "least", "most", "mean", "median", "below", "below_what"},
             {{word("q"), word("duration_h"), whole(104000), real(1.0 / 3600), real(23.9), real(0.8584), real(0.03222),
               real(0.919), real(2)},
              {word("q"), word("nodes"), whole(104000), real(1), real(1196), real(19.74), real(8), real(0.98), real(100)}});
  const auto shown = page_table("01_duration_and_nodes", table, {}, false);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->rows, (Rows{{"Duration", "104,000", "1 s", "23.9 h", "52 min", "2 min", "91.9 % below 2 h"},
                               {"Nodes", "104,000", "1", "1,196", "19.7", "8", "98.0 % below 100 nodes"}}));
}

TEST(JobsTables, WeekdaysHoursAndRangesHaveTheirNames) {
  const std::vector<std::string> columns{
      "cluster", "weekday", "jobs", "bytes", "longest_job_share", "heaviest_user", "heaviest_user_share"};
  const auto days = page_table("06_days",
                               answer("weekdays", columns,
                                      {{word("q"), whole(1), whole(5), real(2e12), std::monostate(), word("ann"), real(0.5)},
                                       {word("q"), whole(7), whole(5), real(2e12), real(0.000001), word("bob"), real(1)}}),
                               {}, false);
  ASSERT_TRUE(days);
  EXPECT_EQ(days->rows, (Rows{{"Monday", "5", "2.00 TB", "-", "ann", "50.0 %"},
                              {"Sunday", "5", "2.00 TB", "below 0.01 %", "bob", "100.0 %"}}));
  const auto sizes = page_table("03_write_efficiency",
                                answer("call_sizes", {"cluster", "log2_call", "jobs", "bytes"},
                                       {{word("q"), whole(0), whole(1), real(1)}, {word("q"), whole(9), whole(1), real(1)}}),
                                {}, false);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->rows[0][0], "1 B to 2 B");
  EXPECT_EQ(sizes->rows[1][0], "512 B to 1 KiB");
  const auto hours = page_table(
      "10_advice", answer("hours", {"cluster", "hour", "bytes", "times_average"}, {{word("q"), whole(5), real(1e9), real(7.04)}}),
      {.busy_hour = 2.5}, false);
  ASSERT_TRUE(hours);
  EXPECT_EQ(hours->rows, (Rows{{"05:00", "1.00 GB", "7.04"}}));
  EXPECT_EQ(hours->caption, "Busy hours, with more than 2.5 times the bytes of an average hour");
}

TEST(JobsTables, AClusterIsNamedWhereThereAreSeveralAndThenOnce) {
  const std::vector<std::string> columns{"cluster", "opens", "closes", "unclosed", "jobs", "users"};
  const auto row = [](const char* cluster) {
    return std::vector<jobs::Value>{word(cluster), whole(1), whole(1), whole(0), whole(1), whole(1)};
  };
  const auto several = page_table("05_metadata_servers", answer("unclosed", columns, {row("a"), row("a"), row("b")}), {}, true);
  ASSERT_TRUE(several);
  EXPECT_EQ(several->titles[0], "Cluster");
  EXPECT_EQ(several->rows[0][0], "a");
  EXPECT_EQ(several->rows[1][0], "");
  EXPECT_EQ(several->rows[2][0], "b");
  // Where rows of several are mixed, each says whose it is.
  const auto mixed = page_table("05_metadata_servers", answer("unclosed", columns, {row("a"), row("b"), row("a")}), {}, true);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->rows[2][0], "a");
  const auto alone = page_table("05_metadata_servers", answer("unclosed", columns, {row("a")}), {}, false);
  ASSERT_TRUE(alone);
  EXPECT_THAT(alone->titles, testing::Not(testing::Contains("Cluster")));
}

TEST(JobsTables, OfManyDaysTheBusiestOfEachCluster) {
  Values rows;
  for (const char* const cluster : {"a", "b"}) {
    for (int day = 0; day < 20; ++day) {
      rows.push_back({word(cluster), word(fmt::format("2018-06-{:02}", day + 1)), whole(1 + day % 7), whole(1),
                      real(1e9 * (day + 1)), real(0.1), word("ann"), real(0.1)});
    }
  }
  const auto table = answer(
      "days", {"cluster", "day", "weekday", "jobs", "bytes", "longest_job_share", "heaviest_user", "heaviest_user_share"}, rows);
  const auto shown = page_table("06_days", table, {}, true);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->rows.size(), 24U);
  EXPECT_EQ(shown->left_out, 16U);
  EXPECT_EQ(shown->rows[0][1], "2018-06-20");
}

TEST(JobsTables, WhatAPictureShowsAndWhatIsEmptyHasNone) {
  EXPECT_FALSE(page_table(
      "01_duration_and_nodes",
      answer("cdf", {"cluster", "metric", "up_to", "share"}, {{word("q"), word("nodes"), real(1), real(0.1)}}), {}, false));
  EXPECT_FALSE(page_table("05_metadata_servers", answer("unclosed", {"cluster", "opens"}, {}), {}, false));
}

TEST(JobsTables, EveryThresholdIsTold) {
  EXPECT_EQ(thresholds({}).size(), jobs::option_values({}).size());
  EXPECT_EQ(thresholds({})[3].value, "not known");
  EXPECT_EQ(thresholds({.node_memory = 128e9})[3].value, "128 GB");
}

}  // namespace
}  // namespace iez::cli
