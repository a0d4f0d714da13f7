#include "congestion/rcc.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "base/rng.hpp"

namespace iez::congestion {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RccParameters kDefaults;

TEST(CalcRcc, LightLoadGivesWhatTheClientAsksFor) {
  const RccState server{.depth = 127, .active_clients = 1000, .iops = 100};
  EXPECT_EQ(calc_rcc(kDefaults, server, seconds(100), 20), 20U);  // even when this request was late
  EXPECT_EQ(calc_rcc(kDefaults, server, seconds(1), 0), 1U);
  EXPECT_EQ(calc_rcc(kDefaults, server, seconds(1), 33), 32U);
}

TEST(CalcRcc, DLowIsNoLightLoad) {
  // 60 x 100 / 1000 = 6
  EXPECT_EQ(calc_rcc(kDefaults, {.depth = 128, .active_clients = 1000, .iops = 100}, seconds(1), 20), 6U);
}

TEST(CalcRcc, SharesTheBoundAndRoundsToTheNearest) {
  // 60 x 170 / 1024 = 9.96
  EXPECT_EQ(calc_rcc(kDefaults, {.depth = 5000, .active_clients = 1024, .iops = 170}, seconds(30), 1), 10U);
  // 60 x 160 / 1024 = 9.38
  EXPECT_EQ(calc_rcc(kDefaults, {.depth = 5000, .active_clients = 1024, .iops = 160}, seconds(30), 1), 9U);
}

TEST(CalcRcc, TakesOneAwayWhenTheQueueIsTooLong) {
  RccState server{.depth = 10200, .active_clients = 1024, .iops = 170};
  EXPECT_EQ(calc_rcc(kDefaults, server, seconds(30), 1), 10U);  // D / IOPS = 60: not above
  server.depth = 10201;
  EXPECT_EQ(calc_rcc(kDefaults, server, seconds(30), 1), 9U);
}

TEST(CalcRcc, TakesOneAwayWhenTheRequestWasLate) {
  const RccState server{.depth = 5000, .active_clients = 1024, .iops = 170};
  EXPECT_EQ(calc_rcc(kDefaults, server, seconds(60), 1), 10U);
  EXPECT_EQ(calc_rcc(kDefaults, server, seconds(60) + milliseconds(1), 1), 9U);
}

TEST(CalcRcc, KeepsItsBounds) {
  EXPECT_EQ(calc_rcc(kDefaults, {.depth = 500, .active_clients = 4, .iops = 170}, seconds(1), 1), 32U);
  EXPECT_EQ(calc_rcc(kDefaults, {.depth = 90000, .active_clients = 50000, .iops = 170}, seconds(500), 1), 1U);
  EXPECT_EQ(calc_rcc(kDefaults, {.depth = 12000, .active_clients = 6000, .iops = 150}, seconds(80), 1), 1U);  // 1.5 - 1
  const RccParameters wide{.rcc_min = 4, .rcc_max = 4};
  EXPECT_EQ(calc_rcc(wide, {.depth = 0}, seconds(0), 1), 4U);
  EXPECT_EQ(calc_rcc(wide, {.depth = 1000, .active_clients = 1, .iops = 1e9}, seconds(0), 1), 4U);
}

TEST(CalcRcc, WhatTheSourceLeavesOpen) {
  EXPECT_EQ(calc_rcc(kDefaults, {.depth = 500, .active_clients = 10, .iops = 0}, seconds(1), 20), 1U);
  EXPECT_EQ(calc_rcc(kDefaults, {.depth = 500, .active_clients = 0, .iops = 0.1}, seconds(1), 20), 5U);  // C counts as 1: 6 - 1
  const RccParameters no_light{.rcc_max = 1000, .d_low = 0};
  EXPECT_EQ(calc_rcc(no_light, {.depth = 0, .active_clients = 10, .iops = 100}, seconds(1), 1), 600U);
}

TEST(CalcRcc, IsWithinBoundsForAnything) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int i = 0; i < 20000; ++i) {
    const unsigned low = 1 + static_cast<unsigned>(rng.below(10));
    const RccParameters p{.rcc_min = low, .rcc_max = low + static_cast<unsigned>(rng.below(50)), .d_low = rng.below(300)};
    const RccState server{.depth = rng.below(2) == 0 ? rng.bits() : rng.below(20000),
                          .active_clients = static_cast<std::uint32_t>(rng.bits() >> (32 + rng.below(32))),
                          .iops = rng.chance(0.1) ? 0 : rng.unit() * (rng.chance(0.1) ? 1e300 : 1000)};
    const unsigned rcc = calc_rcc(p, server, milliseconds(rng.below(200000)), static_cast<unsigned>(rng.bits()));
    ASSERT_GE(rcc, p.rcc_min);
    ASSERT_LE(rcc, p.rcc_max);
  }
}

TEST(CheckRccParameters, NamesTheField) {
  EXPECT_TRUE(check(kDefaults).has_value());
  const auto message = [](const RccParameters& p) {
    const Result<void> result = check(p);
    return result ? std::string() : result.error().message;
  };
  EXPECT_TRUE(message({.rcc_min = 0}).starts_with("rcc_min is 0"));
  EXPECT_EQ(message({.rcc_min = 5, .rcc_max = 4}), "rcc_max is 4; it must not be less than rcc_min, 5");
  EXPECT_TRUE(message({.l_max = seconds(0)}).starts_with("l_max is 0"));
  EXPECT_TRUE(message({.ping = seconds(0)}).starts_with("ping is"));
  EXPECT_TRUE(message({.window = seconds(-1)}).starts_with("window is"));
  EXPECT_TRUE(message({.stl = seconds(-1)}).starts_with("stl is negative"));
  EXPECT_TRUE(message({.l_net = seconds(-1)}).starts_with("l_net is negative"));
  EXPECT_EQ(message({.lambda = 0.5}), "lambda is 0.5; it must be a number of 1 or more");
  EXPECT_FALSE(message({.lambda = std::numeric_limits<double>::quiet_NaN()}).empty());
}

}  // namespace
}  // namespace iez::congestion
