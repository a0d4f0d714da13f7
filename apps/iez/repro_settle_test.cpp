#include "repro_settle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <vector>

#include "repro_sharing.hpp"

namespace iez::cli {
namespace {

using std::chrono::seconds;

std::vector<sim::Sample> samples(int count, const std::function<std::uint64_t(int)>& depth) {
  std::vector<sim::Sample> result;
  for (int i = 1; i <= count; ++i) result.push_back({.at = seconds(i), .depth = depth(i)});
  return result;
}

TEST(SettleTime, OfAConstantQueueIsTheFirstSample) {
  const auto flat = samples(100, [](int) { return 1000; });
  EXPECT_DOUBLE_EQ(settle_time(flat, seconds(10), seconds(100)).value_or(-1), 1);
}

TEST(SettleTime, IsWhereTheQueueEntersTheBandForGood) {
  // 1000 from 50 s on. The average of the five from second i on is within 15 % of the mean of all that follow once at most one
  // of the five is 100: (100 + 4 x 1000) / 5 = 820 is not, so from 50 s on.
  const auto step = samples(200, [](int i) { return i < 50 ? 100 : 1000; });
  EXPECT_DOUBLE_EQ(settle_time(step, seconds(0), seconds(200)).value_or(-1), 50);
  EXPECT_DOUBLE_EQ(settle_time(step, seconds(30), seconds(200)).value_or(-1), 20);
}

TEST(SettleTime, ASpikeStartsItAnew) {
  const auto spike = samples(200, [](int i) { return i >= 100 && i < 105 ? 5000 : 1000; });
  EXPECT_GE(settle_time(spike, seconds(0), seconds(200)).value_or(-1), 100);
}

TEST(SettleTime, OneOddSecondIsAveragedAway) {
  const auto blip = samples(200, [](int i) { return i == 100 ? 1500 : 1000; });
  EXPECT_DOUBLE_EQ(settle_time(blip, seconds(0), seconds(200)).value_or(-1), 1);
}

TEST(SettleTime, NoneWhereItNeverStays) {
  EXPECT_FALSE(settle_time(samples(200, [](int i) { return i / 20 % 2 == 0 ? 100 : 1000; }), seconds(0), seconds(200)));
  EXPECT_FALSE(settle_time(samples(200, [](int i) { return i < 195 ? 100 : 1000; }), seconds(0), seconds(200)));
  EXPECT_FALSE(settle_time({}, seconds(0), seconds(200)));
  EXPECT_FALSE(settle_time(samples(5, [](int) { return 1; }), seconds(0), seconds(5)));
}

TEST(SettleTime, AnEmptyQueueIsSettled) {
  EXPECT_DOUBLE_EQ(settle_time(samples(50, [](int) { return 0; }), seconds(0), seconds(50)).value_or(-1), 1);
}

TEST(JainIndex, KnownValues) {
  EXPECT_DOUBLE_EQ(jain_index(std::array{5.0, 5.0}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::array{5.0, 0.0}), 0.5);
  EXPECT_DOUBLE_EQ(jain_index(std::array{1.0, 3.0}), 0.8);
  EXPECT_DOUBLE_EQ(jain_index(std::array{0.0, 0.0}), 1);
}

TEST(Middle95, LeavesOutAFortiethOnEachSide) {
  std::vector<double> values;
  for (int i = 1000; i >= 0; --i) values.push_back(i);
  const Band band = middle_95(values);
  EXPECT_DOUBLE_EQ(band.low, 25);
  EXPECT_DOUBLE_EQ(band.high, 975);
  EXPECT_DOUBLE_EQ(middle_95({7}).low, 7);
  EXPECT_DOUBLE_EQ(middle_95({7}).high, 7);
}

}  // namespace
}  // namespace iez::cli
