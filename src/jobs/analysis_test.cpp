// Every analysis of jobs against code that counts by hand, on random rows; and its rules at their limits.
#include "jobs/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/analysis_test_support.hpp"
#include "jobs/report.hpp"

namespace iez::jobs {
namespace {

TEST_F(AnalysisTest, DurationAndNodes) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("01_duration_and_nodes", {.short_hours = 1});
  for (const std::string cluster : {"a", "b"}) {
    std::vector<double> hours;
    std::vector<double> nodes;
    for (const JobRow& job : jobs_) {
      if (job.cluster != cluster || job.ended - job.started >= kDay) continue;
      hours.push_back(static_cast<double>(job.ended - job.started) / 3600);
      nodes.push_back(job.nodes);
    }
    const ResultTable& table = found["statistics"];
    const std::size_t time = row_of(table, "cluster", cluster, "metric", "duration_h");
    EXPECT_EQ(table.integer(time, "jobs"), static_cast<std::int64_t>(hours.size()));
    IEZ_EXPECT_CLOSE(table.number(time, "mean"), mean_of(hours));
    IEZ_EXPECT_CLOSE(table.number(time, "median"), median_of(hours));
    IEZ_EXPECT_CLOSE(table.number(time, "least"), std::ranges::min(hours));
    IEZ_EXPECT_CLOSE(table.number(time, "most"), std::ranges::max(hours));
    IEZ_EXPECT_CLOSE(
        table.number(time, "below"),
        static_cast<double>(std::ranges::count_if(hours, [](double h) { return h < 1; })) / static_cast<double>(hours.size()));
    const std::size_t node = row_of(table, "cluster", cluster, "metric", "nodes");
    IEZ_EXPECT_CLOSE(table.number(node, "mean"), mean_of(nodes));
    IEZ_EXPECT_CLOSE(table.number(node, "median"), median_of(nodes));
    const ResultTable& cdf = found["cdf"];
    for (std::size_t row = 0; row < cdf.rows.size(); ++row) {
      if (cdf.text(row, "cluster") != cluster) continue;
      const auto& values = cdf.text(row, "metric") == "nodes" ? nodes : hours;
      const double up_to = cdf.number(row, "up_to") * (1 + 1e-9);
      IEZ_EXPECT_CLOSE(cdf.number(row, "share"),
                       static_cast<double>(std::ranges::count_if(values, [&](double v) { return v <= up_to; })) /
                           static_cast<double>(values.size()));
    }
  }
}

TEST_F(AnalysisTest, ReadAndWriteShares) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("02_read_and_write_shares");
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> users;
  for (const JobRow& job : jobs_) {
    auto& [read, written] = users[{job.cluster, job.user}];
    read += static_cast<double>(job.data.read_bytes);
    written += static_cast<double>(job.data.write_bytes);
  }
  EXPECT_EQ(found["users"].rows.size(), users.size());
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> bins;
  for (const auto& [key, sums] : users) {
    const std::size_t row = row_of(found["users"], "cluster", key.first, "uid", key.second);
    IEZ_EXPECT_CLOSE(found["users"].number(row, "read_bytes"), sums.first);
    IEZ_EXPECT_CLOSE(found["users"].number(row, "write_bytes"), sums.second);
    if (sums.first + sums.second <= 0) continue;
    ++bins[{key.first, std::min<std::int64_t>(9, static_cast<std::int64_t>(sums.second / (sums.first + sums.second) * 10)) * 10}];
  }
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> asked;
  const ResultTable& histogram = found["histogram"];
  for (std::size_t row = 0; row < histogram.rows.size(); ++row) {
    asked[{histogram.text(row, "cluster"), histogram.integer(row, "from_percent")}] = histogram.integer(row, "users");
  }
  EXPECT_EQ(asked, bins);
}

struct Writer {
  double bytes = 0;
  double calls = 0;
};

