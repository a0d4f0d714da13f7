#include "congestion/latency_goal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/rng.hpp"
#include "congestion/closed_loop_test_support.hpp"
#include "congestion/fixed_policy.hpp"
#include "congestion/rcc_policy.hpp"

namespace iez::congestion {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

unsigned finish(LatencyGoalPolicy& policy, Duration now, std::uint32_t client, unsigned wanted = 1000, std::uint32_t job = 0) {
  return policy.finish(now, {.request = {.client = client, .job = job}, .arrived = Duration::zero(), .wanted = wanted});
}

TEST(LatencyGoal, HoldsAClientBackUntilItsLastRequest) {
  LatencyGoalPolicy policy({});
  EXPECT_EQ(policy.first_credits(), 1U);
  for (std::uint32_t c = 0; c < 20; ++c) {
    for (int i = 0; i < 3; ++i) policy.arrive(seconds(1), {.client = c});
  }
  EXPECT_EQ(finish(policy, seconds(1) + milliseconds(10), 0), 1U);
  EXPECT_EQ(finish(policy, seconds(1) + milliseconds(20), 0), 1U);
  // Nothing is known of the costs: bursts of 8, here 8.8, since the queue is shorter than it should be. The rest is carried on.
  EXPECT_EQ(finish(policy, seconds(1) + milliseconds(30), 0), 8U);
  EXPECT_EQ(finish(policy, seconds(1) + milliseconds(40), 1), 1U);
  EXPECT_EQ(finish(policy, seconds(1) + milliseconds(50), 1), 1U);
  EXPECT_EQ(finish(policy, seconds(1) + milliseconds(60), 1), 9U);
  EXPECT_EQ(policy.view().depth, 54U);
  EXPECT_EQ(policy.view().active_clients, 20U);
  EXPECT_EQ(policy.view().credits, 9U);
}

TEST(LatencyGoal, HoldsNobodyBackUnderLightLoad) {
  LatencyGoalPolicy policy({});
  policy.arrive(seconds(1), {.client = 0});
  policy.arrive(seconds(1), {.client = 0});
  EXPECT_GT(finish(policy, seconds(1) + milliseconds(10), 0), 8U);
}

TEST(LatencyGoal, AGoalThatCannotBeMetLeavesOneCredit) {
  LatencyGoalPolicy policy({.goal = milliseconds(50)});
  for (std::uint32_t c = 0; c < 40; ++c) policy.arrive(seconds(1), {.client = c});
  (void)finish(policy, seconds(1) + milliseconds(10), 0);  // the first gap is not known before the second reply
  for (std::uint32_t c = 1; c < 30; ++c) EXPECT_EQ(finish(policy, seconds(1) + milliseconds(10) * (c + 1), c), 1U);
}

TEST(LatencyGoal, AnUnknownFinishGetsOneAndChangesNothing) {
  LatencyGoalPolicy policy({});
  EXPECT_EQ(finish(policy, seconds(1), 5), 1U);
  EXPECT_EQ(policy.view().depth, 0U);
  policy.arrive(seconds(1), {.client = 0});
  EXPECT_EQ(finish(policy, seconds(2), 5), 1U);
  EXPECT_EQ(policy.view().depth, 1U);
  EXPECT_EQ(policy.view().active_clients, 1U);
  policy.ping(seconds(1000), 0);
  EXPECT_EQ(policy.view().active_clients, 1U);
}

TEST(LatencyGoal, AReplyMayNameAnotherJobThanTheRequest) {
  LatencyGoalPolicy policy({});
  policy.arrive(seconds(1), {.client = 0, .job = 2});
  policy.arrive(seconds(1), {.client = 0, .job = 2});
  EXPECT_GE(finish(policy, seconds(1) + milliseconds(1), 0, 10, 900), 1U);
  EXPECT_GE(finish(policy, seconds(1) + milliseconds(2), 0, 10, 0), 1U);
  EXPECT_EQ(policy.view().depth, 0U);
}

TEST(LatencyGoal, AClientWithNothingLeftDoesNotCount) {
  LatencyGoalPolicy policy({});
  for (std::uint32_t c = 0; c < 10; ++c) policy.arrive(seconds(1), {.client = c});
  (void)finish(policy, seconds(1) + milliseconds(10), 0, 0);
  EXPECT_EQ(policy.view().active_clients, 9U);
  (void)finish(policy, seconds(1) + milliseconds(20), 1, 5);
  EXPECT_EQ(policy.view().active_clients, 9U);  // it may come back
}

TEST(LatencyGoal, SurvivesAClockThatJumps) {
  LatencyGoalPolicy policy({.goal = seconds(10)});
  for (const Duration now : {seconds(100), seconds(100000), seconds(5), seconds(100001)}) {
    for (std::uint32_t c = 0; c < 50; ++c) policy.arrive(now, {.client = c});
    for (std::uint32_t c = 0; c < 50; ++c) {
      const unsigned credits = finish(policy, now, c);
      EXPECT_GE(credits, 1U);
      EXPECT_LE(credits, 256U);
    }
  }
  EXPECT_EQ(policy.view().depth, 0U);
}

TEST(LatencyGoal, KeepsItsGoalAndBeatsFixedCredits) {
  const std::vector<LoopClient> clients(200);
  double best = 0;
  double best_in_goal = 0;
  for (const unsigned credits : {1U, 4U, 8U, 16U, 32U, 64U}) {
    FixedPolicy fixed(credits);
    const LoopResult result = run_loop({.clients = clients, .end = 240, .measure_from = 120}, fixed);
    best = std::max(best, result.throughput);
    if (result.percentile99() <= 12) best_in_goal = std::max(best_in_goal, result.throughput);
  }
  for (const std::uint64_t seed : {1U, 2U}) {
    SCOPED_TRACE(seed);
    LatencyGoalPolicy policy({.goal = seconds(12)});
    const LoopResult result = run_loop({.clients = clients, .end = 240, .measure_from = 120, .seed = seed}, policy);
    EXPECT_LE(result.percentile99(), 12);
    EXPECT_GT(result.throughput, 1.1 * best_in_goal);
    EXPECT_GT(result.throughput, 0.98 * best);
    EXPECT_NEAR(result.mean_depth / result.throughput / result.mean_latency, 1, 0.02);
    EXPECT_TRUE(result.depth_is_true);
    EXPECT_LE(policy.view().bound, seconds(12));
  }
}

TEST(LatencyGoal, PicksItsOwnBound) {
  LatencyGoalPolicy policy({});
  const LoopResult result = run_loop({.clients = std::vector<LoopClient>(200), .end = 240, .measure_from = 120}, policy);
  // a = 4 ms, b = 5 ms: 0.92 of 250 requests a second, in bursts of 14.4, by (1) 12.5 s.
  EXPECT_NEAR(result.throughput, 230, 3);
  EXPECT_NEAR(result.mean_latency, 12.5, 0.7);
  EXPECT_NEAR(std::chrono::duration<double>(policy.view().bound).count(), 12.5, 0.7);
}

TEST(LatencyGoal, AllowsLongerBurstsWhenTheyCostLittle) {
  LatencyGoalPolicy few({});
  EXPECT_GT(run_loop({.clients = std::vector<LoopClient>(4), .end = 60, .measure_from = 20}, few).throughput, 236);
  LatencyGoalPolicy one({});
  EXPECT_GT(run_loop({.clients = std::vector<LoopClient>(1), .end = 60, .measure_from = 20}, one).throughput, 248);
}

TEST(LatencyGoal, JobsGetTheSame) {
  Loop loop{.end = 240, .measure_from = 120};
  for (std::uint32_t c = 0; c < 200; ++c) loop.clients.push_back({.job = c < 190 ? 0U : 1U});
  LatencyGoalPolicy policy({.goal = seconds(12)});
  const LoopResult result = run_loop(loop, policy);
  const double x = result.of_job.at(0);
  const double y = result.of_job.at(1);
  EXPECT_GT((x + y) * (x + y) / (2 * (x * x + y * y)), 0.98);
  EXPECT_LE(result.percentile99(), 12);

  RccPolicy rcc({.d_low = 32, .l_max = seconds(12)});
  const LoopResult before = run_loop(loop, rcc);
  EXPECT_GT(before.of_job.at(0), 10 * before.of_job.at(1));  // what there was to mend
}

TEST(LatencyGoal, ALimitedJobHoldsTheOthersDownOnlyWhereThatHelps) {
  Loop loop{.end = 240, .measure_from = 120};
  for (std::uint32_t c = 0; c < 200; ++c) loop.clients.push_back({.job = c < 190 ? 0U : 1U});
  LatencyGoalPolicy narrow({.most_credits = 64});  // the small job can have 640 requests here: 960 for the other
  const LoopResult held = run_loop(loop, narrow);
  EXPECT_NEAR(held.of_job.at(0) / held.of_job.at(1), 1.5, 0.25);

  // 60 clients with six requests at a time: their own data limit them, so the others may have the rest of the queue.
  for (std::uint32_t c = 0; c < 200; ++c) loop.clients[c] = {.job = c < 140 ? 0U : 1U, .at_once = c < 140 ? 1000U : 6U};
  LatencyGoalPolicy free({.most_credits = 64});
  EXPECT_GT(run_loop(loop, free).throughput, 215);
}

TEST(LatencyGoal, FollowsTheNumberOfClients) {
  Loop loop{.end = 240};
  for (std::uint32_t c = 0; c < 200; ++c) {
    loop.clients.push_back({.start = c < 20 ? 0.0 : 80.0, .stop = c < 20 ? 1e18 : 160.0});
  }
  LatencyGoalPolicy policy({.goal = seconds(12)});
  const std::vector<double> depth = run_loop(loop, policy).depth_by_second;
  const auto mean = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t t = from; t < to; ++t) sum += depth[t];
    return sum / static_cast<double>(to - from);
  };
  EXPECT_NEAR(mean(90, 100) / mean(130, 160), 1, 0.15);   // ten seconds after they have come
  EXPECT_NEAR(mean(176, 190) / mean(200, 240), 1, 0.15);  // as soon as what they left behind is served
  EXPECT_LT(mean(200, 240), 0.3 * mean(130, 160));
}

