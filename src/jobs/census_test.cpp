// The census of jobs: its tables are those of 00_census.sql; and the parts that it is made of.
#include "jobs/census.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "jobs/analysis_test_support.hpp"
#include "jobs/synth.hpp"

namespace iez::jobs {
namespace {

using testing::HasSubstr;

// Each table, and what a row of it is found by.
const std::map<std::string, std::string> kTables{{"users", "cluster, uid"},
                                                 {"user_hours", "cluster, uid, hour"},
                                                 {"heaviest_of_days", "cluster, day"},
                                                 {"heaviest_of_weekdays", "cluster, weekday"},
                                                 {"job_days", "cluster, day"},
                                                 {"value_statistics", "cluster, metric"},
                                                 {"value_shares", "cluster, metric, up_to"},
                                                 {"call_sizes", "cluster, log2_call"},
                                                 {"write_cells", "cluster, x, y"},
                                                 {"write_correlations", "cluster, operation"}};

// All of a table, with times and days as texts.
ResultTable everything(Duck& duck, const std::string& table, const std::string& order) {
  const ResultTable columns = must(duck.query(
      fmt::format("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '{}' ORDER BY column_name", table)));
  std::string list;
  for (std::size_t row = 0; row < columns.rows.size(); ++row) {
    const std::string name = columns.text(row, "column_name");
    const std::string type = columns.text(row, "data_type");
    const bool is_time = type == "DATE" || type == "TIMESTAMP";
    list += fmt::format("{}{}", list.empty() ? "" : ", ", is_time ? fmt::format("CAST({0} AS VARCHAR) AS {0}", name) : name);
  }
  return must(duck.query(fmt::format("SELECT {} FROM {} ORDER BY {}", list, table, order)));
}

bool same(const Value& a, const Value& b) {
  if (a == b) return true;
  const auto number = [](const Value& value) -> std::optional<double> {
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* const real = std::get_if<double>(&value)) return *real;
    return std::nullopt;
  };
  const auto left = number(a);
  const auto right = number(b);
  return left && right && std::abs(*left - *right) <= 1e-9 * std::max(1.0, std::abs(*right));
}

std::string shown(const Value& value) {
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* const real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  return "nothing";
}

class CensusTest : public AnalysisTest {
 protected:
  // The tables of one pass, and those of the SQL, of the same rows.
  void expect_same_tables(JobReader::Options options, const AnalysisOptions& analysis = {}) {
    options.path = store();
    JobReader ours = must(JobReader::open(options));
    must(prepare(ours.duck(), analysis));
    JobReader theirs = must(JobReader::open(options));
    must(make_options(theirs.duck(), analysis));
    must(make_tables(theirs.duck(), "00_census"));
    for (const auto& [table, order] : kTables) {
      SCOPED_TRACE(table);
      const ResultTable found = everything(ours.duck(), table, order);
      const ResultTable wanted = everything(theirs.duck(), table, order);
      ASSERT_EQ(found.columns, wanted.columns);
      ASSERT_EQ(found.rows.size(), wanted.rows.size());
      for (std::size_t row = 0; row < wanted.rows.size(); ++row) {
        for (std::size_t column = 0; column < wanted.columns.size(); ++column) {
          EXPECT_TRUE(same(found.rows[row][column], wanted.rows[row][column]))
              << wanted.columns[column] << " of row " << row << ": " << shown(found.rows[row][column]) << ", SQL says "
              << shown(wanted.rows[row][column]);
        }
      }
    }
  }

