#include "jobs/import_series.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "jobs/import_time.hpp"
#include "jobs/row_sink_test_support.hpp"

namespace iez::jobs {
namespace {

using testing::SizeIs;

constexpr std::uint8_t kWritten = 1;
constexpr std::uint8_t kOpen = 4;

TEST(ImportSeries, ReadingsBecomeRows) {
  ImportSeries series({.cluster = "c"});
  // Out of order, one twice.
  ASSERT_TRUE(series.add("fs-OST0000", "a", 160, kWritten, 300));
  ASSERT_TRUE(series.add("fs-OST0000", "a", 100, kWritten, 100));
  ASSERT_TRUE(series.add("fs-OST0000", "a", 160, kWritten, 300));
  ASSERT_TRUE(series.add("fs-OST0000", "b", 160, kWritten, 7));  // new, while the target was read before
  ASSERT_TRUE(series.add("fs-OST0000", "a", 220, kWritten, 300));
  MemorySink sink;
  const auto summary = series.finish(sink);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->rows, 2U);
  EXPECT_EQ(summary->repeated, 1U);
  ASSERT_THAT(sink.series(), SizeIs(2));
  EXPECT_EQ(
      sink.series()[0],
      (SeriesRow{.cluster = "c", .target = "fs-OST0000", .id = "a", .time = 160, .seconds = 60, .data = {.write_bytes = 200}}));
  EXPECT_EQ(sink.series()[1].data.write_bytes, 7U);
  EXPECT_EQ(sink.series()[1].seconds, 60U);
}

TEST(ImportSeries, RestartsAndDrops) {
  ImportSeries series({});
  for (const std::int64_t time : {0, 60, 120, 900, 960}) ASSERT_TRUE(series.add("t", "other", time, kOpen, 1));
  ASSERT_TRUE(series.add("t", "a", 0, kWritten, 1000));
  ASSERT_TRUE(series.add("t", "a", 60, kWritten, 10));     // fell: began anew
  ASSERT_TRUE(series.add("t", "a", 960, kWritten, 5000));  // not seen at 120 and 900: dropped by the server
  MemorySink sink;
  const auto summary = series.finish(sink);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->restarted, 2U);
  ASSERT_THAT(sink.series(), SizeIs(2));
  EXPECT_EQ(sink.series()[0].data.write_bytes, 10U);
  EXPECT_EQ(sink.series()[1].data.write_bytes, 5000U);
  EXPECT_EQ(sink.series()[1].seconds, 60U);
}

TEST(ImportSeries, ACounterThatIsMissingStands) {
  ImportSeries series({});
  ASSERT_TRUE(series.add("t", "a", 0, kWritten, 1000));
  ASSERT_TRUE(series.add("t", "a", 0, kOpen, 5));
  ASSERT_TRUE(series.add("t", "a", 60, kOpen, 8));
  ASSERT_TRUE(series.add("t", "a", 120, kWritten, 1001));
  MemorySink sink;
  ASSERT_TRUE(series.finish(sink));
  ASSERT_THAT(sink.series(), SizeIs(2));
  EXPECT_EQ(sink.series()[0].metadata.open, 3U);
  EXPECT_EQ(sink.series()[0].data.write_bytes, 0U);
  EXPECT_EQ(sink.series()[1].data.write_bytes, 1U);
}

TEST(ImportSeries, PointsAreBounded) {
  ImportSeries series({.max_points = 2});
  EXPECT_TRUE(series.add("t", "a", 0, kOpen, 1));
  EXPECT_TRUE(series.add("t", "a", 1, kOpen, 1));
  EXPECT_EQ(series.add("t", "a", 2, kOpen, 1).error().code, Errc::limit);
}

// Counters of random jobs, in any order: the sum of the rows is what the counters grew by.
TEST(ImportSeries, LosesNothing) {
  constexpr std::uint64_t kSeed = 12;
  Rng rng(kSeed);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);
    struct Point {
      std::string job;
      std::int64_t time;
      std::uint64_t value;
    };
    std::vector<Point> points;
    std::uint64_t expected = 0;
    for (int job = 0; job < 5; ++job) {
      std::uint64_t value = rng.below(1000);
      for (int minute = 0; minute < 20; ++minute) {
        const std::uint64_t growth = rng.chance(0.5) ? rng.below(1000) : 0;
        if (minute > 0) expected += growth;
        value += growth;
        points.push_back({.job = "j" + std::to_string(job), .time = minute * 60, .value = value});
      }
    }
    for (std::size_t i = points.size(); i > 1; --i) std::swap(points[i - 1], points[rng.below(i)]);
    ImportSeries series({});
    for (const Point& point : points) ASSERT_TRUE(series.add("t", point.job, point.time, kWritten, point.value));
    MemorySink sink;
    ASSERT_TRUE(series.finish(sink));
    std::uint64_t sum = 0;
    for (const SeriesRow& row : sink.series()) sum += row.data.write_bytes;
    EXPECT_EQ(sum, expected);
  }
}

TEST(ImportSeries, CountersByName) {
  EXPECT_EQ(counter_named("read_bytes", "fs-OST0000"), 0);
  EXPECT_EQ(counter_named("unlink", "fs-MDT0000"), 11);
  EXPECT_EQ(counter_named("create", "fs-MDT0000"), 6);
  EXPECT_FALSE(counter_named("create", "fs-OST0000"));
  EXPECT_FALSE(counter_named("getattr", "fs-MDT0000"));
}

TEST(ImportTime, Forms) {
  const TimeZone utc;
  EXPECT_EQ(parse_time("2026-11-16T12:00:00", utc), 1'794'830'400);
  EXPECT_EQ(parse_time("2026-11-16 12:00:00", utc), 1'794'830'400);
  EXPECT_EQ(parse_time("2026-11-16T12:00:00.123456Z", utc), 1'794'830'400);
  EXPECT_EQ(parse_time("2026-11-16T12:00:00+01:00", utc), 1'794'826'800);
  EXPECT_EQ(parse_time("2026-11-16T12:00:00", *parse_zone("+01:00")), 1'794'826'800);
  EXPECT_EQ(parse_time("2026-11-16T12:00:00", *parse_zone("-0530")), 1'794'850'200);
  EXPECT_EQ(parse_time("1794830400", utc), 1'794'830'400);
  EXPECT_EQ(parse_time("1794830400.5", utc), 1'794'830'400);
  EXPECT_EQ(parse_time("1794830400123", utc), 1'794'830'400);
  EXPECT_EQ(parse_time("1794830400123456", utc), 1'794'830'400);
  EXPECT_EQ(parse_time("1794830400123456789", utc), 1'794'830'400);
  for (const char* const text : {"", "Unknown", "2026-13-01T00:00:00", "2026-02-30T00:00:00", "2026-11-16", "2026-11-16T25:00:00",
                                 "2026-11-16T12:00:00 x", "12:00", "-5", "18446744073709551616", "2026-11-16T12:00:00+99:00"}) {
    EXPECT_FALSE(parse_time(text, utc)) << text;
  }
  EXPECT_TRUE(parse_zone("local")->local);
  EXPECT_FALSE(parse_zone("Mars"));
}

}  // namespace
}  // namespace iez::jobs
