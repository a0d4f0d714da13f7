#include "planning/waiting.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::planning {
namespace {

TEST(Waiting, FadesFromOneGapToThree) {
  EXPECT_DOUBLE_EQ(waiting_share(0, 100), 1);
  EXPECT_DOUBLE_EQ(waiting_share(100, 100), 1);
  EXPECT_DOUBLE_EQ(waiting_share(200, 100), 0.5);
  EXPECT_DOUBLE_EQ(waiting_share(300, 100), 0);
  EXPECT_DOUBLE_EQ(waiting_share(-5, 100), 1);  // a clock that was set back
  EXPECT_GT(waiting_share(3600, 0), 0.99);      // nobody knows: a day
  EXPECT_DOUBLE_EQ(waiting_share(4 * 86400, 0), 0);
}

// The steps are the law, rounded up, and each ends when it says.
TEST(Waiting, StepsFollowTheLaw) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto life = static_cast<std::int64_t>(rng.between(12, 1'000'000'000'000'000));
    const auto age = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(life) * 5 / 4));
    const WaitingStep step = waiting_step(age, life);
    const double share = waiting_share(static_cast<double>(age), static_cast<double>(life) / kGapsGone);
    EXPECT_GE(step.eighths / 8.0, share - 1e-9);
    EXPECT_LT(step.eighths / 8.0, share + 0.125 + 12.0 / static_cast<double>(life));
    if (step.eighths == 0) {
      EXPECT_GE(age, life);
      continue;
    }
    EXPECT_GT(step.until, age);
    EXPECT_LE(step.until, life);
    EXPECT_LT(waiting_step(step.until, life).eighths, step.eighths);
    EXPECT_EQ(waiting_step(step.until - 1, life).eighths, step.eighths);
  }
}

TEST(Waiting, ShortLivesEnd) {
  for (std::int64_t life = 1; life <= 12; ++life) {
    EXPECT_EQ(waiting_step(-3, life).eighths, 8U);
    EXPECT_EQ(waiting_step(life, life).eighths, 0U) << life;
  }
}

}  // namespace
}  // namespace iez::planning