  // No two users move the same on a day: who is the heaviest would be a matter of taste.
  void make_sums_differ(Rng& rng) {
    for (JobRow& job : jobs_) {
      if (job.data.read_bytes + job.data.write_bytes > 0) job.data.read_bytes += rng.below(1 << 30);
    }
  }
};

TEST_F(CensusTest, CountsWhatTheSqlCounts) {
  SCOPED_TRACE(seed_);
  Rng rng(seed_);
  make_rows(rng);
  make_sums_differ(rng);
  keep();
  for (const unsigned threads : {1U, 2U}) expect_same_tables({.threads = threads});
  expect_same_tables({.range = {.from = kStart + kDay, .to = kStart + 3 * kDay}});
  expect_same_tables({.cluster = "b"});
  expect_same_tables({.time_zone = "America/Los_Angeles"});
  expect_same_tables({.time_zone = "Asia/Kathmandu"}, {.longest_hours = 3.5});
}

TEST_F(CensusTest, ManyJobsInManyBlocks) {
  Rng rng(7);
  for (const Like like : {Like::cab, Like::quartz}) {
    must(synthesise({.like = like, .jobs = 20000, .seed = 3}, {.job = [&](JobRow&& job) -> Result<void> {
                                                                 jobs_.push_back(std::move(job));
                                                                 return {};
                                                               },
                                                               .series = {}}));
  }
  make_sums_differ(rng);
  keep();
  for (const unsigned threads : {1U, 2U}) expect_same_tables({.threads = threads});
}

// Days before 1970, in the local time of the west; weekdays and hours of them.
TEST_F(CensusTest, TheFirstDayOfAll) {
  for (int i = 0; i < 12; ++i) {
    JobRow job = job_row(fmt::format("{}", i), 1800 * i + 1, static_cast<std::uint64_t>(1000 + i));
    job.ended = job.started + 10 + i;
    job.user = i % 2 == 0 ? "even" : "odd";
    jobs_.push_back(job);
  }
  keep();
  for (const char* const zone : {"America/Los_Angeles", "Pacific/Auckland"}) expect_same_tables({.time_zone = zone});
}

// Files of several months, each with several clusters, in parts that two threads fill and join; of some jobs nodes are silent.
TEST_F(CensusTest, ManyClustersInOneBlock) {
  SCOPED_TRACE(seed_);
  Rng rng(seed_);
  for (int i = 0; i < 3000; ++i) {
    JobRow job = job_row(fmt::format("{}", i), kStart + std::int64_t{30011} * i, rng.below(std::uint64_t{1} << rng.below(50)));
    job.cluster = fmt::format("cluster-of-a-long-name-{}", rng.below(40));
    job.user = fmt::format("{}", rng.below(50));
    job.ended = job.started + 1 + i;
    job.nodes = static_cast<std::uint32_t>(1 + rng.below(50));
    job.silent_nodes = rng.chance(0.2) ? 1 : 0;
    job.metadata = {.open = rng.below(5), .close = rng.below(5), .rename = rng.below(100000)};
    jobs_.push_back(job);
  }
  keep();
  for (const unsigned threads : {1U, 2U, 5U}) expect_same_tables({.threads = threads});
}

TEST_F(CensusTest, NothingIsNothing) {
  keep();
  expect_same_tables({});
}

TEST_F(CensusTest, CountersAtTheirLimit) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (int i = 0; i < 9; ++i) {
    JobRow job = job_row(fmt::format("{}", i), kStart + std::int64_t{50} * i);
    job.ended = job.started + 10 + i;
    job.data = {.read_bytes = kMost - static_cast<std::uint64_t>(i),
                .write_bytes = i % 2 == 0 ? kMost : 1,
                .read_calls = kMost,
                .write_calls = i % 3 == 0 ? kMost : 1};
    job.metadata = {.open = kMost, .close = static_cast<std::uint64_t>(i), .mknod = i % 2 == 0 ? kMost : 0};
    jobs_.push_back(job);
  }
  keep();
  expect_same_tables({});
}

// What does not vary correlates with nothing, whatever its digits are.
TEST_F(CensusTest, EqualJobsHaveNoCorrelation) {
  for (int i = 0; i < 5; ++i) {
    JobRow job = job_row(fmt::format("{}", i), kStart + i);
    job.ended = job.started + 10 + i;
    job.data.write_bytes = 1234567;
    job.metadata = {.open = 7, .close = static_cast<std::uint64_t>(i + 1)};
    jobs_.push_back(job);
  }
  keep();
  expect_same_tables({});
}

// Rows of a census by hand: cluster, user, start (seconds), duration, bytes written.
struct HandRow {
  std::string cluster;
  std::string user;
  std::int64_t started = 0;
  std::int64_t seconds = 0;
  std::int64_t written = 0;
};

// As tables of DuckDB, which show them as blocks.
Result<void> count(Census& census, const std::vector<HandRow>& rows) {
  Duck duck = must(Duck::open({.threads = 1}));
  must(duck.run(
      "CREATE TABLE jobs(cluster VARCHAR, uid VARCHAR, started TIMESTAMP, local_started TIMESTAMP, seconds BIGINT, nodes BIGINT, "
      "silent_nodes BIGINT, bytes BIGINT, read_bytes BIGINT, write_bytes BIGINT, write_calls BIGINT, opens BIGINT, closes "
      "BIGINT, creates BIGINT, mkdirs BIGINT, mknods BIGINT, renames BIGINT, rmdirs BIGINT, unlinks BIGINT, metadata_calls "
      "BIGINT)"));
  for (const HandRow& row : rows) {
    must(duck.run(
        fmt::format("INSERT INTO jobs VALUES ({0}, {1}, make_timestamp({2}), make_timestamp({2}), {3}, 1, 0, {4}, 0, {4}, 1, 0, "
                    "0, 0, 0, 0, 0, 0, 0, 0)",
                    sql_text(row.cluster), sql_text(row.user), row.started * 1000000, row.seconds, row.written)));
  }
  return duck.fold("jobs", Census::columns(), census);
}

