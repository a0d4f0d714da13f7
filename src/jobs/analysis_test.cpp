// Every analysis against code that counts by hand, on random rows; and its rules at their limits.
#include "jobs/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "jobs/jobs_test_support.hpp"
#include "jobs/report.hpp"

namespace iez::jobs {
namespace {

constexpr std::int64_t kStart = 1528329600;  // 2018-06-07, a Thursday
constexpr std::int64_t kDay = 86400;

class AnalysisTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    seed_ = std::random_device{}();
    RecordProperty("seed", fmt::format("{}", seed_));
  }

  // Rows as jobs and servers make them, with zeros, ties and large numbers.
  void make_rows(Rng& rng) {
    for (int i = 0; i < 80; ++i) {
      JobRow job = job_row(fmt::format("{}", i), kStart + static_cast<std::int64_t>(rng.below(5 * kDay)));
      job.cluster = rng.chance(0.6) ? "a" : "b";
      job.user = fmt::format("{}", 1000 + rng.below(6));
      // No two of the same duration: which job is the longest would be a matter of taste.
      job.ended = job.started + 100 + 611 * i + (i % 7 == 0 ? kDay : 0);
      job.nodes = static_cast<std::uint32_t>(1 + rng.below(200));
      if (rng.chance(0.8)) job.memory = 1000000 * (1 + rng.below(50));
      if (rng.chance(0.7)) job.data.write_bytes = std::uint64_t{1} << rng.below(40);
      if (rng.chance(0.6)) job.data.read_bytes = rng.below(1000000000);
      job.data.write_calls = job.data.write_bytes > 0 ? 1 + rng.below(job.data.write_bytes) : 0;
      job.metadata.open = rng.below(1000);
      job.metadata.close = rng.below(1000);
      job.metadata.mkdir = rng.below(10);
      job.metadata.mknod = rng.below(1U << rng.below(12));
      job.metadata.unlink = rng.below(3);
      if (rng.chance(0.6)) add_series(rng, job);
      jobs_.push_back(job);
    }
  }

  void add_series(Rng& rng, const JobRow& job) {
    const std::int64_t minutes = std::min<std::int64_t>(30, (job.ended - job.started) / 60);
    for (std::int64_t minute = 1; minute <= minutes; ++minute) {
      for (const char* const target : {"fs-OST0000", "fs-OST0001", "fs-MDT0000", "fs-MDT0001"}) {
        if (!rng.chance(0.4)) continue;
        SeriesRow row = series_row(job.id, job.started + minute * 60, 0, target);
        row.cluster = job.cluster;
        row.user = job.user;
        const bool data = row.target.contains("OST");
        if (data && rng.chance(0.6)) row.data.write_bytes = std::uint64_t{1} << rng.below(24);
        if (data && rng.chance(0.4)) row.data.read_bytes = rng.below(100000);
        if (!data) row.metadata = {.open = rng.below(50), .close = rng.below(50)};
        series_.push_back(row);
      }
    }
  }

  void keep() {
    JobStore open_store = must(JobStore::open({.path = store(), .threads = 2}));
    EXPECT_EQ(must(open_store.add(jobs_)).added, jobs_.size());
    EXPECT_EQ(must(open_store.add(series_)).added, series_.size());
  }

  Answer answer(std::string_view name, const AnalysisOptions& options = {}) {
    JobReader reader = must(JobReader::open({.path = store(), .threads = 2}));
    must(prepare(reader.duck(), options));
    return must(ask(reader.duck(), name));
  }

  void random() {
    Rng rng(seed_);
    make_rows(rng);
    keep();
  }

  std::uint64_t seed_ = 0;
  std::vector<JobRow> jobs_;
  std::vector<SeriesRow> series_;
};

