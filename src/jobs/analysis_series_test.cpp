// Every analysis of time series against code that counts by hand, on random rows; and its rules at their limits.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/analysis_test_support.hpp"
#include "jobs/report.hpp"

namespace iez::jobs {
namespace {

// What the servers saw of a job, minute by minute.
struct Seen {
  std::map<std::int64_t, std::pair<double, double>> minutes;  // read, written
  const JobRow* job = nullptr;

  double io() const {
    return static_cast<double>(
        std::ranges::count_if(minutes, [](const auto& m) { return m.second.first + m.second.second > 0; }));
  }
  bool writes() const {
    return std::ranges::any_of(minutes, [](const auto& m) { return m.second.second > 0; });
  }
  // Length and bytes of each run of writing minutes.
  std::vector<std::pair<double, double>> bursts() const {
    std::vector<std::pair<double, double>> all;
    std::int64_t last = -1;
    for (const auto& [minute, bytes] : minutes) {
      if (bytes.second <= 0) continue;
      if (all.empty() || minute != last + 1) all.emplace_back();
      all.back().first += 1;
      all.back().second += bytes.second;
      last = minute;
    }
    return all;
  }
};

std::map<std::string, Seen> seen_jobs(const std::vector<JobRow>& jobs, const std::vector<SeriesRow>& series) {
  std::map<std::string, Seen> seen;
  for (const SeriesRow& row : series) {
    auto& [read, written] = seen[row.id].minutes[row.time / 60];
    read += static_cast<double>(row.data.read_bytes);
    written += static_cast<double>(row.data.write_bytes);
  }
  for (const JobRow& job : jobs) {
    if (const auto found = seen.find(job.id); found != seen.end()) found->second.job = &job;
  }
  return seen;
}

TEST_F(AnalysisTest, IoShare) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("07_io_share");
  for (const std::string cluster : {"a", "b"}) {
    std::vector<double> all;
    std::vector<double> writers;
    for (const auto& [id, seen] : seen_jobs(jobs_, series_)) {
      if (seen.job->cluster != cluster || seen.io() <= 0) continue;
      const std::int64_t minutes = (seen.job->ended - 1) / 60 - seen.job->started / 60 + 1;
      const double share =
          std::min(1.0, seen.io() / std::max(static_cast<double>(minutes), static_cast<double>(seen.minutes.size())));
      all.push_back(share);
      if (seen.writes()) writers.push_back(share);
    }
    const ResultTable& table = found["statistics"];
    const std::size_t row = row_of(table, "cluster", cluster, "jobs_that", "all");
    EXPECT_EQ(table.integer(row, "jobs"), static_cast<std::int64_t>(all.size()));
    IEZ_EXPECT_CLOSE(table.number(row, "mean_share"), mean_of(all));
    const std::size_t write_row = row_of(table, "cluster", cluster, "jobs_that", "write");
    IEZ_EXPECT_CLOSE(table.number(write_row, "mean_share"), mean_of(writers));
  }
}

std::int64_t memory_class(double bytes, double memory) {
  const double share = bytes / memory;
  return share < 0.01 ? 1 : share < 0.05 ? 2 : share < 0.1 ? 3 : share < 0.5 ? 4 : share <= 1 ? 5 : 6;
}

std::int64_t size_class(double bytes) {
  return bytes <= 0 ? 1 : bytes < 1e3 ? 2 : bytes < 1e6 ? 3 : bytes < 1e9 ? 4 : bytes <= 1e12 ? 5 : 6;
}

TEST_F(AnalysisTest, Bursts) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("08_bursts");
  std::map<std::pair<std::string, std::int64_t>, double> memory;
  std::map<std::pair<std::string, std::int64_t>, double> sizes;
  std::map<std::string, std::int64_t> above_half;
  for (const auto& [id, seen] : seen_jobs(jobs_, series_)) {
    const std::string& cluster = seen.job->cluster;
    double idle = seen.io();
    double largest = 0;
    for (const auto& [minutes, bytes] : seen.bursts()) {
      sizes[{cluster, size_class(bytes)}] += minutes;
      if (seen.job->memory) memory[{cluster, memory_class(bytes, static_cast<double>(*seen.job->memory))}] += minutes;
      idle -= minutes;
      largest = std::max(largest, bytes);
    }
    if (idle > 0) sizes[{cluster, 1}] += idle;
    if (idle > 0 && seen.job->memory) memory[{cluster, 1}] += idle;
    if (seen.job->memory && largest > 0.5 * static_cast<double>(*seen.job->memory)) ++above_half[cluster];
  }
  for (const auto& [name, expected] : {std::pair{"memory_classes", &memory}, std::pair{"size_classes", &sizes}}) {
    const ResultTable& table = found[name];
    EXPECT_EQ(table.rows.size(), expected->size()) << name;
    for (const auto& [key, minutes] : *expected) {
      const std::size_t row = row_of(table, "cluster", key.first, "class", fmt::format("{}", key.second));
      IEZ_EXPECT_CLOSE(table.number(row, "minutes"), minutes) << name;
    }
  }
  for (std::size_t row = 0; row < found["largest"].rows.size(); ++row) {
    EXPECT_EQ(found["largest"].integer(row, "above_50_percent"), above_half[found["largest"].text(row, "cluster")]);
  }
}

