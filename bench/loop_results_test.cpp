#include "loop_results.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LoopResults, PhasesOfSeveralLinesAreOneAfterTheOther) {
  const auto seconds =
      phase_seconds("talk\n{\"phases\": [{\"total_s\": 1.5}, {\"total_s\": 2}]}\n{\"x\": 1}\n{\"phases\": [{\"total_s\": 3}]}\n");
  ASSERT_TRUE(seconds) << seconds.error().message;
  EXPECT_THAT(*seconds, ElementsAre(1.5, 2, 3));
  ASSERT_FALSE(phase_seconds("{\"phases\": []}\n"));
  EXPECT_THAT(phase_seconds("no such file\n").error().message, HasSubstr("no such file"));
}

TEST(LoopResults, OfProgramsAtOnceTheSlowestCountsInEachPhase) {
  EXPECT_DOUBLE_EQ(seconds_together(std::vector<std::vector<double>>{{1, 5}, {2, 3}}), 7);
  EXPECT_DOUBLE_EQ(seconds_together(std::vector<std::vector<double>>{{1, 5, 4}, {2}}), 11);
  EXPECT_DOUBLE_EQ(seconds_together({}), 0);
}

TEST(LoopResults, WhatIezSays) {
  const auto words = [](std::string_view talk) {
    const auto said = run_said(talk);
    return said ? in_words(*said) : "nothing";
  };
  EXPECT_EQ(words(R"(oops
{"application": "a", "mode": "place", "why": "there is a plan", "placed": 12, "created": 14, "files": 15}
)"),
            "placed 12 of 14");
  EXPECT_EQ(words(R"({"application": "a", "mode": "place", "placed": 0, "files": 15})"), "placed 0 of 15");
  EXPECT_EQ(words(R"({"application": "a", "mode": "learn", "files": 15, "why": "the default is as good"})"),
            "the default is as good");
  EXPECT_EQ(words(R"({"application": "a", "mode": "learn", "why": null})"), "learn");
  EXPECT_EQ(words("nothing\n{\"x\": 1}\n"), "nothing");
}

TEST(LoopResults, WordsAreCounted) {
  EXPECT_EQ(summed_up(std::vector<std::string>{"learnt", "placed 1 of 1", "placed 1 of 1"}), "placed 1 of 1 (2), learnt (1)");
  EXPECT_EQ(summed_up({}), "");
}

TEST(LoopResults, RatioIsOfMedians) {
  const std::vector<double> by_default{2, 9, 2.5};
  const std::vector<double> placed{1, 1.25, 8};
  const ComparedCase compared{.by_default = spread_of(by_default), .placed = spread_of(placed)};
  EXPECT_DOUBLE_EQ(compared.by_default.median, 2.5);
  EXPECT_DOUBLE_EQ(compared.by_default.least, 2);
  EXPECT_DOUBLE_EQ(compared.by_default.most, 9);
  EXPECT_EQ(compared.placed.runs, 3U);
  EXPECT_DOUBLE_EQ(ratio_of(compared), 2);
}

TEST(LoopResults, ErrorFallsWithTheScatterAndTheNumberOfRuns) {
  const std::vector<double> exact{2, 2, 2};
  EXPECT_DOUBLE_EQ(error_of_ratio(exact, exact), 0);
  const std::vector<double> few{1, 1.2};
  const std::vector<double> many{1, 1.2, 1, 1.2, 1, 1.2, 1, 1.2};
  // Logarithms differ by ln 1.2 from each other: variance (ln 1.2)^2 / 2 of two, over 2.
  EXPECT_NEAR(error_of_ratio(few, exact), 1.2533 * std::log(1.2) / 2, 1e-9);
  EXPECT_LT(error_of_ratio(many, exact), error_of_ratio(few, exact) / 1.5);
}

TEST(LoopResults, SettledWhenPreciseOrClearEitherWay) {
  const std::vector<double> even{1, 1, 1.001};
  EXPECT_TRUE(is_settled(even, even, 0.97));
  const std::vector<double> scattered{1, 1.1, 0.9, 1.05, 0.95};
  EXPECT_FALSE(is_settled(scattered, scattered, 0.97));
  const std::vector<double> fast{0.5, 0.55, 0.45, 0.52, 0.48};
  EXPECT_TRUE(is_settled(scattered, fast, 0.97));
  EXPECT_TRUE(is_settled(fast, scattered, 0.97));  // clearly slower settles it as well
  EXPECT_TRUE(is_settled(std::vector{0.96, 0.961, 0.959}, 0.97));
  EXPECT_FALSE(is_settled(std::vector{0.85, 0.95, 1.05}, 0.97));
  EXPECT_TRUE(is_settled(std::vector{1.3, 1.5, 1.7}, 0.97));
}

TEST(LoopResults, BackWhenTheRunsThatFollowAreAsFast) {
  const std::vector<double> by_default{1, 1, 9};
  EXPECT_EQ(runs_until_back(by_default, std::vector<double>{1, 1, 1, 1}, 0.9), 0U);
  EXPECT_EQ(runs_until_back(by_default, std::vector<double>{5, 5, 1.1, 1, 5, 1}, 0.9), 2U);
  EXPECT_EQ(runs_until_back(by_default, std::vector<double>{1, 5, 5, 1}, 0.9), 3U);  // once is not enough
  EXPECT_EQ(runs_until_back(by_default, std::vector<double>{5, 5, 5}, 0.9), std::nullopt);
}

}  // namespace
}  // namespace iez::bench
