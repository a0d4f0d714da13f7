#include "congestion/rcc_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/rng.hpp"
#include "congestion/closed_loop_test_support.hpp"

namespace iez::congestion {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RccPolicy, ASingleClientGetsAllAfterItsFirstReply) {
  RccPolicy policy({});
  EXPECT_EQ(policy.first_credits(), 1U);
  policy.arrive(seconds(1), {.client = 0});
  EXPECT_EQ(policy.finish(seconds(2), {.request = {.client = 0}, .arrived = seconds(1), .wanted = 500}), 32U);
}

TEST(RccPolicy, SharesTheBoundByHand) {
  // 400 clients with one request each; one reply in 10 ms: 60 s x 100 / 400 = 15.
  RccPolicy policy({});
  for (std::uint32_t c = 0; c < 400; ++c) policy.arrive(seconds(10), {.client = c});
  unsigned credits = 0;
  for (std::uint32_t c = 0; c < 100; ++c) {
    const Duration now = seconds(10) + milliseconds(10) * (c + 1);
    credits = policy.finish(now, {.request = {.client = c}, .arrived = seconds(10), .wanted = 99});
  }
  EXPECT_EQ(credits, 15U);
  const ServerView view = policy.view();
  EXPECT_EQ(view.depth, 300U);
  EXPECT_EQ(view.active_clients, 400U);
  EXPECT_DOUBLE_EQ(view.iops, 100);
  EXPECT_EQ(view.credits, 15U);
  EXPECT_EQ(view.bound, seconds(60));

  // A late one gets one less. Idle clients count until a ping after STL.
  EXPECT_EQ(policy.finish(seconds(11) + milliseconds(10), {.request = {.client = 100}, .arrived = seconds(-60)}), 14U);
  for (std::uint32_t c = 0; c < 101; ++c) policy.ping(seconds(40), c);
  EXPECT_EQ(policy.view().active_clients, 400U);
  for (std::uint32_t c = 0; c < 101; ++c) policy.ping(seconds(72), c);
  EXPECT_EQ(policy.view().active_clients, 299U);
}

TEST(RccPolicy, AnUnknownFinishChangesNothing) {
  RccPolicy policy({});
  EXPECT_EQ(policy.finish(seconds(1), {.request = {.client = 9}, .arrived = seconds(0), .wanted = 7}), 7U);
  EXPECT_EQ(policy.view().depth, 0U);
  policy.arrive(seconds(2), {.client = 0});
  (void)policy.finish(seconds(3), {.request = {.client = 9}, .arrived = seconds(2)});
  EXPECT_EQ(policy.view().depth, 1U);
}

TEST(RccPolicy, HoldsItsBoundInALoop) {
  RccPolicy policy({.d_low = 32, .l_max = seconds(6)});
  const Loop loop{.clients = std::vector<LoopClient>(128), .end = 200, .measure_from = 60};
  const LoopResult result = run_loop(loop, policy);
  EXPECT_TRUE(result.depth_is_true);
  EXPECT_NEAR(result.mean_depth / result.throughput / result.mean_latency, 1, 0.02);
  const double deviation = 128 / result.throughput;  // dL = C / IOPS
  EXPECT_NEAR(result.mean_latency, 6, 1.2 * deviation);
  EXPECT_LT(result.percentile99(), 6 + 1.2 * deviation);
}

TEST(RccPolicy, NoClientStarvesAndCreditsKeepTheirBounds) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const unsigned least = 1 + static_cast<unsigned>(rng.below(3));
    const RccParameters parameters{.rcc_min = least,
                                   .rcc_max = least + static_cast<unsigned>(rng.below(40)),
                                   .d_low = rng.below(200),
                                   .l_max = milliseconds(200 + rng.below(20000))};
    RccPolicy policy(parameters);
    Loop loop{.turnaround = rng.unit(), .threads = 1 + rng.below(64), .seed = seed};
    const std::uint64_t clients = 1 + rng.below(80);
    for (std::uint64_t c = 0; c < clients; ++c) {
      loop.clients.push_back({.start = 20 * rng.unit(), .requests = 1 + rng.below(100), .at_once = 1 + rng.below(50)});
    }
    const LoopResult result = run_loop(loop, policy);
    for (std::size_t c = 0; c < loop.clients.size(); ++c) EXPECT_EQ(result.served[c], loop.clients[c].requests);
    EXPECT_GE(result.least_credits, parameters.rcc_min);
    EXPECT_LE(result.most_credits, parameters.rcc_max);
    EXPECT_TRUE(result.depth_is_true);
    EXPECT_EQ(policy.view().depth, 0U);
  }
}

}  // namespace
}  // namespace iez::congestion
