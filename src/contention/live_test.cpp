#include "contention/live.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/rng.hpp"

namespace iez::contention {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobUse use(std::uint32_t job, std::uint32_t ost, double rate) { return {job, OstIndex{ost}, BytesPerSecond{rate}}; }

TEST(Live, ByHand) {
  // OST 3: jobs 1, 2, 9; OST 5: jobs 1, 2; OST 100: job 9 alone. Indices may have gaps.
  const std::vector<JobUse> uses{use(9, 3, 5), use(1, 5, 10),  use(2, 5, 20), use(1, 3, 1),
                                 use(2, 3, 2), use(9, 100, 7), use(1, 5, 30)};  // job 1 has two files on OST 5
  const auto state = live_state(6, uses);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->now, (Usage{3, 6, 2}));
  EXPECT_THAT(state->sharing, ElementsAre(3, 1, 1, 1));
  ASSERT_EQ(state->osts.size(), 3U);
  EXPECT_EQ(state->osts[1].ost, OstIndex{5});
  EXPECT_EQ(state->osts[1].jobs, 2U);
  EXPECT_EQ(state->osts[1].rate, BytesPerSecond{60});
  EXPECT_THAT(state->uses_of(state->osts[1]), ElementsAre(use(1, 5, 40), use(2, 5, 20)));
  EXPECT_THAT(state->pairs, ElementsAre(JobPair{1, 2, 2, {63}}, JobPair{2, 9, 1, {7}}, JobPair{1, 9, 1, {6}}));
  EXPECT_TRUE(state->pairs_complete);
  ASSERT_EQ(state->hottest.size(), 3U);
  EXPECT_EQ(state->hottest[0].ost, OstIndex{3});
  EXPECT_EQ(state->hottest[2].ost, OstIndex{100});

  ASSERT_EQ(state->jobs.size(), 3U);
  const JobContention& nine = state->jobs[2];
  EXPECT_EQ(nine.job, 9U);
  EXPECT_EQ(nine.osts, 2U);
  EXPECT_EQ(nine.shared_osts, 1U);
  EXPECT_EQ(nine.mean_writers, 2);
  EXPECT_EQ(nine.max_writers, 3U);
  EXPECT_EQ(nine.rate, BytesPerSecond{12});
  EXPECT_EQ(nine.shared_rate, BytesPerSecond{5});

  const std::vector<std::uint32_t> requests{2, 2, 2};
  EXPECT_EQ(state->by_chance, *expected_usage(6, requests));
  EXPECT_GT(state->against_chance, 1);  // three of six OSTs for six stripes: chance does better
}

TEST(Live, BetterThanChance) {
  const std::vector<JobUse> uses{use(1, 0, 1), use(1, 1, 1), use(2, 2, 1), use(2, 3, 1)};
  const auto state = live_state(4, uses);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->now.load, 1);
  EXPECT_LT(state->against_chance, 1);
  EXPECT_THAT(state->pairs, IsEmpty());
}

TEST(Live, Nothing) {
  const auto state = live_state(480, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(state->now, Usage{});
  EXPECT_EQ(state->by_chance, Usage{});
  EXPECT_EQ(state->against_chance, 1);
  EXPECT_THAT(state->sharing, ElementsAre(480));
  EXPECT_THAT(state->jobs, IsEmpty());
  EXPECT_TRUE(live_state(0, {}));
}

TEST(Live, RefusesWhatCannotBe) {
  EXPECT_THAT(live_state(1, std::vector{use(1, 0, 1), use(1, 1, 1)}).error().message,
              HasSubstr("2 are in use, but the machine is said to have 1"));
  EXPECT_THAT(live_state(9, std::vector{use(4, 2, -1)}).error().message, HasSubstr("job 4 on OST 2: rate -1"));
  EXPECT_FALSE(live_state(9, std::vector{use(4, 2, std::numeric_limits<double>::quiet_NaN())}));
  EXPECT_FALSE(live_state(9, std::vector{use(4, 2, std::numeric_limits<double>::infinity())}));
}

struct Brute {
  std::map<std::uint32_t, std::map<std::uint32_t, double>> by_ost;  // ost, job, rate
  std::map<std::uint32_t, std::set<std::uint32_t>> by_job;
};

Brute brute(const std::vector<JobUse>& uses) {
  Brute result;
  for (const JobUse& u : uses) {
    result.by_ost[u.ost.value][u.job] += u.rate.value;
    result.by_job[u.job].insert(u.ost.value);
  }
  return result;
}

std::vector<JobPair> brute_pairs(const Brute& all) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, JobPair> pairs;
  for (const auto& [ost, jobs] : all.by_ost) {
    for (auto a = jobs.begin(); a != jobs.end(); ++a) {
      for (auto b = std::next(a); b != jobs.end(); ++b) {
        JobPair& pair = pairs[{a->first, b->first}];
        pair.first = a->first;
        pair.second = b->first;
        ++pair.osts;
        pair.rate.value += a->second + b->second;
      }
    }
  }
  std::vector<JobPair> sorted;
  sorted.reserve(pairs.size());
  for (const auto& [key, pair] : pairs) sorted.push_back(pair);
  std::ranges::sort(sorted, [](const JobPair& x, const JobPair& y) {
    if (x.osts != y.osts) return x.osts > y.osts;
    if (x.rate != y.rate) return x.rate > y.rate;
    return std::pair(x.first, x.second) < std::pair(y.first, y.second);
  });
  return sorted;
}