void expect_classes(const ResultTable& table, const std::string& what, const std::string& cluster,
                    const std::vector<Writer>& writers) {
  std::vector<double> bytes;
  std::vector<double> a_call;
  for (const Writer& writer : writers) {
    bytes.push_back(writer.bytes);
    if (writer.calls > 0) a_call.push_back(writer.bytes / writer.calls);
  }
  const double mean_bytes = mean_of(bytes);
  const double mean_call = mean_of(a_call);
  std::int64_t heavy = 0;
  std::int64_t inefficient = 0;
  std::int64_t efficient = 0;
  for (const Writer& writer : writers) {
    if (!(writer.bytes > mean_bytes)) continue;
    ++heavy;
    if (writer.calls > 0 && writer.bytes / writer.calls < mean_call) ++inefficient;
    if (writer.calls > 0 && writer.bytes / writer.calls > mean_call) ++efficient;
  }
  const std::size_t row = row_of(table, "what", what, "cluster", cluster);
  IEZ_EXPECT_CLOSE(table.number(row, "mean_bytes"), mean_bytes);
  IEZ_EXPECT_CLOSE(table.number(row, "mean_call"), mean_call);
  EXPECT_EQ(table.integer(row, "heavy"), heavy);
  EXPECT_EQ(table.integer(row, "inefficient"), inefficient);
  EXPECT_EQ(table.integer(row, "efficient"), efficient);
}

TEST_F(AnalysisTest, WriteEfficiency) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("03_write_efficiency");
  for (const std::string cluster : {"a", "b"}) {
    std::vector<Writer> jobs;
    std::map<std::string, Writer> users;
    for (const JobRow& job : jobs_) {
      if (job.cluster != cluster || bytes_of(job) <= 0) continue;
      const Writer writer{.bytes = static_cast<double>(job.data.write_bytes), .calls = static_cast<double>(job.data.write_calls)};
      jobs.push_back(writer);
      users[job.user].bytes += writer.bytes;
      users[job.user].calls += writer.calls;
    }
    expect_classes(found["classes"], "jobs", cluster, jobs);
    std::vector<Writer> people;
    for (const auto& [user, writer] : users) people.push_back(writer);
    expect_classes(found["classes"], "users", cluster, people);
  }
}

// Exactly at the mean is neither above nor below.
TEST_F(AnalysisTest, WriteEfficiencyAtTheMeans) {
  const auto writer = [](std::string id, std::uint64_t bytes, std::uint64_t calls) {
    JobRow row = job_row(std::move(id), kStart, bytes);
    row.data.write_calls = calls;
    return row;
  };
  jobs_ = {writer("1", 100, 10), writer("2", 200, 10), writer("3", 300, 10)};  // means: 200 bytes, 20 a call
  keep();
  const Answer found = answer("03_write_efficiency");
  const std::size_t row = row_of(found["classes"], "what", "jobs", "cluster", "c");
  EXPECT_EQ(found["classes"].integer(row, "heavy"), 1);
  EXPECT_EQ(found["classes"].integer(row, "efficient"), 1);
  EXPECT_EQ(found["classes"].integer(row, "inefficient"), 0);
}

double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  const double mx = mean_of(x);
  const double my = mean_of(y);
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xy / std::sqrt(xx * yy);
}

TEST_F(AnalysisTest, MetadataAndWrites) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("04_metadata_and_writes");
  const std::map<std::string, std::function<double(const JobRow&)>> operations{
      {"open", [](const JobRow& job) { return static_cast<double>(job.metadata.open); }},
      {"mkdir", [](const JobRow& job) { return static_cast<double>(job.metadata.mkdir); }},
      {"mknod", [](const JobRow& job) { return static_cast<double>(job.metadata.mknod); }}};
  for (const std::string cluster : {"a", "b"}) {
    for (const auto& [name, count] : operations) {
      std::vector<double> x;
      std::vector<double> y;
      for (const JobRow& job : jobs_) {
        if (job.cluster != cluster || job.data.write_bytes == 0) continue;
        x.push_back(count(job));
        y.push_back(static_cast<double>(job.data.write_bytes));
      }
      const std::size_t row = row_of(found["correlations"], "cluster", cluster, "operation", name);
      EXPECT_NEAR(found["correlations"].number(row, "r"), pearson(x, y), 1e-6) << name;
    }
  }
  double jobs = 0;
  for (std::size_t row = 0; row < found["scatter"].rows.size(); ++row) jobs += found["scatter"].number(row, "jobs");
  EXPECT_EQ(jobs, static_cast<double>(std::ranges::count_if(jobs_, [](const JobRow& job) {
              const MetadataCalls& m = job.metadata;
              return job.data.write_bytes > 0 &&
                     m.open + m.close + m.create + m.mkdir + m.mknod + m.rename + m.rmdir + m.unlink > 0;
            })));
}

