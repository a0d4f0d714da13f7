#include "contention/log_choice.hpp"

#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::contention {
namespace {

using testing::HasSubstr;

LogQuestion of_ranks(std::uint64_t ranks) {
  return {.ranks = ranks, .nodes = ranks / 16, .stripes = 160, .flatten_at_close = false};
}

// The table of the source: MB/s through the driver for shared files and through logs, 16 ranks a node.
struct Measured {
  std::uint64_t ranks;
  double shared;
  double logs;
};
constexpr std::array<Measured, 9> kMeasured{{{16, 403.75, 752.96},
                                             {32, 404.71, 727.33},
                                             {64, 857.35, 1776.70},
                                             {128, 1987.51, 3814.62},
                                             {256, 4354.98, 7126.88},
                                             {512, 8985.14, 10723.42},
                                             {1024, 13859.58, 8575.13},
                                             {2048, 16200.16, 5696.41},
                                             {4096, 16917.11, 3069.05}}};

TEST(LogChoice, DecidesAsTheSourceMeasured) {
  for (const Measured& row : kMeasured) {
    SCOPED_TRACE(row.ranks);
    const auto choice = log_pays(kLscratchc, {}, of_ranks(row.ranks));
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->pays, row.logs > row.shared) << choice->reason;
    if (row.ranks < 128) continue;  // where its own figures stand still from 16 to 32 ranks, no law of rates follows
    EXPECT_NEAR(choice->logs.value / 1e6 / row.logs, 1, 0.06);
    EXPECT_NEAR(choice->shared.value / 1e6 / row.shared, 1, 0.15);
  }
}

TEST(LogChoice, LoadsOfTheSource) {
  struct Published {
    std::uint64_t ranks;
    double load;
    double half_digit;  // as it is printed there
  };
  for (const Published& row : {Published{512, 2.4, 0.05}, {688, 3, 0.5}, {2048, 8.53, 0.005}, {4096, 17.07, 0.005}}) {
    const auto choice = log_pays(kLscratchc, {}, of_ranks(row.ranks));
    ASSERT_TRUE(choice);
    EXPECT_NEAR(choice->log_usage.load, row.load, row.half_digit) << row.ranks;
    EXPECT_DOUBLE_EQ(choice->shared_usage.load, 1);
    EXPECT_DOUBLE_EQ(choice->shared_usage.in_use, 160);
  }
}

TEST(LogChoice, OthersCountForBoth) {
  const std::array<std::uint32_t, 4> requests{160, 160, 160, 160};
  const auto others = load_of_requests(480, requests);
  ASSERT_TRUE(others);
  const auto choice = log_pays(kLscratchc, *others, of_ranks(256));
  ASSERT_TRUE(choice);
  EXPECT_NEAR(choice->shared_usage.load, 1.92, 0.005) << "five jobs of 160";
  const auto alone = log_pays(kLscratchc, {}, of_ranks(256));
  ASSERT_TRUE(alone);
  EXPECT_GT(choice->log_usage.load, alone->log_usage.load);
  EXPECT_LT(choice->logs.value, alone->logs.value);
}

// Flattening costs a read and a well-ordered write: logs pay only where the program itself would write badly.
TEST(LogChoice, FlattenedAtClose) {
  LogQuestion question = of_ranks(256);
  question.flatten_at_close = true;
  auto choice = log_pays(kLscratchc, {}, question);
  ASSERT_TRUE(choice);
  EXPECT_FALSE(choice->pays);
  EXPECT_LT(choice->logs, choice->shared);
  const auto later = log_pays(kLscratchc, {}, of_ranks(256));
  ASSERT_TRUE(later);
  EXPECT_NEAR(1 / choice->logs.value, 2 / later->logs.value + 1 / later->shared.value, 1e-15);

  question.shared_share = 0.1;
  choice = log_pays(kLscratchc, {}, question);
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->pays);
  EXPECT_THAT(choice->reason, HasSubstr("flattened at close"));
  EXPECT_THAT(choice->reason, HasSubstr("of whose speed the pattern leaves 10 %"));
}

TEST(LogChoice, SaysWhy) {
  const auto few = log_pays(kLscratchc, {}, of_ranks(512));
  const auto many = log_pays(kLscratchc, {}, of_ranks(4096));
  ASSERT_TRUE(few && many);
  EXPECT_THAT(few->reason, HasSubstr("logs of 512 ranks put 2.42 writers on each of 423 OSTs; "));
  EXPECT_THAT(many->reason, HasSubstr("put 17.07 writers on each of 480 OSTs, and 3 is where they begin to hinder each other; "));
  EXPECT_THAT(many->reason, HasSubstr("as one file of 160 stripes"));
}

TEST(LogChoice, WrongQuestions) {
  for (const double share : {0.0, -1.0, 1.01, std::nan("")}) {
    LogQuestion question = of_ranks(16);
    question.shared_share = share;
    const auto choice = log_pays(kLscratchc, {}, question);
    ASSERT_FALSE(choice);
    EXPECT_THAT(choice.error().message, HasSubstr("shared_share"));
  }
  LogQuestion question = of_ranks(16);
  question.stripes = 161;
  EXPECT_FALSE(log_pays(kLscratchc, {}, question)) << "more than a file may have";
  question = of_ranks(16);
  question.nodes = 0;
  EXPECT_FALSE(log_pays(kLscratchc, {}, question));
}

TEST(LogChoice, OfAMachineOfWhichOnlyTheOstsAreKnown) {
  EXPECT_EQ(machine_like_lscratchc(480).servers, kLscratchc.servers);
  for (const std::uint32_t osts : {1U, 4U, 14U, 15U, 480U, 10'000U}) {
    const Machine machine = machine_like_lscratchc(osts);
    EXPECT_TRUE(validate(machine)) << osts;
    EXPECT_GE(machine.max_stripes, osts);
    EXPECT_TRUE(log_pays(machine, {}, {.ranks = 64, .nodes = 4, .stripes = osts, .flatten_at_close = false})) << osts;
  }
}

}  // namespace
}  // namespace iez::contention
