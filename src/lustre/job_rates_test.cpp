#include "lustre/job_rates.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::lustre {
namespace {

using model::Operation;
using std::chrono::seconds;

JobEntry entry(std::string id, std::uint64_t writes, std::uint64_t bytes, std::optional<int> start = std::nullopt) {
  JobEntry job{.id = std::move(id)};
  job.rows.push_back({.operation = Operation::write_bytes, .samples = writes, .sum = bytes});
  if (start) job.times.start = WallTime{seconds(*start)};
  return job;
}

JobSample sample(int at, const std::vector<JobEntry>& jobs, const std::string& target = "a-OST0000") {
  JobSample result;
  const auto index = result.add_target({.name = target, .server = "oss1", .sampled = WallTime{seconds(at)}});
  for (const JobEntry& job : jobs) result.add(index, job);
  return result;
}

TEST(JobRates, GrowthIsTheDifference) {
  const auto result = changes(sample(0, {entry("j", 10, 1000)}), sample(5, {entry("j", 15, 1600)}));
  ASSERT_EQ(result.pairs.size(), 1U);
  EXPECT_EQ(result.pairs[0].change.written, Bytes{600});
  EXPECT_EQ(result.pairs[0].change.write_calls, 5U);
  EXPECT_EQ(result.pairs[0].interval, seconds(5));
  EXPECT_FALSE(result.pairs[0].restarted);
}

TEST(JobRates, ADecreaseIsARestart) {
  const auto result = changes(sample(0, {entry("j", 10, 1000)}), sample(5, {entry("j", 2, 200)}));
  EXPECT_EQ(result.pairs[0].change.written, Bytes{200});
  EXPECT_TRUE(result.pairs[0].restarted);
  EXPECT_EQ(result.restarted, 1U);
}

TEST(JobRates, OneCounterThatFellIsEnough) {
  const auto result = changes(sample(0, {entry("j", 10, 100)}), sample(5, {entry("j", 2, 2000)}));
  EXPECT_TRUE(result.pairs[0].restarted);
  EXPECT_EQ(result.pairs[0].change.written, Bytes{2000}) << "not 1900: both began anew";
}

// Dropped after 600 idle seconds and back with more than before: only start_time tells.
TEST(JobRates, AMovedStartIsARestart) {
  const auto result = changes(sample(0, {entry("j", 10, 1000, 1)}), sample(700, {entry("j", 30, 3000, 650)}));
  EXPECT_TRUE(result.pairs[0].restarted);
  EXPECT_EQ(result.pairs[0].change.written, Bytes{3000});
}

TEST(JobRates, NewJobsDidAllOfItSince) {
  const auto result = changes(sample(0, {}), sample(5, {entry("j", 1, 50)}));
  EXPECT_EQ(result.pairs[0].change.written, Bytes{50});
  EXPECT_FALSE(result.pairs[0].restarted);
}

TEST(JobRates, GoneJobsAreCounted) {
  EXPECT_EQ(changes(sample(0, {entry("a", 1, 1), entry("b", 1, 1)}), sample(5, {entry("b", 1, 1)})).ended, 1U);
}

TEST(JobRates, ANewTargetHasNoInterval) {
  const auto result = changes(sample(0, {entry("j", 1, 1)}, "a-OST0000"), sample(5, {entry("j", 1, 1)}, "a-OST0001"));
  EXPECT_EQ(result.pairs[0].interval, Duration::zero());
  EXPECT_EQ(result.ended, 1U);
}

TEST(JobRates, AClockThatWentBackGivesNoRate) {
  const auto result = changes(sample(9, {entry("j", 1, 10)}), sample(5, {entry("j", 2, 30)}));
  EXPECT_EQ(result.pairs[0].interval, Duration::zero());
  EXPECT_EQ(result.backward_clocks, 1U);
}

TEST(JobRates, ATargetWithoutATimeHasNoRates) {
  JobSample before = sample(0, {});
  before.target(0).sampled = std::nullopt;
  const auto result = changes(before, sample(5, {entry("j", 2, 30)}));
  EXPECT_EQ(result.pairs[0].interval, Duration::zero());
  EXPECT_EQ(result.pairs[0].change.written, Bytes{0});
  EXPECT_EQ(result.untimed, 1U);
}

// A job that the first sample missed would seem to have done all of it since.
TEST(JobRates, ATargetReadInPartHasNoRates) {
  JobSample before = sample(0, {});
  before.target(0).whole = false;
  EXPECT_EQ(changes(before, sample(5, {entry("j", 2, 30)})).pairs[0].interval, Duration::zero());
  JobSample after = sample(5, {entry("j", 2, 30)});
  after.target(0).whole = false;
  const auto result = changes(sample(0, {entry("j", 1, 10)}), after);
  EXPECT_EQ(result.pairs[0].change.written, Bytes{0});
  EXPECT_EQ(result.partial, 1U);
}

TEST(JobSample, ASecondEntryOfATargetIsAddedToTheFirst) {
  const std::vector<JobEntry> twice{entry("j", 1, 10), entry("k", 1, 1), entry("j", 1, 10)};
  const JobSample both = sample(0, twice);
  EXPECT_EQ(both.pairs().size(), 2U);
  const auto result = changes(both, sample(5, twice));
  EXPECT_EQ(result.pairs[0].change.written, Bytes{0});
  EXPECT_EQ(result.ended, 0U);
}

TEST(JobSample, SumsAJobOverItsTargets) {
  JobSample both;
  const auto first = both.add_target({.name = "a-OST0000"});
  const auto second = both.add_target({.name = "a-OST0001"});
  both.add(first, entry("j", 1, 10));
  both.add(second, entry("j", 2, 20));
  ASSERT_EQ(both.ids().size(), 1U);
  EXPECT_EQ(both.totals(0).write_bytes, Bytes{30});
  EXPECT_EQ(both.totals(0)[Operation::write_bytes], 3U);
  EXPECT_EQ(both.pairs().size(), 2U);
}

TEST(JobSample, KeepsNoMoreThanItMay) {
  JobSample small({.max_jobs = 2});
  const auto target = small.add_target({.name = "t"});
  for (const char* const id : {"a", "b", "c", "a"}) small.add(target, entry(id, 1, 1));
  EXPECT_EQ(small.ids().size(), 2U);
  EXPECT_EQ(small.dropped(), 1U);
}

// A server model: entries grow, go idle and are dropped, come back. What the law reports may miss bytes, never invent any.
TEST(JobRates, NeverReportsMoreThanWasWritten) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const bool shows_start = rng.chance(0.5);
    struct Entry {
      std::uint64_t calls = 0;
      std::uint64_t bytes = 0;
      int start = 0;
      bool listed = false;
    };
    std::vector<Entry> server(20);
    std::vector<std::uint64_t> written(server.size(), 0);
    const auto take = [&](int now) {
      std::vector<JobEntry> jobs;
      for (std::size_t i = 0; i < server.size(); ++i) {
        if (!server[i].listed) continue;
        jobs.push_back(entry(std::to_string(i), server[i].calls, server[i].bytes,
                             shows_start ? std::optional(server[i].start) : std::nullopt));
      }
      return sample(now, jobs);
    };
    JobSample before = take(0);
    for (int now = 1; now < 60; ++now) {
      std::fill(written.begin(), written.end(), 0);
      for (std::size_t i = 0; i < server.size(); ++i) {
        if (rng.chance(0.1)) server[i] = {};
        if (rng.chance(0.4)) continue;
        if (!server[i].listed) server[i] = {.start = now, .listed = true};
        const std::uint64_t bytes = rng.below(1000);
        server[i].calls += 1;
        server[i].bytes += bytes;
        written[i] += bytes;
      }
      JobSample after = take(now);
      const JobChanges result = changes(before, after);
      ASSERT_EQ(result.pairs.size(), after.pairs().size());
      for (std::size_t k = 0; k < result.pairs.size(); ++k) {
        const std::size_t job = std::stoul(after.ids()[after.pairs()[k].job]);
        ASSERT_LE(result.pairs[k].change.written.count, written[job]) << "job " << job << " at " << now;
      }
      before = std::move(after);
    }
  }
}

}  // namespace
}  // namespace iez::lustre
