#include "coordinator/target_rates.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace iez::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kWall = 1'700'000'000'000'000'000;  // when the monotonic clock shows 0

std::int64_t wall(Duration monotonic) { return kWall + monotonic.count(); }

std::vector<TargetRate> feed(TargetRates& rates, const std::vector<TargetCounters>& counters, Duration now) {
  return rates.feed("lab", counters, now, wall(now));
}

TEST(TargetRates, TwoSamplesMakeARate) {
  TargetRates rates;
  EXPECT_TRUE(feed(rates, {{.ost = {3}, .read = {100}, .written = {1000}, .received = 10s}}, 11s).empty());
  const auto made = feed(rates, {{.ost = {3}, .read = {600}, .written = {6500}, .received = 12s}}, 13s);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0], (TargetRate{.ost = {3}, .bytes_per_second = 3000, .began_ns = wall(10s), .ended_ns = wall(12s)}));
  // The same sample again, seen later: the rate is as old as it was.
  EXPECT_EQ(feed(rates, {{.ost = {3}, .read = {600}, .written = {6500}, .received = 12s}}, 15s), made);
}

TEST(TargetRates, ACounterThatFellWasStartedAnew) {
  TargetRates rates;
  feed(rates, {{.ost = {0}, .read = {1U << 30U}, .written = {1U << 30U}, .received = 0s}}, 0s);
  const auto made = feed(rates, {{.ost = {0}, .read = {0}, .written = {500}, .received = 5s}}, 5s);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].bytes_per_second, 100);
}

TEST(TargetRates, SamplesThatWereHeldUpDoNotMakeARate) {
  TargetRates rates;
  feed(rates, {{.ost = {0}, .read = {0}, .written = {0}, .received = 10s}}, 10s);
  EXPECT_TRUE(feed(rates, {{.ost = {0}, .read = {0}, .written = {1000}, .received = 10s + 1ms}}, 11s).empty());
  const auto made = feed(rates, {{.ost = {0}, .read = {0}, .written = {4000}, .received = 14s}}, 14s);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].bytes_per_second, 1000) << "since the first of them";
}

TEST(TargetRates, WhatIsNotToldOfIsForgotten) {
  TargetRates rates;
  feed(rates, {{.ost = {0}, .read = {0}, .written = {0}, .received = 10s}}, 10s);
  EXPECT_TRUE(feed(rates, {}, 11s).empty());
  EXPECT_TRUE(feed(rates, {{.ost = {0}, .read = {0}, .written = {100}, .received = 12s}}, 12s).empty());
}

TEST(TargetRates, ARateIsStaleAfterTwoOfItsIntervals) {
  const TargetRate rate{.ost = {0}, .bytes_per_second = 1, .began_ns = wall(10s), .ended_ns = wall(15s)};
  EXPECT_FALSE(is_stale(rate, wall(15s)));
  EXPECT_FALSE(is_stale(rate, wall(25s)));
  EXPECT_TRUE(is_stale(rate, wall(25s + 1ns)));
  EXPECT_TRUE(is_stale(rate, wall(14s))) << "the clock went back";
}

}  // namespace
}  // namespace iez::coordinator
