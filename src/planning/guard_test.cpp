#include "planning/guard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.hpp"

namespace iez::planning {
namespace {

using Rates = std::vector<double>;

TEST(Guard, NothingIsKnownWithoutRunsOfBothKinds) {
  EXPECT_EQ(compare_rates(Rates{100}, Rates{}).gain, Gain::unknown);
  EXPECT_EQ(compare_rates(Rates{}, Rates{100}).gain, Gain::unknown);
  EXPECT_EQ(compare_rates(Rates{0, -1}, Rates{100}).gain, Gain::unknown);
}

TEST(Guard, OneRunEachTellsALargeDifference) {
  EXPECT_EQ(compare_rates(Rates{100}, Rates{50}).gain, Gain::slower);
  EXPECT_EQ(compare_rates(Rates{100}, Rates{190}).gain, Gain::faster);
  EXPECT_EQ(compare_rates(Rates{100}, Rates{90}).gain, Gain::unclear);
  EXPECT_EQ(compare_rates(Rates{100}, Rates{98}).gain, Gain::alike);
}

TEST(Guard, ThreeRunsEachTellASmallOne) {
  EXPECT_EQ(compare_rates(Rates{100, 101, 99, 100}, Rates{88, 87, 89, 88}).gain, Gain::slower);
  EXPECT_EQ(compare_rates(Rates{100, 101, 99}, Rates{99, 100, 98}).gain, Gain::alike);
}

TEST(Guard, ScatteredRunsTellNothing) { EXPECT_EQ(compare_rates(Rates{100, 60, 150}, Rates{80, 120, 70}).gain, Gain::unclear); }

TEST(Guard, AlikeIsWhatIsNear) {
  EXPECT_EQ(compare_rates(Rates{100, 40}, Rates{62, 25}).gain, Gain::unclear);
  EXPECT_EQ(compare_rates(Rates{100, 40}, Rates{157, 63}).gain, Gain::unclear);
  EXPECT_EQ(compare_rates(Rates{100, 40}, Rates{102, 41}).gain, Gain::alike);
}

TEST(Guard, TellsRatioAndItsRange) {
  const Comparison told = compare_rates(Rates{100, 100}, Rates{200, 200});
  EXPECT_NEAR(told.ratio, 2, 1e-9);
  EXPECT_LT(told.low, 2);
  EXPECT_GT(told.high, 2);
  EXPECT_EQ(told.by_default, 2U);
  EXPECT_EQ(told.placed, 2U);
}

// Runs alike but for noise of a tenth are hardly ever called slower; runs slower by a third nearly always, with three each.
TEST(Guard, SeldomErrs) {
  Rng rng(7);
  const auto draw = [&](double rate) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += rng.unit();
    return rate * std::exp(0.1 * (sum - 6));
  };
  int wrong = 0;
  int missed = 0;
  constexpr int kTrials = 2000;
  for (int i = 0; i < kTrials; ++i) {
    Rates theirs;
    Rates alike;
    Rates slow;
    for (int k = 0; k < 3; ++k) {
      theirs.push_back(draw(100));
      alike.push_back(draw(100));
      slow.push_back(draw(67));
    }
    wrong += compare_rates(theirs, alike).gain == Gain::slower ? 1 : 0;
    missed += compare_rates(theirs, slow).gain == Gain::slower ? 0 : 1;
  }
  EXPECT_LT(wrong, kTrials * 8 / 100);
  EXPECT_LT(missed, kTrials * 3 / 100);
}

}  // namespace
}  // namespace iez::planning
