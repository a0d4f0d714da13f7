// What other collectors wrote of job_stats: line protocol, CSV, scrapes, answers of Prometheus.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/influx.hpp"
#include "jobs/prometheus.hpp"
#include "jobs/row_sink_test_support.hpp"

namespace iez::jobs {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Points : public testing::Test {
 protected:
  PointSummary influx(std::string_view text) {
    const auto stream = input::memory_stream(text);
    const auto summary = parse_influx_lines(*stream, "f", report_, series_);
    EXPECT_TRUE(summary);
    return summary.value_or(PointSummary{});
  }
  PointSummary csv(std::string_view text) {
    const auto summary = parse_points_csv(text, "f", {}, report_, series_);
    EXPECT_TRUE(summary) << summary.error().message;
    return summary.value_or(PointSummary{});
  }
  PointSummary scrape(std::string_view text, std::int64_t at) {
    const auto stream = input::memory_stream(text);
    const auto summary = parse_scrape(*stream, "f", at, report_, series_);
    EXPECT_TRUE(summary);
    return summary.value_or(PointSummary{});
  }
  std::vector<SeriesRow> rows() {
    MemorySink sink;
    EXPECT_TRUE(series_.finish(sink));
    return sink.series();
  }

  input::ParseReport report_;
  ImportSeries series_{{.cluster = "c"}};
};

TEST_F(Points, LineProtocol) {
  const PointSummary summary = influx(
      "# DML\n# CONTEXT-DATABASE: telegraf\n\n"
      "lustre2,host=oss1,jobid=4711,name=fs-OST0001 "
      "jobstats_write_bytes=1000u,jobstats_write_calls=10i,jobstats_read_min_size=5i 1794830400000000000\n"
      "lustre2,host=oss1,jobid=4711,name=fs-OST0001 jobstats_write_bytes=1500u 1794830460000000000\n"
      "lustre2,host=oss1,jobid=4711,name=fs-OST0001 jobstats_write_calls=12 1794830460000000000\n"
      "lustre2,host=mds1,jobid=4711,name=fs-MDT0000 jobstats_mkdir=1i,jobstats_open=3i 1794830400000000000\n"
      "lustre2,host=mds1,jobid=4711,name=fs-MDT0000 jobstats_mkdir=4i,jobstats_open=3i 1794830460000000000\n"
      "lustre2,host=oss1,name=fs-OST0001 write_bytes=5i 1794830400000000000\n"
      "cpu,host=oss1 idle=99.5 1794830400000000000\n");
  EXPECT_EQ(summary.used, 5U);
  EXPECT_EQ(summary.others, 2U);
  EXPECT_EQ(report_.skipped, 0U);
  const auto made = rows();
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(
      made[0],
      (SeriesRow{
          .cluster = "c", .target = "fs-MDT0000", .id = "4711", .time = 1'794'830'460, .seconds = 60, .metadata = {.mkdir = 3}}));
  EXPECT_EQ(made[1].data, (DataCalls{.write_bytes = 500, .write_calls = 2}));
}

TEST_F(Points, LineProtocolEscapes) {
  influx(
      "lustre2,jobid=a\\,b\\ c\\=d\xF0\x9F\x9A\x80\",name=fs-OST0001 jobstats_write_bytes=1i,note=\"x,y z=\\\"q\\\"\" "
      "1794830400000000000\n"
      "lustre2,jobid=a\\,b\\ c\\=d\xF0\x9F\x9A\x80\",name=fs-OST0001 jobstats_write_bytes=3i 1794830460000000000\n");
  EXPECT_EQ(report_.skipped, 0U);
  const auto made = rows();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].id, "a,b c=d\xF0\x9F\x9A\x80\"");
}

TEST_F(Points, WhatIsNoPointIsCounted) {
  influx(
      "lustre2\nlustre2,jobid= x\nlustre2,jobid=1,name=t\n=\n,\nlustre2,jobid=1,name=t jobstats_open=\"1 5\n"
      "lustre2,jobid=1,name=t jobstats_open=1 when\nlustre2,jobid=1,name=t jobstats_open=1\nlustre2,jobid=1,name=t "
      "jobstats_open=-5i 1794830400\n");
  EXPECT_EQ(report_.skipped, 8U);
  EXPECT_THAT(rows(), SizeIs(0));
}

TEST_F(Points, WideCsv) {
  const PointSummary summary =
      csv("name,time,host,jobid,jobstats_write_bytes,name_1\n"
          "lustre2,1794830400000000000,oss1,\"a\"\"b,\nc\",1000,fs-OST0001\n"
          "lustre2,1794830460000000000,oss1,\"a\"\"b,\nc\",1500,fs-OST0001\n"
          "lustre2,1794830460000000000,oss1,,7,fs-OST0001\n"
          "name,time,host,jobid,jobstats_write_bytes,name_1\n"
          "lustre2,soon,oss1,x,1500,fs-OST0001\n"
          "lustre2,1794830460000000000,oss1\n");
  EXPECT_EQ(summary.used, 2U);
  EXPECT_EQ(summary.others, 1U);
  EXPECT_EQ(report_.skipped, 2U);
  const auto made = rows();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].id, "a\"b,\nc");
  EXPECT_EQ(made[0].target, "fs-OST0001");
  EXPECT_EQ(made[0].data.write_bytes, 500U);
}

