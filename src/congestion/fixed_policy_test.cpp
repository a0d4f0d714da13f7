#include "congestion/fixed_policy.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "congestion/closed_loop_test_support.hpp"

namespace iez::congestion {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(FixedPolicy, GivesTheSameToAll) {
  FixedPolicy policy(8);
  EXPECT_EQ(policy.first_credits(), 8U);
  policy.arrive(seconds(1), {.client = 0});
  policy.arrive(seconds(1), {.client = 1});
  EXPECT_EQ(policy.finish(seconds(2), {.request = {.client = 1}, .arrived = seconds(1), .wanted = 100}), 8U);
  EXPECT_EQ(FixedPolicy(0).first_credits(), 1U);
}

TEST(FixedPolicy, MeasuresForTraces) {
  FixedPolicy policy(4);
  policy.arrive(seconds(1), {.client = 0});
  policy.arrive(seconds(1), {.client = 1});
  policy.arrive(seconds(1), {.client = 1});
  (void)policy.finish(seconds(1) + milliseconds(500), {.request = {.client = 1}, .arrived = seconds(1)});
  const ServerView view = policy.view();
  EXPECT_EQ(view.depth, 2U);
  EXPECT_EQ(view.active_clients, 2U);
  EXPECT_DOUBLE_EQ(view.iops, 2);
  EXPECT_EQ(view.credits, 4U);
  EXPECT_EQ(view.bound, Duration::zero());
}

TEST(FixedPolicy, AnUnknownFinishChangesNothing) {
  FixedPolicy policy(4);
  EXPECT_EQ(policy.finish(seconds(1), {.request = {.client = 9}}), 4U);
  EXPECT_EQ(policy.view().depth, 0U);
  EXPECT_EQ(policy.view().active_clients, 0U);
}

TEST(FixedPolicy, LatencyIsDepthOverIops) {
  for (const unsigned credits : {1U, 8U}) {
    FixedPolicy policy(credits);
    Loop loop{.clients = std::vector<LoopClient>(100), .end = 120, .measure_from = 110};
    const LoopResult result = run_loop(loop, policy);
    EXPECT_TRUE(result.depth_is_true);
    EXPECT_NEAR(result.mean_depth / result.throughput / result.mean_latency, 1, 0.02);
    EXPECT_NEAR(policy.view().iops / result.throughput, 1, 0.02);
    EXPECT_EQ(policy.view().active_clients, 100U);
  }
}

}  // namespace
}  // namespace iez::congestion