// Bursts at exactly 1, 5, 10, 50 and 100 % of memory, and at the limits of sizes.
TEST_F(AnalysisTest, BurstsAtTheLimits) {
  std::int64_t at = kStart;
  const std::vector<std::uint64_t> parts{9,   10,  49,  50,   99,
                                         100, 499, 500, 1000, 1001};  // thousandths of a memory of 1,000,000 bytes
  for (const std::uint64_t part : parts) {
    JobRow job = job_row(fmt::format("m{}", part), at);
    job.memory = 1000000;
    jobs_.push_back(job);
    series_.push_back(series_row(job.id, at + 60, part * 1000));
  }
  for (const std::uint64_t size :
       {1ULL, 999ULL, 1000ULL, 999999ULL, 1000000ULL, 999999999ULL, 1000000000ULL, 1000000000000ULL, 1000000000001ULL}) {
    JobRow job = job_row(fmt::format("s{}", size), at);
    job.cluster = "sizes";
    jobs_.push_back(job);
    series_.push_back(series_row(job.id, at + 60, size));
    series_.back().cluster = "sizes";
  }
  keep();
  const Answer found = answer("08_bursts");
  const auto jobs_in = [&](std::string_view table, const std::string& cluster, int number) {
    return found[table].integer(row_of(found[table], "cluster", cluster, "class", fmt::format("{}", number)), "jobs");
  };
  EXPECT_EQ(jobs_in("memory_classes", "c", 1), 1);  // 0.9 %
  EXPECT_EQ(jobs_in("memory_classes", "c", 2), 2);  // 1, 4.9
  EXPECT_EQ(jobs_in("memory_classes", "c", 3), 2);  // 5, 9.9
  EXPECT_EQ(jobs_in("memory_classes", "c", 4), 2);  // 10, 49.9
  EXPECT_EQ(jobs_in("memory_classes", "c", 5), 2);  // 50, 100
  EXPECT_EQ(jobs_in("memory_classes", "c", 6), 1);  // 100.1
  EXPECT_EQ(jobs_in("size_classes", "sizes", 2), 2);
  EXPECT_EQ(jobs_in("size_classes", "sizes", 3), 2);
  EXPECT_EQ(jobs_in("size_classes", "sizes", 4), 2);
  EXPECT_EQ(jobs_in("size_classes", "sizes", 5), 2);
  EXPECT_EQ(jobs_in("size_classes", "sizes", 6), 1);
}

// Servers whose clocks and sampling seconds differ, and intervals that are shorter or longer than a minute.
TEST_F(AnalysisTest, MinutesOfServersThatSampleAtOtherSeconds) {
  JobRow job = job_row("1", kStart);
  job.ended = kStart + 600;
  jobs_ = {job};
  for (int minute = 1; minute <= 5; ++minute) {
    series_.push_back(series_row("1", kStart + minute * 60 + 3, 10, "fs-OST0000"));
    series_.push_back(series_row("1", kStart + minute * 60 + 41, 10, "fs-OST0001"));
  }
  for (int tenth = 0; tenth < 6; ++tenth) {
    series_.push_back(series_row("1", kStart + 480 + tenth * 10, 1, "fs-OST0002"));
    series_.back().seconds = 10;
  }
  keep();
  const Answer share = answer("07_io_share");
  IEZ_EXPECT_CLOSE(share["statistics"].number(row_of(share["statistics"], "cluster", "c", "jobs_that", "all"), "mean_share"),
                   0.6);
  const Answer bursts = answer("08_bursts");
  EXPECT_EQ(bursts["size_classes"].number(0, "minutes") +
                (bursts["size_classes"].rows.size() > 1 ? bursts["size_classes"].number(1, "minutes") : 0),
            6);
}

