#include "tune_session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tune_state.hpp"

namespace iez::cli {
namespace {

using contention::Setting;

contention::TuneSpace space() { return contention::doubling_space(160, Bytes::mib(1), Bytes::mib(256)); }

TuneSession session(TuneSession::Options options, bool sweep = false) {
  const contention::TunerOptions tuner{.strategy = sweep ? contention::TuneStrategy::sweep : contention::TuneStrategy::search,
                                       .budget = options.budget};
  return {*contention::Tuner::make(space(), tuner), options};
}

// The best at 64 stripes of 16 MiB.
double speed(const Setting& setting) {
  const double x = std::log2(setting.stripes / 64.0);
  const double y = std::log2(static_cast<double>(setting.stripe_size.count) / (16 << 20));
  return 1e9 * std::exp(-0.1 * (x * x + y * y));
}

TuneRecord record(const Setting& setting, double value, MetricUnit unit = MetricUnit::plain) {
  return {.setting = setting, .result = Measured{.value = value, .unit = unit}, .reason = "", .seconds = 1};
}

std::vector<TuneRecord> play(TuneSession& tuning, bool inverse, std::size_t at_most = 1000) {
  std::vector<TuneRecord> all;
  while (all.size() < at_most) {
    const auto setting = tuning.next();
    if (!setting) break;
    all.push_back(record(*setting, inverse ? 1 / speed(*setting) : speed(*setting)));
    EXPECT_TRUE(tuning.tell(all.back()));
  }
  return all;
}

TEST(TuneSession, TheSmallestWithGoalMin) {
  auto largest = session({.goal = TuneGoal::max});
  auto smallest = session({.goal = TuneGoal::min});
  const auto first = play(largest, false);
  const auto second = play(smallest, true);
  EXPECT_EQ(first.size(), second.size());
  const Setting best{.stripes = 64, .stripe_size = Bytes::mib(16)};
  EXPECT_EQ(largest.result().best->setting, best);
  EXPECT_EQ(smallest.result().best->setting, best);
  EXPECT_NEAR(shown_value(smallest.result().best->mean, TuneGoal::min, MetricUnit::plain).value, 1e-9, 1e-15);
}

TEST(TuneSession, RepeatsEachSetting) {
  auto tuning = session({.repeat = 3});
  const auto all = play(tuning, false);
  ASSERT_EQ(all.size() % 3, 0U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].setting, all[i - i % 3].setting) << i;
  for (const contention::Trial& trial : tuning.result().trials) EXPECT_EQ(trial.runs, 3U);
}

TEST(TuneSession, AFailedRunIsNotRepeated) {
  auto tuning = session({.repeat = 3});
  const auto first = *tuning.next();
  const auto told = tuning.tell({.setting = first, .result = std::nullopt, .reason = "exit status 1", .seconds = 0});
  ASSERT_TRUE(told);
  EXPECT_NE(*tuning.next(), first);
  EXPECT_TRUE(tuning.result().trials[0].failed);
}

TEST(TuneSession, KeepsToItsBudget) {
  auto tuning = session({.repeat = 3, .budget = 7});
  EXPECT_EQ(play(tuning, false).size(), 7U);
  EXPECT_EQ(tuning.runs(), 7U);
}

TEST(TuneSession, RefusesWhatCannotBeCompared) {
  auto tuning = session({.goal = TuneGoal::min});
  auto told = tuning.tell(record(*tuning.next(), 0));
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->result);
  EXPECT_EQ(told->reason, "the result is 0, which cannot be compared with --goal min");
  EXPECT_TRUE(tuning.tell(record(*tuning.next(), 1, MetricUnit::plain))->result);
  told = tuning.tell(record(*tuning.next(), 1, MetricUnit::bytes_per_second));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->reason, "the result is in bytes_per_second, earlier ones in plain");
  EXPECT_FALSE(tuning.tell(record({.stripes = 7, .stripe_size = {1}}, 1)));
}

// Stopped after any run and continued from the records, the search asks the same.
TEST(TuneSession, ContinuesWhereItWas) {
  for (const std::uint64_t repeat : {1U, 2U}) {
    auto whole = session({.repeat = repeat});
    const auto all = play(whole, false);
    for (std::size_t stopped = 0; stopped <= all.size(); ++stopped) {
      SCOPED_TRACE(stopped);
      auto again = session({.repeat = repeat});
      for (std::size_t i = 0; i < stopped; ++i) {
        (void)again.next();
        ASSERT_TRUE(again.tell(all[i]));
      }
      const auto rest = play(again, false);
      ASSERT_EQ(stopped + rest.size(), all.size());
      for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].setting, all[stopped + i].setting);
      EXPECT_EQ(again.result().best, whole.result().best);
    }
  }
}