// Of equal ones the same is taken, in whatever order they come, and whichever thread sees them.
TEST(Census, TiesDoNotDependOnOrder) {
  const std::vector<HandRow> a{{"c", "zoe", 100, 50, 10}, {"c", "bob", 200, 50, 10}, {"d", "eve", 300, 7, 1}};
  const std::vector<HandRow> b{{"c", "amy", 400, 50, 7}, {"c", "amy", 500, 20, 3}, {"c", "zoe", 600, 50, 0}};
  for (const bool swapped : {false, true}) {
    Census all(1000);
    Census other(1000);
    must(count(all, swapped ? b : a));
    must(count(other, swapped ? a : b));
    all.join(other);
    const auto days = all.heaviest_of_days();
    ASSERT_EQ(days.size(), 2U);
    const auto& day = all.clusters()[days[0].cluster].text == "c" ? days[0] : days[1];
    EXPECT_EQ(all.users()[day.user].text, "amy");
    EXPECT_EQ(day.bytes, 30);
    EXPECT_EQ(day.most, 10);
    for (const Census::Heaviest& weekday : all.heaviest_of_weekdays()) EXPECT_EQ(weekday.day, 3);  // a Thursday
    for (const Census::Day& one : all.days()) {
      const bool is_c = all.clusters()[one.cluster].text == "c";
      EXPECT_EQ(one.sums.longest, is_c ? 50 : 7);
      EXPECT_EQ(one.sums.longest_bytes, is_c ? 10 : 1);
      EXPECT_EQ(one.sums.jobs, is_c ? 5U : 1U);
    }
  }
}

TEST(Census, RowsThatNoStoreHasAreRefused) {
  const HandRow good{.cluster = "c", .user = "u", .started = 1, .seconds = 1, .written = 1};
  for (const auto& [change, name] : std::vector<std::pair<std::function<void(HandRow&)>, std::string>>{
           {[](HandRow& row) { row.written = -5; }, "bytes"},
           {[](HandRow& row) { row.seconds = -1; }, "seconds"},
           {[](HandRow& row) { row.started = 260000000000; }, "started"},
           {[](HandRow& row) { row.started = -70000000000; }, "started"}}) {
    HandRow bad = good;
    change(bad);
    Census census(1000);
    const auto done = count(census, {good, bad, good});
    ASSERT_FALSE(done) << name;
    EXPECT_THAT(done.error().message, HasSubstr("column " + name));
  }
}

TEST(PairMoments, AsTheTextbookSays) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> x;
    std::vector<double> y;
    PairMoments moments;
    const double offset = std::pow(10.0, static_cast<double>(rng.below(12)));
    for (std::uint64_t part = rng.below(5) + 1; part > 0; --part) {
      PairMoments other;
      std::vector<double> some_x;
      std::vector<double> some_y;
      for (std::uint64_t i = rng.below(40); i > 0; --i) {
        some_x.push_back(offset + rng.unit());
        some_y.push_back(some_x.back() * 3 + rng.unit());
      }
      (rng.chance(0.5) ? moments : other).add(some_x, some_y);
      moments.join(other);
      x.insert(x.end(), some_x.begin(), some_x.end());
      y.insert(y.end(), some_y.begin(), some_y.end());
    }
    if (x.size() < 2) {
      EXPECT_FALSE(moments.correlation());
      continue;
    }
    const double mean_x = mean_of(x);
    const double mean_y = mean_of(y);
    double xx = 0;
    double yy = 0;
    double xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      xx += (x[i] - mean_x) * (x[i] - mean_x);
      yy += (y[i] - mean_y) * (y[i] - mean_y);
      xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    EXPECT_NEAR(moments.correlation().value_or(2), xy / std::sqrt(xx * yy), 1e-3) << "offset " << offset;
  }
}

TEST(ValueCounts, CountsLikeAMap) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  for (int round = 0; round < 20; ++round) {
    std::map<std::int64_t, std::uint64_t> wanted;
    ValueCounts all;
    for (std::uint64_t part = rng.below(4) + 1; part > 0; --part) {
      ValueCounts counts;
      const std::uint64_t range = std::uint64_t{1} << (rng.below(63) + 1);
      for (std::uint64_t i = rng.below(3000); i > 0; --i) {
        const auto value = static_cast<std::int64_t>(rng.below(range)) - (rng.chance(0.1) ? 5 : 0);
        counts.add(value);
        ++wanted[value];
      }
      all.join(counts);
    }
    std::map<std::int64_t, std::uint64_t> found;
    for (const ValueCounts::Entry& entry : all.sorted()) found[entry.value] = entry.count;
    EXPECT_EQ(found, wanted);
  }
}