TEST(LatencyGoal, FollowsTheSpeedOfTheServer) {
  LatencyGoalPolicy policy({.goal = seconds(12)});
  const Loop loop{.clients = std::vector<LoopClient>(200), .end = 240, .measure_from = 160, .slow_from = 100};
  const LoopResult result = run_loop(loop, policy);
  EXPECT_LE(result.percentile99(), 12);
  EXPECT_GT(result.mean_latency, 10);
}

TEST(LatencyGoal, NoClientStarvesAndCreditsKeepTheirBounds) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    LatencyGoal parameters{.most_credits = 1 + static_cast<unsigned>(rng.below(100)), .loss = 0.02 + 0.3 * rng.unit()};
    if (rng.chance(0.6)) parameters.goal = milliseconds(10 + rng.below(20000));
    LatencyGoalPolicy policy(parameters);
    Loop loop{
        .change = 0.01 * rng.unit(), .turnaround = rng.chance(0.3) ? 0 : rng.unit(), .threads = 1 + rng.below(64), .seed = seed};
    const std::uint64_t clients = 1 + rng.below(80);
    for (std::uint64_t c = 0; c < clients; ++c) {
      loop.clients.push_back({.job = static_cast<std::uint32_t>(rng.below(6)),
                              .start = 20 * rng.unit(),
                              .requests = 1 + rng.below(150),
                              .at_once = 1 + rng.below(50)});
    }
    const LoopResult result = run_loop(loop, policy);
    for (std::size_t c = 0; c < loop.clients.size(); ++c) EXPECT_EQ(result.served[c], loop.clients[c].requests);
    EXPECT_GE(result.least_credits, 1U);
    EXPECT_LE(result.most_credits, parameters.most_credits);
    EXPECT_TRUE(result.depth_is_true);
    EXPECT_EQ(policy.view().depth, 0U);
  }
}

