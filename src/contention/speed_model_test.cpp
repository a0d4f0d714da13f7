#include "contention/speed_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"

namespace iez::contention {
namespace {

using testing::HasSubstr;

constexpr JobShape kSourceJob{.ranks = 1024, .nodes = 64};

Prediction predicted(const Machine& machine, const Load& others, const JobShape& job, std::uint32_t stripes) {
  auto result = predict(machine, others, job, stripes);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Prediction{};
}

Load jobs_of(std::uint32_t osts, std::size_t jobs, std::uint32_t stripes) {
  return *load_of_requests(osts, std::vector<std::uint32_t>(jobs, stripes));
}

// MB/s per job, mean of five runs, four such jobs at once.
constexpr std::array<std::pair<std::uint32_t, double>, 5> kFourJobs{
    {{32, 3654.06}, {64, 3910.51}, {96, 4042.98}, {128, 4172.17}, {160, 4541.37}}};

TEST(SpeedModel, FourJobsOfTheSourceWithin6Percent) {
  double previous = 0;
  for (const auto& [stripes, measured] : kFourJobs) {
    const Prediction one = predicted(kLscratchc, jobs_of(480, 3, stripes), kSourceJob, stripes);
    EXPECT_NEAR(one.speed.value / 1e6 / measured, 1, 0.06) << stripes;
    EXPECT_GT(one.speed.value, previous) << stripes;  // the order is that of the source: more stripes, more speed
    previous = one.speed.value;
    EXPECT_NEAR(one.after.in_use, expected_usage(480, stripes, 4)->in_use, 1e-9);
  }
}

// The source: 64 instead of 160 stripes cost 13.9 % and free 37 % (predicted: 45.7 %) of the OSTs. The law gives 8.7 %.
TEST(SpeedModel, FewerStripesCostLittle) {
  const Prediction few = predicted(kLscratchc, jobs_of(480, 3, 64), kSourceJob, 64);
  const Prediction many = predicted(kLscratchc, jobs_of(480, 3, 160), kSourceJob, 160);
  const double cost = 1 - few.speed.value / many.speed.value;
  EXPECT_GT(cost, 0.08);
  EXPECT_LT(cost, 0.14);
  EXPECT_NEAR(1 - few.after.in_use / many.after.in_use, 0.457, 0.001);
}

TEST(SpeedModel, OneJobOfTheSource) {
  EXPECT_NEAR(predicted(kLscratchc, {}, kSourceJob, 160).speed.value / 15609e6, 1, 0.05);
  EXPECT_NEAR(predicted(kLscratchc, {}, kSourceJob, 2).speed.value / 395e6, 1, 0.001);
  // By processes, 16 a node, at 160 stripes: from 16 nodes on; below, the source's own steps are uneven (404 MB/s on 1 and on 2).
  for (const auto& [nodes, measured] :
       {std::pair{16, 4354.98}, {32, 8985.14}, {64, 13859.58}, {128, 16200.16}, {256, 16917.11}}) {
    const auto n = static_cast<std::uint64_t>(nodes);
    const double speed = predicted(kLscratchc, {}, {.ranks = 16 * n, .nodes = n}, 160).speed.value;
    EXPECT_NEAR(speed / 1e6 / measured, 1, 0.13) << nodes;
  }
}

TEST(SpeedModel, LogStructuredRunsOfTheSource) {
  for (const auto& [ranks, measured] :
       {std::pair{128, 3814.62}, {256, 7126.88}, {512, 10723.42}, {1024, 8575.13}, {2048, 5696.41}, {4096, 3069.05}}) {
    const auto n = static_cast<std::uint64_t>(ranks);
    const Prediction run = predicted(kLscratchc, {}, {.ranks = n, .nodes = n / 16, .files = FileUse::per_process}, 2);
    EXPECT_NEAR(run.speed.value / 1e6 / measured, 1, 0.05) << ranks;
    EXPECT_NEAR(run.own.load, log_structured_usage(480, n)->load, 1e-9);
    EXPECT_NEAR(run.after.load, run.own.load, 1e-9);
  }
}

TEST(SpeedModel, DegradationByHand) {
  EXPECT_EQ(ost_efficiency(kLscratchc, 1), 1);
  EXPECT_EQ(ost_efficiency(kLscratchc, 2), 1);
  EXPECT_DOUBLE_EQ(ost_efficiency(kLscratchc, 3), 1 / 1.27);
  EXPECT_DOUBLE_EQ(ost_efficiency(kLscratchc, 12), 1 / 3.7);
}

// Four OSTs, two servers with plenty of everything but OSTs, no degradation: what remains is arithmetic.
Machine plain() {
  return {.osts = 4,
          .ost_rate = {100},
          .servers = 2,
          .server_rate = {1e6},
          .node_rate = {1e6},
          .node_rate_files = {1e6},
          .contention_slope = 0,
          .spread_cost = 0};
}

TEST(SpeedModel, ByHand) {
  // One other job on all four OSTs: half of each for either.
  const Load all = jobs_of(4, 1, 4);
  Prediction p = predicted(plain(), all, {}, 2);
  EXPECT_DOUBLE_EQ(p.speed.value, 100);
  EXPECT_DOUBLE_EQ(p.targets.value, 100);
  EXPECT_DOUBLE_EQ(p.others_before.value, 400);
  EXPECT_DOUBLE_EQ(p.others_after.value, 300);
  EXPECT_DOUBLE_EQ(p.slowdown, 0.25);
  EXPECT_EQ(p.after, (Usage{4, 6, 1.5}));
  EXPECT_EQ(p.own, (Usage{2, 2, 1}));

  // It wants 40 only, 10 of each OST: the rest is ours, and it loses nothing.
  Load modest = all;
  modest.demand = BytesPerSecond{40};
  p = predicted(plain(), modest, {}, 2);
  EXPECT_DOUBLE_EQ(p.speed.value, 180);
  EXPECT_DOUBLE_EQ(p.slowdown, 0);

  // Clients and servers limit, too.
  Machine slow_nodes = plain();
  slow_nodes.node_rate = {30};
  EXPECT_DOUBLE_EQ(predicted(slow_nodes, {}, {.ranks = 8, .nodes = 2}, 4).speed.value, 60);
  EXPECT_DOUBLE_EQ(predicted(slow_nodes, {}, {.ranks = 1, .nodes = 2}, 4).speed.value, 30);  // one rank is on one node
  Machine slow_servers = plain();
  slow_servers.server_rate = {50};
  EXPECT_DOUBLE_EQ(predicted(slow_servers, {}, {}, 4).speed.value, 100);
  EXPECT_DOUBLE_EQ(predicted(slow_servers, {}, {}, 1).speed.value, 50);  // one stripe, one server
  p = predicted(slow_servers, all, {}, 4);
  EXPECT_DOUBLE_EQ(p.speed.value, 50);  // two jobs share 100
  EXPECT_DOUBLE_EQ(p.slowdown, 0.5);
}

TEST(SpeedModel, MoreOthersNeverHelp) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto stripes = static_cast<std::uint32_t>(rng.between(1, 160));
    const auto other = static_cast<std::uint32_t>(rng.between(1, 160));
    double previous = std::numeric_limits<double>::infinity();
    for (std::size_t jobs = 0; jobs < 12; ++jobs) {
      const Prediction p = predicted(kLscratchc, jobs_of(480, jobs, other), kSourceJob, stripes);
      // Their stripes even out the servers, which may weigh up to a few percent of what they take.
      EXPECT_LE(p.speed.value, previous * 1.02) << jobs;
      EXPECT_GE(p.slowdown, 0);
      EXPECT_LT(p.slowdown, 1);
      EXPECT_GT(p.speed.value, 0);
      previous = p.speed.value;
    }
  }
}