TEST(Substitute, Words) {
  const Setting setting{.stripes = 4, .stripe_size = Bytes::mib(16)};
  EXPECT_EQ(substitute({"run", "-c{stripe_count}", "{stripe_size}:{stripe_size_mib}:{stripe_count}{stripe_count}", "{other}", ""},
                       setting),
            (std::vector<std::string>{"run", "-c4", "16777216:16:44", "{other}", ""}));
  EXPECT_EQ(substitute({"{stripe_size_mib}"}, {.stripes = 1, .stripe_size = Bytes::kib(64)}), std::vector<std::string>{"0.0625"});
}

TEST(ParseSetting, CountAndSize) {
  EXPECT_EQ(*parse_setting("--start", "2x1M"), (Setting{.stripes = 2, .stripe_size = Bytes::mib(1)}));
  for (const char* const bad : {"2", "x", "2x", "x1M", "0x1M", "2x1M,2M", "2,3x1M", "2x1M..4M"}) {
    EXPECT_FALSE(parse_setting("--start", bad)) << bad;
  }
}

TuneHeader header() {
  return {.space = space(), .measure = "rate", .goal = TuneGoal::max, .directory = "", .command = {"ior", "-b", "\xff"}};
}

TEST(TuneState, RoundTrip) {
  const std::string text = state_line(header()) + state_line(record({.stripes = 2, .stripe_size = Bytes::mib(1)}, 3.13e8)) +
                           state_line(TuneRecord{.setting = {.stripes = 4, .stripe_size = Bytes::mib(2)},
                                                 .result = std::nullopt,
                                                 .reason = "exit status 1",
                                                 .seconds = 2.5});
  const auto history = parse_state(text, header(), "f");
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_TRUE(history->begun);
  EXPECT_EQ(history->whole_bytes, text.size());
  ASSERT_EQ(history->records.size(), 2U);
  EXPECT_EQ(history->records[0].result->value, 3.13e8);
  EXPECT_FALSE(history->records[1].result);
  EXPECT_EQ(history->records[1].reason, "exit status 1");
  EXPECT_EQ(history->records[1].seconds, 2.5);
}

// Cut anywhere, as a kill may: never an error, and what is whole is kept.
TEST(TuneState, CutAnywhere) {
  const std::string first = state_line(header());
  const std::string text = first + state_line(record({.stripes = 2, .stripe_size = Bytes::mib(1)}, 1)) +
                           state_line(record({.stripes = 4, .stripe_size = Bytes::mib(1)}, 2));
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto history = parse_state(text.substr(0, size), header(), "f");
    ASSERT_TRUE(history) << size << ": " << history.error().message;
    EXPECT_EQ(history->begun, size >= first.size());
    EXPECT_LE(history->whole_bytes, size);
    const std::string cut = text.substr(0, size);
    EXPECT_EQ(history->records.size() + (history->begun ? 1 : 0), static_cast<std::size_t>(std::ranges::count(cut, '\n')));
  }
}

TEST(TuneState, NamesWhatDiffers) {
  auto other = header();
  other.space.counts = {1, 2};
  EXPECT_EQ(
      parse_state(state_line(other), header(), "f").error().message,
      "f: made with counts '[1,2]', now it is '[1,2,4,8,16,32,48,64,96,128,160]'; continue with the same, or name another file "
      "with --state");
  other = header();
  other.goal = TuneGoal::min;
  EXPECT_NE(parse_state(state_line(other), header(), "f").error().message.find("goal"), std::string::npos);
  other = header();
  other.command = {"dd"};
  EXPECT_NE(parse_state(state_line(other), header(), "f").error().message.find("command"), std::string::npos);
}

TEST(TuneState, OtherFilesAreLeftAlone) {
  EXPECT_NE(parse_state("my notes", header(), "f").error().message.find("f: line 1: expected"), std::string::npos);
  EXPECT_NE(parse_state("{}\n", header(), "f").error().message.find("f: line 1: expected"), std::string::npos);
  for (const char* const bad : {"x\n", "{}\n",
                                R"({"stripe_count":-1,"stripe_size":1,"value":1})"
                                "\n",
                                R"({"stripe_count":1,"stripe_size":65536,"value":1,"unit":"miles"})"
                                "\n",
                                R"({"stripe_count":1,"stripe_size":65536,"value":-1,"unit":"plain"})"
                                "\n"}) {
    EXPECT_NE(parse_state(state_line(header()) + bad, header(), "f").error().message.find("f: line 2: found"), std::string::npos)
        << bad;
  }
}

}  // namespace
}  // namespace iez::cli
