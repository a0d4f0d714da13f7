#include "runs/guard_history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.hpp"

namespace iez::runs {
namespace {

store::Run run(bool placed, double seconds, std::uint32_t ranks = 4) {
  store::Run out;
  out.ranks = ranks;
  out.mode = placed ? store::RunMode::place : store::RunMode::learn;
  out.planned = placed ? 15 : 0;
  out.phases = {{.seconds = seconds / 2, .bytes = Bytes::mib(100), .files = 15},
                {.seconds = seconds / 2, .bytes = Bytes::mib(100), .files = 15}};
  return out;
}

GuardAnswer judge(std::vector<store::Run> oldest_first) {
  std::ranges::reverse(oldest_first);
  return judge_history(oldest_first, shape_of(run(false, 1)));
}

TEST(GuardHistory, NothingIsKnownOfRunsOfOneKind) {
  EXPECT_EQ(judge({}).gain.gain, planning::Gain::unknown);
  EXPECT_EQ(judge({run(false, 1), run(false, 1)}).gain.gain, planning::Gain::unknown);
  EXPECT_FALSE(judge({run(true, 1)}).step_back);
}

TEST(GuardHistory, OneSlowRunIsEnoughWhereItIsSlowByFar) {
  const GuardAnswer answer = judge({run(false, 1), run(true, 2)});
  EXPECT_TRUE(answer.step_back);
  EXPECT_EQ(answer.tries_in, kRetry);
  EXPECT_EQ(gain_text(answer), "write 0.50x the default's rate (1 run each)");
}

TEST(GuardHistory, AFasterPlanGoesOn) {
  const GuardAnswer answer = judge({run(false, 2), run(true, 1), run(true, 1)});
  EXPECT_FALSE(answer.step_back);
  EXPECT_EQ(answer.gain.gain, planning::Gain::faster);
  EXPECT_EQ(gain_text(answer), "write 2.00x the default's rate (1 by default, 2 placed)");
}

TEST(GuardHistory, OtherShapesSayNothing) {
  EXPECT_EQ(judge({run(false, 1), run(true, 2, 8)}).gain.gain, planning::Gain::unknown);
  store::Run larger = run(true, 2);
  larger.phases[0].bytes = Bytes::mib(900);
  EXPECT_EQ(judge({run(false, 1), larger}).gain.gain, planning::Gain::unknown);
}

TEST(GuardHistory, RunsThatAreOverAtOnceSayNothing) {
  EXPECT_EQ(judge({run(false, 0.01), run(true, 0.09)}).gain.gain, planning::Gain::unknown);
}

TEST(GuardHistory, FailedRunsAndThoseThatPlacedNothingAreNoPlacedOnes) {
  store::Run failed = run(true, 9);
  failed.exit_status = 1;
  store::Run existing = run(true, 1);
  existing.planned = 0;
  const GuardAnswer answer = judge({run(false, 1), failed, existing});
  EXPECT_EQ(answer.gain.placed, 0U);
  EXPECT_FALSE(answer.step_back);
}

// Back to the default, then one try after kRetry runs; if that is fast, placing goes on, else the pause begins anew.
TEST(GuardHistory, APlanIsTriedAgainAfterAPause) {
  std::vector<store::Run> history{run(false, 1), run(true, 2)};
  for (std::size_t i = 0; i < kRetry; ++i) {
    EXPECT_TRUE(judge(history).step_back) << i;
    EXPECT_EQ(judge(history).tries_in, kRetry - i);
    history.push_back(run(false, 1));
  }
  EXPECT_FALSE(judge(history).step_back);
  std::vector<store::Run> slow = history;
  slow.push_back(run(true, 2));
  EXPECT_TRUE(judge(slow).step_back);
  history.push_back(run(true, 0.5));
  EXPECT_FALSE(judge(history).step_back);
  EXPECT_EQ(judge(history).gain.gain, planning::Gain::faster);  // what was slow before the pause is forgotten
}

TEST(GuardHistory, PhasesAreComparedByPosition) {
  std::vector<store::Run> runs{run(true, 1), run(false, 1)};
  runs[0].phases[1].seconds = 0.25;
  const auto phases = compare_phases(runs, shape_of(runs[1]));
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_NEAR(phases[0].ratio, 1, 1e-9);
  EXPECT_NEAR(phases[1].ratio, 2, 1e-9);
}

// A file system whose placed runs are k times as slow, seen through noise: within three placed runs iez is back; and where they
// are as fast, it hardly ever steps back.
TEST(GuardHistory, StepsBackSoonAndSeldomInVain) {
  int in_vain = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto noisy = [&](double seconds) { return seconds * std::exp(0.1 * (rng.unit() + rng.unit() - 1)); };
    for (const double slower : {1.0, 1.8, 10.0}) {
      std::vector<store::Run> history{run(false, noisy(1))};
      int placed = 0;
      while (placed < 6 && !judge(history).step_back) {
        history.push_back(run(true, noisy(slower)));
        ++placed;
      }
      if (slower > 1) {
        EXPECT_LE(placed, 3);
      } else if (placed < 6) {
        ++in_vain;
      }
    }
  }
  EXPECT_LE(in_vain, 15);
}

}  // namespace
}  // namespace iez::runs