TEST_F(Points, CsvOfFlux) {
  csv("#group,false,false,true,true,false,false,true,true,true\n#datatype,string,long\n#default,_result,\n"
      ",result,table,_time,_value,_field,_measurement,jobid,name\n"
      ",,0,2026-11-16T12:00:00Z,5,jobstats_open,lustre2,4711,fs-MDT0000\n"
      ",,0,2026-11-16T12:01:00Z,8,jobstats_open,lustre2,4711,fs-MDT0000\n"
      "\n#datatype,string,long\n"
      ",result,table,_time,_value,_field,_measurement,name,jobid\n"
      ",,1,2026-11-16T12:00:00Z,1,jobstats_close,lustre2,fs-MDT0000,4711\n"
      ",,1,2026-11-16T12:01:00Z,2,jobstats_close,lustre2,fs-MDT0000,4711\n");
  const auto made = rows();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].metadata, (MetadataCalls{.open = 3, .close = 1}));
}

TEST_F(Points, HostileCsv) {
  EXPECT_THAT(parse_points_csv("a,b\n1,2\n", "f", {}, report_, series_).error().message, HasSubstr("f line 1: expected columns"));
  csv("time,target,job,open\n1794830400,t,j,5\n1794830460,t,\"j,5\n");
  EXPECT_EQ(report_.skipped, 1U);
  EXPECT_THAT(report_.problems[0].message, HasSubstr("the rest is not read"));
  EXPECT_FALSE(parse_points_csv(std::string(100, ','), "f", {}, report_, series_));
}

TEST_F(Points, Scrapes) {
  const auto text = [](unsigned bytes, unsigned calls, unsigned mkdirs) {
    return "# HELP x y\n"
           "lustre_job_write_bytes_total{component=\"ost\",jobid=\"a\\\"b\\nc\\\\\",operation=\"write_bytes\",target=\"fs-"
           "OST0001\"} " +
           std::to_string(bytes) +
           "\nlustre_job_write_samples_total{component=\"ost\",jobid=\"a\\\"b\\nc\\\\\",target=\"fs-OST0001\"} " +
           std::to_string(calls) +
           "\nlustre_job_stats_total{component=\"mdt\",jobid=\"7\",operation=\"mkdir\",target=\"fs-MDT0000\"} " +
           std::to_string(mkdirs) +
           "\nlustre_job_stats_total{component=\"mdt\",jobid=\"7\",operation=\"getattr\",target=\"fs-MDT0000\"} 5\n"
           "lustre_available_kilobytes{component=\"ost\",target=\"fs-OST0001\"} 1e6\n# EOF\n";
  };
  EXPECT_EQ(scrape(text(1000, 10, 1), 1'794'830'400).others, 2U);
  scrape(text(4000, 13, 3), 1'794'830'460);
  EXPECT_EQ(report_.skipped, 0U);
  const auto made = rows();
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(made[0].metadata.mkdir, 2U);
  EXPECT_EQ(made[1].id, "a\"b\nc\\");
  EXPECT_EQ(made[1].data, (DataCalls{.write_bytes = 3000, .write_calls = 3}));
}

TEST_F(Points, ScrapesWithTimesAndNonsense) {
  scrape(
      "lustre_job_read_bytes_total{jobid=\"1\",target=\"t\"} 5 1794830400000\n"
      "lustre_job_read_bytes_total{jobid=\"1\",target=\"t\"} 1.5e3 1794830460.5\n"
      "lustre_job_read_bytes_total{jobid=\"1\",target=\"t} 5\n"
      "lustre_job_read_bytes_total{jobid=\"1\",target=\"t\"} NaN\n"
      "lustre_job_read_bytes_total{jobid=\"1\" target\n",
      0);
  EXPECT_EQ(report_.skipped, 3U);
  const auto made = rows();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].data.read_bytes, 1495U);
}

// What lustrefs-exporter printed for a real server: every counter of a job is found.
TEST_F(Points, ScrapesOfARealExporter) {
  std::ifstream file(std::string(IEZ_TEST_DATA) + "/captures/expected/2.14.0_ddn162_job_stats.prom");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const PointSummary summary = scrape(text, 1'794'830'400);
  EXPECT_EQ(report_.skipped, 0U);
  EXPECT_EQ(summary.used, 64U);  // 16 jobs: bytes and calls, read and written; an OST counts no metadata
}

TEST_F(Points, AnswersOfPrometheus) {
  const auto summary = parse_query_range(
      R"({"status":"success","data":{"resultType":"matrix","result":[)"
      R"({"metric":{"__name__":"lustre_job_write_bytes_total","jobid":"a\"b","target":"fs-OST0001"},"values":[[1794830400,"1000"],[1794830460.5,"1500"]]},)"
      R"({"metric":{"__name__":"up"},"values":[[1794830400,"1"]]}]}})",
      "http://x", series_);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->used, 2U);
  EXPECT_EQ(summary->others, 1U);
  const auto made = rows();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].id, "a\"b");
  EXPECT_EQ(made[0].data.write_bytes, 500U);
  EXPECT_THAT(parse_query_range(R"({"status":"error","errorType":"bad_data","error":"too many points"})", "http://x", series_)
                  .error()
                  .message,
              HasSubstr("too many points"));
  EXPECT_EQ(parse_query_range("<html>", "http://x", series_).error().code, Errc::parse);
  EXPECT_FALSE(parse_query_range("", "http://x", series_));
}

}  // namespace
}  // namespace iez::jobs