TEST_F(AnalysisTest, MetadataServers) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("05_metadata_servers");
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::int64_t>> targets;
  for (const SeriesRow& row : series_) {
    if (!row.target.contains("MDT")) continue;
    targets[{row.cluster, row.target}].first += static_cast<std::int64_t>(row.metadata.open);
    targets[{row.cluster, row.target}].second += static_cast<std::int64_t>(row.metadata.close);
  }
  EXPECT_EQ(found["mdts"].rows.size(), targets.size());
  for (const auto& [key, counts] : targets) {
    const std::size_t row = row_of(found["mdts"], "cluster", key.first, "mdt", key.second);
    EXPECT_EQ(found["mdts"].integer(row, "opens"), counts.first);
    EXPECT_EQ(found["mdts"].integer(row, "closes"), counts.second);
  }
  std::map<std::string, std::int64_t> unclosed;
  for (const JobRow& job : jobs_) {
    unclosed[job.cluster] +=
        std::max<std::int64_t>(0, static_cast<std::int64_t>(job.metadata.open) - static_cast<std::int64_t>(job.metadata.close));
  }
  for (std::size_t row = 0; row < found["unclosed"].rows.size(); ++row) {
    EXPECT_EQ(found["unclosed"].integer(row, "unclosed"), unclosed[found["unclosed"].text(row, "cluster")]);
  }
}

TEST_F(AnalysisTest, Days) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("06_days");
  struct Day {
    double bytes = 0;
    std::int64_t longest = -1;
    double longest_bytes = 0;
    std::map<std::string, double> users;
  };
  std::map<std::pair<std::string, std::int64_t>, Day> days;
  for (const JobRow& job : jobs_) {
    Day& day = days[{job.cluster, job.started / kDay}];
    day.bytes += bytes_of(job);
    day.users[job.user] += bytes_of(job);
    if (job.ended - job.started > day.longest) {
      day.longest = job.ended - job.started;
      day.longest_bytes = bytes_of(job);
    }
  }
  const ResultTable& table = found["days"];
  ASSERT_EQ(table.rows.size(), days.size());
  std::size_t row = 0;
  for (const auto& [key, day] : days) {
    EXPECT_EQ(table.text(row, "cluster"), key.first);
    IEZ_EXPECT_CLOSE(table.number(row, "bytes"), day.bytes);
    EXPECT_EQ(table.integer(row, "weekday"), (key.second + 3) % 7 + 1);
    if (day.bytes > 0) {
      IEZ_EXPECT_CLOSE(table.number(row, "longest_job_share"), day.longest_bytes / day.bytes);
      double heaviest = 0;
      for (const auto& [user, bytes] : day.users) heaviest = std::max(heaviest, bytes);
      IEZ_EXPECT_CLOSE(table.number(row, "heaviest_user_share"), heaviest / day.bytes);
    }
    ++row;
  }
}

TEST_F(AnalysisTest, AdviceAndItsEvidence) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("10_advice");
  for (const std::string cluster : {"a", "b"}) {
    std::vector<double> bytes;
    for (const JobRow& job : jobs_) {
      if (job.cluster == cluster && bytes_of(job) > 0) bytes.push_back(bytes_of(job));
    }
    std::ranges::sort(bytes, std::greater{});
    const double half = std::accumulate(bytes.begin(), bytes.end(), 0.0) / 2;
    std::int64_t few = 0;
    for (double so_far = 0; so_far < half; ++few) so_far += bytes[static_cast<std::size_t>(few)];
    const std::size_t row = row_of(found["load"], "cluster", cluster, "cluster", cluster);
    EXPECT_EQ(found["load"].integer(row, "jobs_of_half"), few);
    EXPECT_EQ(found["load"].integer(row, "io_jobs"), static_cast<std::int64_t>(bytes.size()));
  }
  std::map<std::pair<std::string, std::string>, Writer> users;
  for (const JobRow& job : jobs_) {
    users[{job.cluster, job.user}].bytes += static_cast<double>(job.data.write_bytes);
    users[{job.cluster, job.user}].calls += static_cast<double>(job.data.write_calls);
  }
  for (const auto& [key, writer] : users) {
    const std::size_t row = row_of(found["users"], "cluster", key.first, "uid", key.second);
    if (writer.calls > 0) {
      IEZ_EXPECT_CLOSE(found["users"].number(row, "bytes_a_call"), writer.bytes / writer.calls);
    }
  }
}