double bytes_of(const JobRow& job) {
  return static_cast<double>(job.data.read_bytes) + static_cast<double>(job.data.write_bytes);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

#define EXPECT_CLOSE(a, b) EXPECT_NEAR(a, b, 1e-9 * std::max(1.0, std::abs(b)))

// Rows of a table by two of its columns.
std::size_t row_of(const ResultTable& table, std::string_view a, const std::string& a_is, std::string_view b,
                   const std::string& b_is) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto text = [&](std::string_view column) {
      const Value& value = table.rows[row][table.column(column)];
      return std::holds_alternative<std::string>(value) ? table.text(row, column) : fmt::format("{}", table.integer(row, column));
    };
    if (text(a) == a_is && text(b) == b_is) return row;
  }
  ADD_FAILURE() << "no row with " << a_is << ", " << b_is;
  return 0;
}

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
    EXPECT_CLOSE(table.number(time, "mean"), mean_of(hours));
    EXPECT_CLOSE(table.number(time, "median"), median_of(hours));
    EXPECT_CLOSE(table.number(time, "least"), std::ranges::min(hours));
    EXPECT_CLOSE(table.number(time, "most"), std::ranges::max(hours));
    EXPECT_CLOSE(table.number(time, "below"), static_cast<double>(std::ranges::count_if(hours, [](double h) { return h < 1; })) /
                                                  static_cast<double>(hours.size()));
    const std::size_t node = row_of(table, "cluster", cluster, "metric", "nodes");
    EXPECT_CLOSE(table.number(node, "mean"), mean_of(nodes));
    EXPECT_CLOSE(table.number(node, "median"), median_of(nodes));
    const ResultTable& cdf = found["cdf"];
    for (std::size_t row = 0; row < cdf.rows.size(); ++row) {
      if (cdf.text(row, "cluster") != cluster) continue;
      const auto& values = cdf.text(row, "metric") == "nodes" ? nodes : hours;
      const double up_to = cdf.number(row, "up_to") * (1 + 1e-9);
      EXPECT_CLOSE(cdf.number(row, "share"),
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
    EXPECT_CLOSE(found["users"].number(row, "read_bytes"), sums.first);
    EXPECT_CLOSE(found["users"].number(row, "write_bytes"), sums.second);
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
  EXPECT_CLOSE(table.number(row, "mean_bytes"), mean_bytes);
  EXPECT_CLOSE(table.number(row, "mean_call"), mean_call);
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
    EXPECT_CLOSE(table.number(row, "bytes"), day.bytes);
    EXPECT_EQ(table.integer(row, "weekday"), (key.second + 3) % 7 + 1);
    if (day.bytes > 0) {
      EXPECT_CLOSE(table.number(row, "longest_job_share"), day.longest_bytes / day.bytes);
      double heaviest = 0;
      for (const auto& [user, bytes] : day.users) heaviest = std::max(heaviest, bytes);
      EXPECT_CLOSE(table.number(row, "heaviest_user_share"), heaviest / day.bytes);
    }
    ++row;
  }
}

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
    EXPECT_CLOSE(table.number(row, "mean_share"), mean_of(all));
    const std::size_t write_row = row_of(table, "cluster", cluster, "jobs_that", "write");
    EXPECT_CLOSE(table.number(write_row, "mean_share"), mean_of(writers));
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
      EXPECT_CLOSE(table.number(row, "minutes"), minutes) << name;
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
  EXPECT_CLOSE(share["statistics"].number(row_of(share["statistics"], "cluster", "c", "jobs_that", "all"), "mean_share"), 0.6);
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
    EXPECT_CLOSE(table.number(row, "bytes"), sum);
    EXPECT_EQ(table.integer(row, "similar_runs"), static_cast<std::int64_t>(times[key].size()));
    if (!times[key].empty()) {
      EXPECT_CLOSE(table.number(row, "io_time"), mean_of(times[key]));
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
  EXPECT_THAT(report.sections[8].finding, testing::HasSubstr("the servers move the most at 00 h and 02 h (70"));
  const ResultTable& mdts = report.sections[4].answer["mdts"];
  ASSERT_EQ(mdts.rows.size(), 1U);
  EXPECT_EQ(mdts.integer(0, "opens"), 7);
  EXPECT_EQ(mdts.integer(0, "jobs"), 0);
  // Runs and bursts are of jobs.
  EXPECT_EQ(must(reader.duck().query("SELECT count(*) AS n FROM runs")).integer(0, "n"), 1);
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
      EXPECT_CLOSE(found["users"].number(row, "bytes_a_call"), writer.bytes / writer.calls);
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
  for (const Section& section : report.sections) EXPECT_FALSE(section.finding.empty()) << section.name;
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
