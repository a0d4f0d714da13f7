#include "runs/phase.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::runs {
namespace {

TEST(Phase, MisfitByNamesOrBySizes) {
  const FitLimits limits;
  EXPECT_EQ(misfit({.files = 0, .unplanned = 0, .size_error = 9.0}, limits), "");
  EXPECT_EQ(misfit({.files = 10, .unplanned = 5, .size_error = 0.25}, limits), "");
  EXPECT_EQ(misfit({.files = 10, .unplanned = 6, .size_error = {}}, limits),
            "6 of 10 files were not in the plan, more than 50 %");
  EXPECT_EQ(misfit({.files = 10, .unplanned = 0, .size_error = 0.3}, limits),
            "sizes were off by 30 % on average, more than 25 %");
  EXPECT_EQ(misfit({.files = 10, .unplanned = 10, .size_error = {}}, {.unplanned = 1, .size = 1}), "");
}

TEST(Phase, TheCircle) {
  const FitLimits limits;
  Phase phase = Phase::learning;
  phase = judge(phase, {.ended_well = true, .placed = false, .facts = {}, .plan_made = true}, limits).next;
  EXPECT_EQ(phase, Phase::placing);
  phase = judge(phase, {.ended_well = true, .placed = true, .facts = {.files = 4}, .plan_made = true}, limits).next;
  EXPECT_EQ(phase, Phase::placing);
  const Verdict verdict =
      judge(phase, {.ended_well = true, .placed = true, .facts = {.files = 4, .unplanned = 3}, .plan_made = true}, limits);
  EXPECT_EQ(verdict.next, Phase::learning);
  EXPECT_TRUE(verdict.give_up);
  EXPECT_NE(verdict.why, "");
}

TEST(Phase, LawsHoldForAnyRuns) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const FitLimits limits{.unplanned = rng.unit(), .size = rng.unit()};
    Phase phase = Phase::learning;
    for (int i = 0; i < 50; ++i) {
      RunEvent event;
      event.ended_well = rng.chance(0.8);
      event.placed = phase == Phase::placing && rng.chance(0.9);
      event.plan_made = rng.chance(0.7);
      event.facts.files = rng.below(20);
      event.facts.unplanned = rng.below(event.facts.files + 1);
      if (rng.chance(0.7)) event.facts.size_error = rng.unit();
      const Verdict verdict = judge(phase, event, limits);
      // Only a plan that was used, by a run that ended well, is given up; and then the next run learns.
      if (verdict.give_up) {
        EXPECT_TRUE(event.placed && event.ended_well);
        EXPECT_EQ(verdict.next, Phase::learning);
        EXPECT_FALSE(verdict.why.empty());
        EXPECT_FALSE(misfit(event.facts, limits).empty());
      } else {
        EXPECT_TRUE(verdict.why.empty());
        if (event.placed && event.ended_well) {
          EXPECT_TRUE(misfit(event.facts, limits).empty());
        }
        // Never back to learning without a reason, and to placing by a plan alone.
        EXPECT_EQ(verdict.next, event.plan_made ? Phase::placing : phase);
      }
      phase = verdict.next;
    }
  }
}

TEST(Phase, ModesBySwitches) {
  EXPECT_EQ(choose_mode({}).mode, Mode::learn);
  EXPECT_EQ(choose_mode({.has_plan = true}).mode, Mode::place);
  EXPECT_EQ(choose_mode({.learn_only = true, .has_plan = true}).mode, Mode::learn);
  for (unsigned bits = 0; bits < 64; ++bits) {
    const ModeQuestion question{.enabled = (bits & 1U) != 0,
                                .traceable = (bits & 2U) != 0,
                                .library = (bits & 4U) != 0,
                                .folder = (bits & 8U) != 0,
                                .learn_only = (bits & 16U) != 0,
                                .has_plan = (bits & 32U) != 0};
    const ModeAnswer answer = choose_mode(question);
    EXPECT_FALSE(answer.why.empty());
    EXPECT_EQ(answer.mode != Mode::plain, (bits & 15U) == 15U) << bits;
    EXPECT_EQ(answer.mode == Mode::place, (bits & 63U) == 47U) << bits;
  }
}

}  // namespace
}  // namespace iez::runs
