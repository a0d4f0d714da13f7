// Results, random numbers, clocks.
#include <array>
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"

namespace iez {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(Errc::invalid_argument, "odd");
  return value / 2;
}

Result<int> quarter(int value) {
  IEZ_TRY(const int once, half(value));
  IEZ_TRY(const int twice, half(once));
  return twice;
}

Result<void> check_even(int value) {
  IEZ_TRY(const int ignored, half(value));
  static_cast<void>(ignored);
  return {};
}

Result<int> checked_quarter(int value) {
  IEZ_CHECK(check_even(value));
  return quarter(value);
}

TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(*checked_quarter(8), 2);
  EXPECT_EQ(checked_quarter(6).error().message, "odd");
  EXPECT_EQ(checked_quarter(5).error().code, Errc::invalid_argument);
}

TEST(Result, ErrnoBecomesACodeAndWords) {
  const auto missing = fail_errno(ENOENT, "/no/such");
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_EQ(missing.error().os_errno, ENOENT);
  EXPECT_EQ(missing.error().message, "/no/such: No such file or directory");
  EXPECT_EQ(fail_errno(EACCES, "x").error().code, Errc::permission);
  EXPECT_EQ(fail_errno(EIO, "x").error().code, Errc::io);
}

TEST(Result, ContextGoesInFront) {
  EXPECT_EQ(with_context(Error{.code = Errc::parse, .message = "odd"}, "component 2").error().message, "component 2: odd");
}

TEST(ResultDeathTest, AssertionsNameTheirPlace) { EXPECT_DEATH(IEZ_ASSERT(1 == 2), "1 == 2 is false at .*base_test.cpp"); }

// Fixed for ever: simulations must repeat on every machine.
TEST(Rng, SequenceIsFixed) {
  Rng rng(42);
  const std::array<std::uint64_t, 3> first{rng.bits(), rng.bits(), rng.bits()};
  Rng again(42);
  for (const std::uint64_t value : first) EXPECT_EQ(again.bits(), value);
  EXPECT_EQ(first[0], 2576493707698874361U);
  EXPECT_NE(Rng(43).bits(), first[0]);
}

TEST(Rng, BoundsAreKeptAndReached) {
  Rng rng(1);
  std::array<int, 5> seen{};
  for (int i = 0; i < 10'000; ++i) {
    ++seen[rng.below(5)];
    const std::uint64_t value = rng.between(10, 12);
    ASSERT_GE(value, 10U);
    ASSERT_LE(value, 12U);
    const double unit = rng.unit();
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
  }
  for (const int count : seen) EXPECT_NEAR(count, 2000, 200);
  EXPECT_EQ(rng.below(1), 0U);
  static_cast<void>(rng.between(0, ~std::uint64_t{0}));
}

TEST(Rng, SplitIsIndependent) {
  Rng a(5);
  Rng b(5);
  Rng child = a.split();
  static_cast<void>(b.split());
  static_cast<void>(child.bits());
  EXPECT_EQ(a.bits(), b.bits());
}

TEST(Clock, ManualAdvancesWhenToldOnly) {
  ManualClock clock;
  const auto before = clock.monotonic();
  EXPECT_EQ(clock.monotonic(), before);
  clock.sleep(std::chrono::seconds(3));
  EXPECT_EQ(clock.monotonic() - before, std::chrono::seconds(3));
  clock.set_wall(WallTime{std::chrono::seconds(100)});
  EXPECT_EQ(clock.wall().time_since_epoch(), std::chrono::seconds(100));
  EXPECT_EQ(clock.monotonic() - before, std::chrono::seconds(3)) << "a stepped wall clock does not move intervals";
}

TEST(Clock, SystemClockRuns) {
  SystemClock clock;
  const auto before = clock.monotonic();
  clock.sleep(std::chrono::milliseconds(2));
  EXPECT_GE(clock.monotonic() - before, std::chrono::milliseconds(2));
  EXPECT_GT(clock.wall().time_since_epoch(), std::chrono::hours(24 * 365 * 50));
}

}  // namespace
}  // namespace iez