std::vector<JobUse> random_uses(Rng& rng, std::uint64_t osts, std::uint64_t jobs, std::uint64_t count) {
  std::vector<JobUse> uses;
  uses.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    uses.push_back(use(static_cast<std::uint32_t>(rng.below(jobs)) * 17, static_cast<std::uint32_t>(rng.below(osts)),
                       static_cast<double>(rng.below(100))));
  }
  return uses;
}

TEST(Live, AgreesWithBruteForce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::uint64_t osts = rng.between(1, 40);
    const std::vector<JobUse> uses = random_uses(rng, osts, rng.between(1, 30), rng.between(1, 300));
    const Brute all = brute(uses);
    const auto state = live_state(static_cast<std::uint32_t>(osts), uses, {.max_pairs = 1000});
    ASSERT_TRUE(state);

    double stripes = 0;
    ASSERT_EQ(state->osts.size(), all.by_ost.size());
    for (const OstContention& ost : state->osts) {
      const auto& jobs = all.by_ost.at(ost.ost.value);
      EXPECT_EQ(ost.jobs, jobs.size());
      stripes += static_cast<double>(jobs.size());
      for (const JobUse& u : state->uses_of(ost)) EXPECT_EQ(u.rate.value, jobs.at(u.job));
    }
    EXPECT_EQ(state->now.in_use, static_cast<double>(all.by_ost.size()));
    EXPECT_EQ(state->now.requested, stripes);

    ASSERT_EQ(state->jobs.size(), all.by_job.size());
    for (const JobContention& job : state->jobs) {
      const auto& mine = all.by_job.at(job.job);
      std::size_t shared = 0;
      std::size_t most = 0;
      std::size_t sum = 0;
      for (const std::uint32_t ost : mine) {
        const std::size_t writers = all.by_ost.at(ost).size();
        shared += writers > 1 ? 1U : 0U;
        most = std::max(most, writers);
        sum += writers;
      }
      EXPECT_EQ(job.osts, mine.size());
      EXPECT_EQ(job.shared_osts, shared);
      EXPECT_EQ(job.max_writers, most);
      EXPECT_DOUBLE_EQ(job.mean_writers, static_cast<double>(sum) / static_cast<double>(mine.size()));
    }
    EXPECT_TRUE(state->pairs_complete);
    EXPECT_EQ(state->pairs, brute_pairs(all));

    const auto few = live_state(static_cast<std::uint32_t>(osts), uses, {.max_pairs = 3, .max_hottest = 2});
    ASSERT_TRUE(few);
    std::vector<JobPair> top = brute_pairs(all);
    if (top.size() > 3) top.resize(3);
    EXPECT_EQ(few->pairs, top);
    EXPECT_EQ(few->hottest.size(), std::min<std::size_t>(2, state->osts.size()));
  }
}

TEST(Live, DoesNotDependOnOrder) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  std::vector<JobUse> uses = random_uses(rng, 20, 12, 200);
  const auto before = live_state(20, uses);
  std::ranges::reverse(uses);
  const auto after = live_state(20, uses);
  EXPECT_EQ(before->uses, after->uses);
  EXPECT_EQ(before->pairs, after->pairs);
}

// 25,000 jobs of 8 stripes on 1,000 OSTs have 20 million pairs; only the busiest propose theirs, and what is told is exact.
TEST(Live, ManyJobs) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  std::vector<JobUse> uses;
  for (std::uint32_t job = 0; job < 25'000; ++job) {
    for (int i = 0; i < 8; ++i) uses.push_back(use(job, static_cast<std::uint32_t>(rng.below(1000)), rng.unit() * 1e6));
  }
  for (std::uint32_t ost = 0; ost < 100; ++ost) {  // two that meet on a hundred OSTs, and are busy there
    uses.push_back(use(30'000, ost, 2e6));
    uses.push_back(use(30'001, ost, 2e6));
  }
  const auto state = live_state(1000, uses, {.max_pairs = 10});
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->pairs_complete);
  EXPECT_EQ(state->jobs.size(), 25'002U);
  ASSERT_EQ(state->pairs.size(), 10U);
  EXPECT_EQ(state->pairs[0], (JobPair{30'000, 30'001, 100, {4e8}}));
  EXPECT_NEAR(state->against_chance, 1, 0.01);
}

TEST(Live, NoPairsWanted) {
  const std::vector<JobUse> uses{use(1, 0, 1), use(2, 0, 1)};
  EXPECT_THAT(live_state(1, uses, {.max_pairs = 0})->pairs, IsEmpty());
  const auto none = live_state(1, uses, {.jobs_per_ost = 1});
  EXPECT_THAT(none->pairs, IsEmpty());
  EXPECT_FALSE(none->pairs_complete);
}

}  // namespace
}  // namespace iez::contention