TEST_F(AnalysisTest, AUserIsToldWhatTheNumbersSayAndNothingElse) {
  JobRow small = job_row("small", kStart, 10000000000);
  small.data.write_calls = 10000000;  // 1000 bytes each
  small.metadata = {.open = 5000, .close = 100};
  small.user = "small";
  JobRow good = job_row("good", kStart + 3600, 10000000000);
  good.data.write_calls = 1000;
  good.metadata = {.open = 5000, .close = 5000};
  good.user = "good";
  JobRow storm = job_row("storm", kStart + 7200, 1000000);
  storm.metadata = {.open = 200000, .close = 200000};
  storm.user = "storm";
  jobs_ = {small, good, storm};
  keep();
  JobReader reader = must(JobReader::open({.path = store()}));
  const Report report = must(make_report(reader, {.path = store()}, {.busy_hour = 5}, [](std::string_view) {}));
  std::set<std::string> said;
  for (const Advice& advice : report.advice) {
    EXPECT_FALSE(advice.evidence.empty()) << advice.text;
    if (advice.audience == Audience::user) said.insert(advice.who + ": " + advice.topic);
  }
  EXPECT_THAT(said, testing::ElementsAre("small: files never closed", "small: small writes", "storm: metadata storm"));
  EXPECT_EQ(report.sections.size(), 10U);
  for (const Section& section : report.sections) {
    EXPECT_FALSE(section.findings.empty()) << section.name;
    for (const Finding& finding : section.findings) EXPECT_FALSE(finding.text.empty()) << section.name;
  }
}

