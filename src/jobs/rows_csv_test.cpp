#include "jobs/rows_csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::jobs {
namespace {

struct Rows {
  std::vector<JobRow> jobs;
  std::vector<SeriesRow> series;
  Result<input::ParseReport> report;
};

Rows read(std::string_view text) {
  Rows rows;
  const RowVisitor sink{.job = [&](JobRow&& row) -> Result<void> {
                          rows.jobs.push_back(std::move(row));
                          return {};
                        },
                        .series = [&](SeriesRow&& row) -> Result<void> {
                          rows.series.push_back(std::move(row));
                          return {};
                        }};
  const auto stream = input::memory_stream(text);
  rows.report = read_rows(*stream, "test.csv", sink);
  return rows;
}

std::string word(Rng& rng) {
  constexpr std::string_view kBytes = "ab,\"\n\r#'\xFF 1";
  std::string out;
  for (std::uint64_t n = 1 + rng.below(6); n > 0; --n) out += kBytes[rng.below(kBytes.size())];
  return out;
}

TEST(RowsCsv, WhatIsWrittenIsRead) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  std::vector<JobRow> jobs;
  std::vector<SeriesRow> series;
  std::string text = "# a comment\n" + csv_heading(Table::jobs);
  for (int i = 0; i < 200; ++i) {
    JobRow row{.cluster = word(rng), .id = word(rng), .user = word(rng), .started = static_cast<std::int64_t>(rng.below(1000))};
    row.ended = row.started + static_cast<std::int64_t>(rng.below(100));
    row.nodes = static_cast<std::uint32_t>(rng.below(5000));
    if (rng.chance(0.5)) row.memory = rng.below(1U << 30U);
    if (rng.chance(0.5))
      row.network = NetworkCounts{.received_bytes = rng.bits() >> 1U, .sent_bytes = 1, .received = 2, .sent = 3};
    row.metadata.open = rng.bits() >> 1U;
    row.data.write_bytes = rng.bits() >> 1U;
    row.silent_nodes = static_cast<std::uint32_t>(rng.below(3));
    append_csv(text, row);
    jobs.push_back(row);
  }
  text += csv_heading(Table::series);
  for (int i = 0; i < 200; ++i) {
    SeriesRow row{.cluster = word(rng), .target = word(rng), .id = word(rng), .user = word(rng), .time = 60 * i, .seconds = 10};
    row.data.read_calls = rng.bits() >> 1U;
    row.metadata.unlink = 7;
    append_csv(text, row);
    series.push_back(row);
  }
  const Rows rows = read(text);
  ASSERT_TRUE(rows.report) << rows.report.error().message;
  EXPECT_EQ(rows.report->skipped, 0U);
  EXPECT_EQ(rows.jobs, jobs);
  EXPECT_EQ(rows.series, series);
}

TEST(RowsCsv, RowsThatAreNoneAreSkippedAndNamed) {
  const Rows rows = read(
      "job,started,ended,write_bytes\n"
      "1,100,200,5\n"
      "2,100,50,5\n"
      "3,100,200,-1\n"
      "4,100,200\n"
      ",100,200,1\n"
      "5,100,200,9223372036854775808\n"
      "6,300000000000,300000000001,1\n"
      "7,100,200,\n");
  ASSERT_TRUE(rows.report) << rows.report.error().message;
  EXPECT_EQ(rows.jobs.size(), 2U);
  EXPECT_EQ(rows.report->skipped, 6U);
  EXPECT_THAT(to_string(rows.report->problems[0]), testing::HasSubstr("test.csv line 3: ended (50) before it started (100)"));
  EXPECT_THAT(to_string(rows.report->problems[1]), testing::HasSubstr("line 4: write_bytes is '-1'"));
}

TEST(RowsCsv, HostileTextIsAnErrorWithItsLine) {
  EXPECT_THAT(read("1,2,3\n").report.error().message, testing::HasSubstr("test.csv line 1: found a row before any heading"));
  EXPECT_THAT(read("job,started,ended,job\n").report.error().message, testing::HasSubstr("unknown or repeated columns"));
  EXPECT_THAT(read("job,started,ended,wrong\n").report.error().message, testing::HasSubstr("unknown or repeated columns"));
  EXPECT_THAT(read("job,started,ended\n\"1,2,3\n").report.error().message, testing::HasSubstr("test.csv line 2"));
  EXPECT_THAT(read("job,started,ended\n\"" + std::string(5000000, 'a')).report.error().message,
              testing::HasSubstr("never closed"));
}

}  // namespace
}  // namespace iez::jobs