// Two tables, as two threads have them, are joined in a time that grows with their number alone: otherwise this takes minutes.
TEST(ValueCounts, JoiningManyIsNotSlow) {
  ValueCounts a;
  ValueCounts b;
  for (std::int64_t value = 0; value < 3000000; ++value) {
    a.add(value);
    b.add(2 * value);
  }
  ValueCounts all;
  all.join(a);
  all.join(b);
  EXPECT_EQ(all.sorted().size(), 4500000U);
}

TEST(NameNumbers, ANameHasOneNumberInItsGroup) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  NameNumbers numbers;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> wanted;
  for (int i = 0; i < 5000; ++i) {
    const auto group = static_cast<std::uint32_t>(rng.below(3));
    const std::string name(rng.below(30), static_cast<char>('a' + rng.below(26)));
    const auto [known, is_new] = wanted.try_emplace({group, name}, static_cast<std::uint32_t>(wanted.size()));
    ASSERT_EQ(numbers.of(group, name), known->second);
    ASSERT_EQ(numbers[known->second].text, name);
    ASSERT_EQ(numbers[known->second].group, group);
  }
  EXPECT_EQ(numbers.size(), wanted.size());
}

class Adder final : public DuckFold {
 public:
  std::unique_ptr<DuckFold> part() const override { return std::make_unique<Adder>(); }
  Result<void> add(const DuckBlock& block) override {
    for (const std::int64_t value : block.integers(0)) {
      if (value < 0) return fail(Errc::parse, "a number below 0");
      sum += value;
    }
    for (const DuckText& text : block.texts(1)) letters += text.view().size();
    return {};
  }
  void join(DuckFold& part) override {
    sum += static_cast<Adder&>(part).sum;
    letters += static_cast<Adder&>(part).letters;
  }

  std::int64_t sum = 0;
  std::size_t letters = 0;
};

// Equal where their bytes are, short or long.
class Sides final : public DuckFold {
 public:
  std::unique_ptr<DuckFold> part() const override { return std::make_unique<Sides>(); }
  Result<void> add(const DuckBlock& block) override {
    for (std::size_t row = 0; row < block.rows(); ++row) {
      const DuckText& a = block.texts(0)[row];
      const DuckText& b = block.texts(1)[row];
      if ((a == b) != (a.view() == b.view())) return fail(Errc::parse, fmt::format("'{}' and '{}'", a.view(), b.view()));
      if (a == b) ++equal;
    }
    return {};
  }
  void join(DuckFold& part) override { equal += static_cast<Sides&>(part).equal; }

  std::size_t equal = 0;
};

TEST(DuckFold, TextsAreEqualByTheirBytes) {
  Duck duck = must(Duck::open({.threads = 2}));
  must(
      duck.run("CREATE TABLE texts AS SELECT repeat('x', CAST(a AS INTEGER)) || CASE WHEN c = 0 THEN '' ELSE 'y' END AS a, "
               "repeat('x', CAST(b AS "
               "INTEGER)) AS b FROM range(20) r(a), range(20) s(b), range(2) t(c)"));
  Sides sides;
  must(duck.fold("texts", std::array{DuckColumn{"a", ColumnKind::text}, DuckColumn{"b", ColumnKind::text}}, sides));
  EXPECT_EQ(sides.equal, 20U);
}

constexpr std::array kAdded{DuckColumn{"i"}, DuckColumn{"t", ColumnKind::text}};

TEST(DuckFold, SeesEachRowOnce) {
  Duck duck = must(Duck::open({.threads = 2}));
  must(duck.run("CREATE TABLE numbers AS SELECT i, repeat('x', CAST(i % 40 AS INTEGER)) AS t FROM range(1000000) r(i)"));
  for (int round = 0; round < 2; ++round) {
    Adder adder;
    must(duck.fold("numbers", kAdded, adder));
    EXPECT_EQ(adder.sum, 999999LL * 500000);
    EXPECT_EQ(adder.letters, 1000000U / 40 * 780);
  }
}

TEST(DuckFold, AbsentAndRefusedValuesAreErrors) {
  Duck duck = must(Duck::open({.threads = 2}));
  // In a block that comes late, when each thread has a part already.
  must(duck.run("CREATE TABLE numbers AS SELECT i, CASE WHEN i <> 900000 THEN 'x' END AS t FROM range(1000000) r(i)"));
  Adder adder;
  const auto done = duck.fold("numbers", kAdded, adder);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("column t"));
  must(duck.run("UPDATE numbers SET i = CASE WHEN i = 3000 THEN -1 ELSE i END, t = 'x'"));
  const auto refused = duck.fold("numbers", kAdded, adder);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("a number below 0"));
  const auto missing = duck.fold("nowhere", kAdded, adder);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("nowhere"));
}

}  // namespace
}  // namespace iez::jobs