TEST_F(AnalysisTest, AdviceIsGroupedByUserAndSummedByWhatToDo) {
  const auto writer = [&](const char* id, const char* user, std::uint64_t bytes, std::uint64_t calls) {
    JobRow job = job_row(id, kStart, bytes);
    job.data.write_calls = calls;
    job.user = user;
    jobs_.push_back(job);
  };
  writer("1", "small", 10'000'000'000, 10'000'000);
  writer("2", "small", 10'000'000'000, 10'000'000);
  writer("3", "smaller", 5'000'000'000, 20'000'000);
  writer("4", "good", 90'000'000'000, 1000);
  jobs_[1].metadata = {.open = 5000, .close = 1000};
  keep();
  JobReader reader = must(JobReader::open({.path = store()}));
  const AdviceGroups groups = grouped(must(make_report(reader, {.path = store()}, {.busy_hour = 100}, [](std::string_view) {})));
  ASSERT_EQ(groups.users.size(), 2U);
  EXPECT_EQ(groups.users[0].who, "small");
  EXPECT_EQ(groups.users[0].jobs, 2);
  EXPECT_EQ(groups.users[0].bytes, 2e10);
  IEZ_EXPECT_CLOSE(groups.users[0].share, 20.0 / 115);
  ASSERT_EQ(groups.users[0].advice.size(), 2U);
  EXPECT_EQ(groups.users[0].advice[0].action, "Gather writes to 1 MiB or more");
  EXPECT_EQ(groups.users[0].advice[0].reason, "20.0 million write calls of 1.00 kB each would be 19,074 of 1 MiB, 99.9 % fewer");
  EXPECT_EQ(groups.users[0].advice[1].reason, "4,000 of 5,000 opened files (80.0 %) were never closed");
  EXPECT_EQ(groups.users[1].who, "smaller");
  // 40 million calls of 25 GB by two users with three jobs; what one of them has alone is the last.
  ASSERT_EQ(groups.topics.size(), 2U);
  EXPECT_EQ(groups.topics[0].users, 2);
  EXPECT_EQ(groups.topics[0].jobs, 3);
  EXPECT_EQ(groups.topics[0].reason, "40.0 million write calls of 625 B each would be 23,842 of 1 MiB, 99.9 % fewer");
  EXPECT_EQ(groups.topics[1].users, 1);
  std::set<std::string> topics;
  for (const Advice& advice : groups.administrators) {
    EXPECT_EQ(advice.audience, Audience::administrator);
    topics.insert(advice.topic);
    EXPECT_THAT(advice.reason, testing::Not(testing::HasSubstr("On "))) << "the cluster is not named in it";
  }
  EXPECT_THAT(topics, testing::Contains("one user makes the load"));
}

TEST(Advice, WhatItWouldSaveIsNeverMoreThanThereIs) {
  EXPECT_EQ(reason_of("small writes", 10, 100), "10 write calls of 10 B each would be 1 of 1 MiB, 90.0 % fewer");
  EXPECT_EQ(reason_of("small writes", 1, 4e9), "1 write calls of 4.00 GB each would be 1 of 1 MiB, 0.0 % fewer");
  EXPECT_EQ(reason_of("metadata storm", 2e6, 1e7), "2.00 million metadata calls for 10.0 MB, 200,000 for each MB");
  EXPECT_EQ(reason_of("metadata storm", 2e6, 0), "2.00 million metadata calls that move nothing");
  EXPECT_EQ(reason_of("busy hours", 6e9, 8e9), "6.00 GB of 8.00 GB (75.0 %) are moved by jobs that start then");
}

TEST(Findings, NameTheirClusterOnlyWhereTheyAreAlone) {
  EXPECT_EQ(sentence("jobs run"), "Jobs run.");
  EXPECT_EQ(sentence("92 % of jobs"), "92 % of jobs.");
  EXPECT_EQ(
      finding_text({{.cluster = "a", .text = "jobs run"}, {.cluster = "b", .text = "they do"}, {.cluster = {}, .text = "no"}}),
      "On a, jobs run. On b, they do. No.");
}

TEST(Words, OfNumbers) {
  EXPECT_EQ(large_count_text(999999), "999,999");
  EXPECT_EQ(large_count_text(1234567), "1.23 million");
  EXPECT_EQ(large_count_text(85764793527), "85.8 billion");
  EXPECT_EQ(large_count_text(5e12), "5,000 billion");
  EXPECT_EQ(percent_text(0), "0.0 %");
  EXPECT_EQ(percent_text(0.00001), "below 0.01 %");
  EXPECT_EQ(percent_text(0.0005), "0.05 %");
  EXPECT_EQ(hours_text(1.0 / 3600), "1 s");
  EXPECT_EQ(hour_of_day_text(5), "05:00");
}

// The store keeps counters up to 2^63-1: sums of them are beyond whole numbers of 64 bits.
TEST_F(AnalysisTest, CountersAtTheirLimitDoNotOverflow) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const char* const id : {"1", "2", "3"}) {
    JobRow job = job_row(id, kStart, kMost);
    job.data = {.read_bytes = kMost, .write_bytes = kMost, .read_calls = kMost, .write_calls = kMost};
    job.metadata = {kMost, kMost, kMost, kMost, kMost, kMost, kMost, kMost};
    jobs_.push_back(job);
    for (const char* const target : {"fs-OST0000", "fs-MDT0000"}) {
      SeriesRow row = series_row(id, kStart + 60, kMost, target);
      row.data = job.data;
      row.metadata = job.metadata;
      series_.push_back(row);
    }
  }
  keep();
  JobReader reader = must(JobReader::open({.path = store()}));
  const Report report = must(make_report(reader, {.path = store()}, {}, [](std::string_view) {}));
  IEZ_EXPECT_CLOSE(report.summary["summary"].number(0, "write_bytes"), 3.0 * static_cast<double>(kMost));
}

TEST_F(AnalysisTest, JobsOfCenturiesAreCounted) {
  JobRow job = job_row("1", 0, 1);
  job.ended = 253402300799;  // the last second that a store keeps
  jobs_.push_back(job);
  keep();
  for (const double longest : {24.0, 1e9, 1e300}) {
    JobReader reader = must(JobReader::open({.path = store()}));
    const Report report = must(make_report(reader, {.path = store()}, {.longest_hours = longest}, [](std::string_view) {}));
    const ResultTable& statistics = report.sections[0].answer["statistics"];
    EXPECT_EQ(statistics.rows.size(), longest > 24 ? 2U : 0U);
    if (statistics.rows.empty()) continue;
    IEZ_EXPECT_CLOSE(statistics.number(0, "median"), 253402300799 / 3600.0);
  }
}

TEST_F(AnalysisTest, AnEmptyStoreHasAReport) {
  keep();
  JobReader reader = must(JobReader::open({.path = store()}));
  const Report report = must(make_report(reader, {.path = store()}, {}, [](std::string_view) {}));
  EXPECT_EQ(report.sections.size(), 10U);
  EXPECT_TRUE(report.advice.empty());
  EXPECT_FALSE(report.synthetic);
}

TEST(Statements, AreNamedByTheirComments) {
  const auto found = statements_of("-- about\n\n-- table one: The first\nSELECT 1\nFROM x;\n\nCREATE y;\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].table, "one");
  EXPECT_EQ(found[0].caption, "The first");
  EXPECT_EQ(found[0].sql, "SELECT 1\nFROM x;\n");
  EXPECT_EQ(found[1].table, "");
}

}  // namespace
}  // namespace iez::jobs