TEST(LatencyGoal, AStreamDoesNotShutTheOthersOut) {
  // An elevator that stays with client 0 as long as it goes on: it is held back in the end, and then answered in full.
  LatencyGoalPolicy policy({});
  Duration now = seconds(1);
  for (const std::uint32_t client : {0U, 0U, 1U}) policy.arrive(now, {.client = client});
  unsigned credits = 256;
  int replies = 0;
  while (credits > 1 && replies < 2000) {
    now += milliseconds(4);
    credits = finish(policy, now, 0);
    if (credits > 1) policy.arrive(now, {.client = 0});
    ++replies;
  }
  EXPECT_EQ(credits, 1U);
  EXPECT_GT(replies, 30);
  EXPECT_GT(finish(policy, now + milliseconds(4), 0), 1U);

  LatencyGoalPolicy again({});
  const Loop loop{.clients = std::vector<LoopClient>(2), .threads = 256, .end = 120, .measure_from = 10};
  const LoopResult result = run_loop(loop, again);
  EXPECT_LT(result.latencies.back(), 12);
  EXPECT_NEAR(static_cast<double>(result.served[0]) / static_cast<double>(result.served[1]), 1, 0.3);
}

TEST(CheckLatencyGoal, NamesTheField) {
  EXPECT_TRUE(check(LatencyGoal{}).has_value());
  EXPECT_TRUE(check(LatencyGoal{.goal = seconds(1), .most_credits = 1, .safety = 1, .inequality = 1}).has_value());
  const auto message = [](const LatencyGoal& p) {
    const Result<void> result = check(p);
    return result ? std::string() : result.error().message;
  };
  EXPECT_TRUE(message({.goal = seconds(0)}).starts_with("goal is 0"));
  EXPECT_TRUE(message({.most_credits = 0}).starts_with("most_credits is 0"));
  EXPECT_EQ(message({.loss = 1}), "loss is 1; it must be between 0 and 1, such as 0.08");
  EXPECT_FALSE(message({.loss = std::numeric_limits<double>::quiet_NaN()}).empty());
  EXPECT_EQ(message({.safety = 1.5}), "safety is 1.5; it must be above 0 and at most 1, such as 0.95");
  EXPECT_EQ(message({.inequality = 0.5}), "inequality is 0.5; it must be 1 or more, such as 1.5");
  EXPECT_EQ(message({.inequality = std::numeric_limits<double>::infinity()}).substr(0, 13), "inequality is");
  EXPECT_TRUE(message({.brief = seconds(-1)}).starts_with("brief is negative"));
  EXPECT_TRUE(message({.window = seconds(0)}).starts_with("window is"));
}

}  // namespace
}  // namespace iez::congestion
