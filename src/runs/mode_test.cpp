#include "runs/mode.hpp"

#include <gtest/gtest.h>

namespace iez::runs {
namespace {

TEST(Mode, MisfitByNamesOrBySizes) {
  const FitLimits limits;
  EXPECT_EQ(misfit({.files = 0, .unpredicted = 0, .size_error = 9.0}, limits), "");
  EXPECT_EQ(misfit({.files = 10, .unpredicted = 5, .size_error = 0.25}, limits), "");
  EXPECT_EQ(misfit({.files = 10, .unpredicted = 6, .size_error = {}}, limits),
            "6 of 10 files were not predicted, more than 50 %");
  EXPECT_EQ(misfit({.files = 10, .unpredicted = 0, .size_error = 0.3}, limits),
            "sizes were off by 30 % on average, more than 25 %");
  EXPECT_EQ(misfit({.files = 10, .unpredicted = 10, .size_error = {}}, {.unpredicted = 1, .size = 1}), "");
}

TEST(Mode, ModesBySwitches) {
  EXPECT_EQ(choose_mode({}).mode, Mode::learn);
  EXPECT_EQ(choose_mode({.has_plan = true}).mode, Mode::place);
  EXPECT_EQ(choose_mode({.no_plan = "Lustre's default is as good"}).why, "Lustre's default is as good");
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