TEST_F(AnalysisTest, Contention) {
  SCOPED_TRACE(seed_);
  random();
  const Answer found = answer("09_contention", {.similar_runs = 1});
  std::map<std::pair<std::string, std::int64_t>, double> bytes;
  for (const JobRow& job : jobs_) bytes[{job.cluster, job.started / 3600 % 24}] += bytes_of(job);
  using Group = std::tuple<std::string, std::string, std::uint32_t, double, double>;
  std::map<Group, double> longest;
  const auto seen_by_id = seen_jobs(jobs_, series_);
  const auto group_of = [](const Seen& seen) {
    double read = 0;
    double written = 0;
    for (const auto& [minute, moved] : seen.minutes) {
      read += moved.first;
      written += moved.second;
    }
    return Group{seen.job->cluster, seen.job->user, seen.job->nodes, std::round(std::log2(1 + written)),
                 std::round(std::log2(1 + read))};
  };
  for (const auto& [id, seen] : seen_by_id) longest[group_of(seen)] = std::max(longest[group_of(seen)], seen.io());
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> times;
  for (const auto& [id, seen] : seen_by_id) {
    if (seen.io() > 0) times[{seen.job->cluster, seen.job->started / 3600 % 24}].push_back(seen.io() / longest[group_of(seen)]);
  }
  const ResultTable& table = found["hours"];
  EXPECT_EQ(table.rows.size(), bytes.size());
  for (const auto& [key, sum] : bytes) {
    const std::size_t row = row_of(table, "cluster", key.first, "hour", fmt::format("{}", key.second));
    IEZ_EXPECT_CLOSE(table.number(row, "bytes"), sum);
    EXPECT_EQ(table.integer(row, "similar_runs"), static_cast<std::int64_t>(times[key].size()));
    if (!times[key].empty()) {
      IEZ_EXPECT_CLOSE(table.number(row, "io_time"), mean_of(times[key]));
    }
  }
}

// A server's own count of an hour wins over the sum of its jobs, and is no job.
TEST_F(AnalysisTest, ServersThatTellNoJobsApart) {
  series_ = {series_row("1", kStart + 60, 5), series_row("1", kStart + 7200, 30), series_row("", kStart + 60, 10),
             series_row("", kStart + 120, 20), series_row("", kStart + 60, 40, "fs-OST0001")};
  SeriesRow mdt = series_row("", kStart + 60, 0, "fs-MDT0000");
  mdt.metadata = {.open = 7, .close = 5};
  series_.push_back(mdt);
  keep();
  JobReader reader = must(JobReader::open({.path = store()}));
  const Report report = must(make_report(reader, {.path = store()}, {}, [](std::string_view) {}));
  EXPECT_EQ(report.summary["series"].integer(0, "rows"), 6);
  EXPECT_EQ(report.summary["series"].integer(0, "jobs"), 1);
  const ResultTable& hours = report.sections[8].answer["server_hours"];
  ASSERT_EQ(hours.rows.size(), 2U);
  EXPECT_EQ(hours.number(0, "write_bytes"), 70);
  EXPECT_EQ(hours.number(1, "write_bytes"), 30);
  EXPECT_DOUBLE_EQ(hours.number(0, "share_of_bytes"), 0.7);
  EXPECT_THAT(finding_text(report.sections[8].findings),
              testing::HasSubstr("servers in the hours from 00:00 and from 02:00 move the most (70"));
  const ResultTable& mdts = report.sections[4].answer["mdts"];
  ASSERT_EQ(mdts.rows.size(), 1U);
  EXPECT_EQ(mdts.integer(0, "opens"), 7);
  EXPECT_EQ(mdts.integer(0, "jobs"), 0);
  // Runs and bursts are of jobs.
  EXPECT_EQ(must(reader.duck().query("SELECT count(*) AS n FROM runs")).integer(0, "n"), 1);
}

}  // namespace
}  // namespace iez::jobs