TEST(Load, OfSums) {
  const auto load = load_of_usage(480, 4, 387.8, 640);
  ASSERT_TRUE(load);
  const Usage usage = usage_of_sharing(load->sharing);
  EXPECT_NEAR(usage.in_use, 387.8, 1e-9);
  EXPECT_NEAR(usage.requested, 640, 1e-9);
  EXPECT_NEAR(std::accumulate(load->sharing.begin(), load->sharing.end(), 0.0), 480, 1e-9);
  EXPECT_EQ(usage_of_sharing(load_of_usage(480, 0, 0, 0)->sharing), Usage{});
  EXPECT_EQ(load_of_usage(480, 3, 480, 1440)->sharing[3], 480);

  EXPECT_THAT(load_of_usage(480, 4, 481, 600).error().message, HasSubstr("481 OSTs in use; expected 0 to 480"));
  EXPECT_THAT(load_of_usage(480, 4, 100, 90).error().message, HasSubstr("90 stripes of 4 jobs on 100 OSTs"));
  EXPECT_FALSE(load_of_usage(480, 4, 100, 401));
  EXPECT_FALSE(load_of_usage(480, 4, std::nan(""), 1));
  EXPECT_FALSE(load_of_usage(480, 4, 100, 100, BytesPerSecond{-1}));
}

