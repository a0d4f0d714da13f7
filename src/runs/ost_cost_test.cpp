#include "runs/ost_cost.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::runs {
namespace {

store::AllocationRow row(std::uint64_t mib, std::vector<std::vector<std::uint32_t>> layouts, std::uint64_t files = 1) {
  store::AllocationRow out{.bytes = Bytes::mib(mib), .files = files};
  for (const std::vector<std::uint32_t>& osts : layouts) {
    store::StripeLayout& layout = out.layouts.emplace_back();
    layout.stripe_size = Bytes::mib(1);
    for (const std::uint32_t ost : osts) layout.osts.push_back(OstIndex{ost});
  }
  return out;
}

TEST(OstCost, OfLoads) {
  EXPECT_DOUBLE_EQ(*ost_cost({{OstIndex{0}, 3}, {OstIndex{1}, 1}}, 2), 1.5);
  EXPECT_DOUBLE_EQ(*ost_cost({{OstIndex{7}, 3}}, 4), 4) << "OSTs without any count";
  for (std::size_t osts = 1; osts < 100; ++osts) {  // thirds and sevenths do not add up
    OstLoads even;
    for (std::uint32_t ost = 0; ost < osts; ++ost) even[OstIndex{ost}] = 25'165'824.0 / static_cast<double>(osts);
    EXPECT_GE(*ost_cost(even, osts), 1) << osts;
  }
  EXPECT_FALSE(ost_cost(OstLoads{}, 4));
  EXPECT_FALSE(ost_cost({{OstIndex{7}, 0}}, 4));
  EXPECT_FALSE(ost_cost({{OstIndex{1}, 1}, {OstIndex{2}, 1}}, 1)) << "more than there are";
}

TEST(OstCost, OfAPlan) {
  store::Allocation plan;
  plan.rows = {row(8, {{0, 3}}), row(4, {{2, 3}}), row(100, {}), row(0, {{1}})};
  EXPECT_DOUBLE_EQ(*ost_cost(plan, Bytes::mib(1), 4), 2) << "one left to Lustre, and one too small";
  plan.rows = {row(4, {{0}, {1}}, 4)};
  EXPECT_DOUBLE_EQ(*ost_cost(plan, Bytes::mib(1), 2), 1) << "files of a pattern take its layouts in turn";
}

// A run that follows its plan, and writes what was predicted, shows the OSTCost of the plan.
TEST(OstCost, OfARunThatFollowsItsPlan) {
  Rng rng(3);
  SCOPED_TRACE("seed 3");
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t osts = rng.between(1, 20);
    store::Allocation plan;
    Gathered run;
    for (std::uint64_t file = rng.between(1, 30); file > 0; --file) {
      std::vector<std::uint32_t> on;
      for (std::uint32_t ost = 0; ost < osts; ++ost) {
        if (on.empty() || rng.chance(0.3)) on.push_back(ost);
      }
      plan.rows.push_back(row(rng.between(1, 64), {on}));
      run.writes.push_back({.row = static_cast<std::uint32_t>(run.files.size()), .osts = plan.rows.back().layouts[0].osts});
      run.files.push_back({.written = plan.rows.back().bytes});
    }
    EXPECT_DOUBLE_EQ(*ost_cost(plan, Bytes::mib(1), osts), *ost_cost(run, osts)) << trial;
  }
}

}  // namespace
}  // namespace iez::runs
