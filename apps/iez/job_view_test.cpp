#include "job_view.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::cli {
namespace {

using lustre::JobEntry;
using lustre::JobSample;
using model::Operation;
using std::chrono::seconds;

JobEntry entry(const std::string& id, std::uint64_t bytes, std::optional<Duration> life = std::nullopt) {
  JobEntry job{.id = id};
  job.rows.push_back({.operation = Operation::write_bytes, .samples = 2, .sum = bytes});
  job.times.elapsed = life;
  return job;
}

JobSample two_targets(int at, std::uint64_t first, std::uint64_t second, std::optional<Duration> life = std::nullopt) {
  JobSample sample;
  const auto a = sample.add_target({.name = "f-OST0000", .server = "oss1", .sampled = WallTime{seconds(at)}});
  const auto b = sample.add_target({.name = "f-OST0001", .server = "oss1", .sampled = WallTime{seconds(at)}});
  sample.add(a, entry("ior.1000", first, life));
  sample.add(b, entry("ior.1000", second, life));
  sample.add(b, entry("dd.0", 7, life));
  return sample;
}

JobPicture picture(const JobSample* before, const JobSample& after, const JobFilter& filter = {}, TopPer per = TopPer::job) {
  return make_picture(before, after, lustre::JobIdFormat{}, filter, per);
}

TEST(JobView, SumsTargetsAndRates) {
  const JobSample before = two_targets(0, 100, 1000);
  const JobSample after = two_targets(10, 300, 1800);
  JobPicture made = picture(&before, after);
  sort_rows(made.rows, TopSort::bytes, false);
  ASSERT_EQ(made.rows.size(), 2U);
  EXPECT_EQ(made.basis, RateBasis::interval);
  EXPECT_EQ(made.interval, seconds(10));
  EXPECT_EQ(made.rows[0].identity.id, "ior.1000");
  EXPECT_EQ(made.rows[0].traffic.written, Bytes{2100});
  EXPECT_EQ(made.rows[0].targets, 2U);
  EXPECT_DOUBLE_EQ(made.rows[0].rates->write.value, 100) << "(200 + 800) bytes in 10 s";
}

TEST(JobView, PartsByTargetAndServer) {
  const JobSample sample = two_targets(0, 100, 1000);
  const JobPicture by_ost = picture(nullptr, sample, {}, TopPer::ost);
  ASSERT_EQ(by_ost.rows[0].parts.size(), 2U);
  EXPECT_EQ(by_ost.rows[0].parts[1].name, "f-OST0001");
  EXPECT_EQ(by_ost.rows[0].parts[1].traffic.written, Bytes{1000});
  const JobPicture by_server = picture(nullptr, sample, {}, TopPer::server);
  ASSERT_EQ(by_server.rows[0].parts.size(), 1U);
  EXPECT_EQ(by_server.rows[0].parts[0].traffic.written, Bytes{1100});
}

TEST(JobView, LifetimesGiveRatesWhenLongEnough) {
  const JobPicture made = picture(nullptr, two_targets(0, 100, 1000, seconds(11)));
  EXPECT_EQ(made.basis, RateBasis::lifetime);
  EXPECT_DOUBLE_EQ(made.rows[0].rates->write.value, 100);
  const JobPicture brief = picture(nullptr, two_targets(0, 100, 1000, Duration{5000}));
  EXPECT_FALSE(brief.rows[0].rates) << "five microseconds are no rate";
  EXPECT_EQ(brief.basis, RateBasis::none);
  EXPECT_EQ(picture(nullptr, two_targets(0, 1, 1)).basis, RateBasis::none);
}

TEST(JobView, Filters) {
  const JobSample sample = two_targets(0, 1, 1);
  EXPECT_EQ(picture(nullptr, sample, {.uid = 1000}).rows.size(), 1U);
  EXPECT_EQ(picture(nullptr, sample, {.uid = 5}).rows.size(), 0U);
  EXPECT_EQ(picture(nullptr, sample, {.pattern = "d*"}).rows.at(0).identity.id, "dd.0");
  EXPECT_EQ(picture(nullptr, sample, {.pattern = "d*"}).jobs, 2U);
}

TEST(JobView, AUserFilterSaysWhatItCannotJudge) {
  JobSample sample;
  sample.add(sample.add_target({.name = "t"}), entry("4711", 1));
  EXPECT_EQ(picture(nullptr, sample, {.uid = 0}).unknown_users, 1U);
  EXPECT_EQ(picture(nullptr, sample, {.pattern = "4711"}).rows.size(), 1U);
}

TEST(JobView, OrderIsTotal) {
  std::vector<JobRow> rows(4);
  const std::vector<std::string> ids{"c", "a", "d", "b"};
  for (std::size_t i = 0; i < 4; ++i) rows[i].identity.id = ids[i];
  rows[2].traffic = {.read = Bytes{10}, .read_calls = 5, .operations = 1};
  rows[0].traffic = {.written = Bytes{7}, .write_calls = 1, .operations = 9};
  const auto sorted = [&](TopSort key, bool reverse = false) {
    sort_rows(rows, key, reverse);
    std::string order;
    for (const JobRow& row : rows) order += row.identity.id;
    return order;
  };
  EXPECT_EQ(sorted(TopSort::bytes), "dcab");
  EXPECT_EQ(sorted(TopSort::write), "cabd");
  EXPECT_EQ(sorted(TopSort::read), "dabc");
  EXPECT_EQ(sorted(TopSort::operations), "cdab");
  EXPECT_EQ(sorted(TopSort::size), "cdab");
  EXPECT_EQ(sorted(TopSort::job), "abcd");
  EXPECT_EQ(sorted(TopSort::job, true), "dcba");
}

}  // namespace
}  // namespace iez::cli