// Sums only are nearly as good as the whole distribution, for the source's four jobs.
TEST(Load, OfSumsPredictsAlike) {
  const Load exact = jobs_of(480, 3, 160);
  const Usage usage = usage_of_sharing(exact.sharing);
  const Load sums = *load_of_usage(480, 3, usage.in_use, usage.requested);
  const double a = predicted(kLscratchc, exact, kSourceJob, 160).speed.value;
  const double b = predicted(kLscratchc, sums, kSourceJob, 160).speed.value;
  EXPECT_NEAR(a / b, 1, 0.04);
}

TEST(Load, OfLiveState) {
  const std::vector<JobUse> uses{{7, OstIndex{0}, {10}}, {7, OstIndex{1}, {20}}, {8, OstIndex{1}, {5}}};
  const Load load = load_of(*live_state(4, uses));
  EXPECT_EQ(load.jobs, 2U);
  EXPECT_EQ(load.demand, BytesPerSecond{35});
  EXPECT_EQ(load.sharing, (std::vector<double>{2, 1, 1}));
  EXPECT_TRUE(predict(plain(), load, {}, 2));
}

TEST(SpeedModel, RefusesWhatMakesNoSense) {
  Machine machine = plain();
  machine.ost_rate = {0};
  EXPECT_THAT(validate(machine).error().message, HasSubstr("machine: ost_rate is 0"));
  machine = plain();
  machine.contention_slope = -1;
  EXPECT_THAT(validate(machine).error().message, HasSubstr("contention_slope"));
  machine = plain();
  machine.spread_cost = std::nan("");
  EXPECT_THAT(validate(machine).error().message, HasSubstr("spread_cost"));
  EXPECT_TRUE(validate(kLscratchc));
  EXPECT_FALSE(validate(Machine{}));

  EXPECT_THAT(predict(kLscratchc, {}, {}, 161).error().message, HasSubstr("stripe count 161: expected 1 to 160"));
  EXPECT_THAT(predict(plain(), {}, {}, 5).error().message, HasSubstr("expected 1 to 4"));
  EXPECT_FALSE(predict(plain(), {}, {}, 0));
  EXPECT_THAT(predict(plain(), {}, {.ranks = 0}, 1).error().message, HasSubstr("0 ranks on 1 nodes"));
  EXPECT_THAT(predict(kLscratchc, jobs_of(100, 1, 3), {}, 1).error().message,
              HasSubstr("it is of 100 OSTs, but the machine has 480"));
  EXPECT_THAT(predict(plain(), {.jobs = 0, .sharing = {3, 1}}, {}, 1).error().message, HasSubstr("by 0 jobs"));
  EXPECT_FALSE(predict(plain(), {.jobs = 1, .sharing = {5, -1}}, {}, 1));
}

}  // namespace
}  // namespace iez::contention
