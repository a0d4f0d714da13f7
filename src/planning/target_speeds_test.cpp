#include "planning/target_speeds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::planning {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;

WrittenFile file_on(std::vector<std::uint32_t> osts, double seconds, std::uint64_t mib = 8, std::uint32_t place = 0,
                    std::uint32_t phase = 0) {
  WrittenFile file{.time = {.begin = 0, .end = static_cast<std::int64_t>(seconds * 1e9), .rank = -1, .bytes = Bytes::mib(mib)},
                   .phase = phase,
                   .place = place,
                   .osts = {}};
  for (const std::uint32_t ost : osts) file.osts.push_back(OstIndex{ost});
  return file;
}

double speed_in(std::span<const SeenTarget> seen, std::uint32_t ost) {
  const auto found = std::ranges::find(seen, OstIndex{ost}, &SeenTarget::ost);
  return found == seen.end() ? -1 : found->speed;
}

TEST(Observe, WhatTookTenTimesAsLong) {
  const auto seen =
      observe(std::vector{file_on({0}, 1), file_on({1}, 1.1, 8, 1), file_on({2}, 10, 8, 2), file_on({3}, 0.9, 8, 3)}, {});
  ASSERT_THAT(seen, SizeIs(4));
  EXPECT_NEAR(speed_in(seen, 2), 0.1, 0.01);
  EXPECT_EQ(seen[2].place, 2U);
  EXPECT_GT(speed_in(seen, 0), 0.9);
}

TEST(Observe, TwoFilesAreEnough) {
  const auto seen = observe(std::vector{file_on({6}, 5), file_on({11}, 0.5)}, {});
  EXPECT_NEAR(speed_in(seen, 6), 0.1, 1e-9);
  EXPECT_EQ(speed_in(seen, 11), 1);
}

TEST(Observe, AFastFileClearsItsTarget) {
  // Both on OST 2: the second one waited for its program.
  const auto seen = observe(std::vector{file_on({0}, 1), file_on({1}, 1), file_on({2}, 1), file_on({2}, 20)}, {});
  EXPECT_EQ(speed_in(seen, 2), 1);
}

TEST(Observe, InOnePhaseFastIsFast) {
  const auto seen =
      observe(std::vector{file_on({0}, 1), file_on({1}, 8), file_on({0}, 1, 8, 0, 1), file_on({1}, 1, 8, 0, 1)}, {});
  EXPECT_EQ(speed_in(seen, 1), 1);
}

TEST(Observe, MoreBytesMayTakeLonger) {
  // OST 0 has ten times the bytes; nobody has as many.
  const auto seen = observe(std::vector{file_on({0}, 10, 80), file_on({1}, 1), file_on({2}, 1)}, {});
  EXPECT_EQ(speed_in(seen, 0), -1);
  EXPECT_EQ(speed_in(seen, 1), 1);
}

TEST(Observe, LittleThatIsWrittenSlowlyIsItsProgram) {
  // A log that is open as long as the others are written to: less was written in the same time.
  EXPECT_EQ(speed_in(observe(std::vector{file_on({0}, 10, 100), file_on({1}, 10, 100), file_on({2}, 10, 4)}, {}), 2), -1);
}

TEST(Observe, StripedFilesDoNotSayWhichOfTheirTargetsIsSlow) {
  const auto seen = observe(std::vector{file_on({0, 1}, 10), file_on({2}, 1), file_on({3}, 1)}, {});
  EXPECT_THAT(seen, SizeIs(2));
  EXPECT_EQ(speed_in(seen, 2), 1);
  EXPECT_THAT(observe(std::vector{file_on({0, 1, 2, 3}, 10)}, {}), IsEmpty());
}

TEST(Observe, TheMemoryOfAClientSaysNothing) {
  EXPECT_THAT(observe(std::vector{file_on({0}, 0.01), file_on({1}, 0.002), file_on({2}, 0.2)}, {}), SizeIs(0));
  EXPECT_THAT(observe(std::vector{file_on({0}, 1, 1), file_on({1}, 9, 1)}, {}), IsEmpty());  // too little
}

TEST(Observe, WhereHalfOfTheBytesWentNobodyKnows) {
  EXPECT_THAT(observe(std::vector{file_on({0}, 1), file_on({1}, 9), file_on({}, 1)}, {}), IsEmpty());
}

TEST(Observe, SuspectsAreNobodysPeers) {
  // Both are slow, and beside each other look alike.
  const std::vector files{file_on({6}, 5), file_on({14}, 5)};
  EXPECT_THAT(observe(files, {}), SizeIs(2));
  EXPECT_THAT(observe(files, std::vector{OstIndex{6}, OstIndex{14}}), IsEmpty());
}

TEST(Observe, ASuspectThatGetsLessIsComparedByRate) {
  // A plan that knows of it gives it a quarter, so that it takes as long as the others.
  const std::vector files{file_on({0}, 2, 16), file_on({1}, 2, 16), file_on({2}, 2, 4)};
  EXPECT_EQ(speed_in(observe(files, {}), 2), -1);
  EXPECT_NEAR(speed_in(observe(files, std::vector{OstIndex{2}}), 2), 0.25, 1e-9);
}

SeenRun run_at(std::int64_t minute, std::vector<SeenTarget> targets, std::int64_t application = 1) {
  return {.ended_ns = minute * kMinute, .application = application, .targets = std::move(targets)};
}
SeenTarget saw(std::uint32_t ost, double speed, std::uint32_t place = 0) {
  return {.ost = OstIndex{ost}, .speed = speed, .place = place};
}

TEST(Judge, OneRunIsEnoughOnlyForTheExtreme) {
  EXPECT_THAT(judge(std::vector{run_at(0, {saw(4, 0.35)})}, kMinute), IsEmpty());
  EXPECT_THAT(judge(std::vector{run_at(0, {saw(4, 0.2)})}, kMinute), SizeIs(1));
  const auto two = judge(std::vector{run_at(0, {saw(4, 0.35)}), run_at(1, {saw(4, 0.3)})}, kMinute);
  ASSERT_THAT(two, SizeIs(1));
  EXPECT_NEAR(two[0].speed, std::sqrt(0.35 * 0.3), 1e-9);
}

TEST(Judge, OneNormalRunClears) {
  EXPECT_THAT(judge(std::vector{run_at(0, {saw(4, 0.1)}), run_at(1, {saw(4, 0.1)}), run_at(2, {saw(4, 0.9)})}, 3 * kMinute),
              IsEmpty());
  // What was seen before does not count any more.
  EXPECT_THAT(judge(std::vector{run_at(0, {saw(4, 0.35)}), run_at(1, {saw(4, 0.9)}), run_at(2, {saw(4, 0.35)})}, 3 * kMinute),
              IsEmpty());
}

TEST(Judge, TheOrderOfRunsIsThatOfTheirTimes) {
  EXPECT_THAT(judge(std::vector{run_at(2, {saw(4, 1)}), run_at(0, {saw(4, 0.1)})}, 3 * kMinute), IsEmpty());
  EXPECT_THAT(judge(std::vector{run_at(2, {saw(4, 0.1)}), run_at(0, {saw(4, 1)})}, 3 * kMinute), SizeIs(1));
}

TEST(Judge, ItIsTriedAgainAfterRunsAndTime) {
  std::vector runs{run_at(0, {saw(4, 0.1)})};
  const auto tried = [&](std::int64_t minute) { return judge(runs, minute * kMinute).at(0).tried; };
  for (std::int64_t minute = 1; minute <= 3; ++minute) runs.push_back(run_at(minute, {}));
  EXPECT_FALSE(tried(60));  // three runs
  runs.push_back(run_at(4, {}));
  EXPECT_FALSE(tried(4));  // four, and not five minutes
  EXPECT_TRUE(tried(5));
  // Found slow: twice as long.
  runs.push_back(run_at(5, {saw(4, 0.1)}));
  for (std::int64_t minute = 6; minute <= 13; ++minute) {
    EXPECT_FALSE(tried(60)) << minute;
    runs.push_back(run_at(minute, {}));
  }
  EXPECT_FALSE(tried(14));
  EXPECT_TRUE(tried(15));
}

TEST(Judge, WhoeverUsesItMeanwhileDoesNotMakeItWaitLonger) {
  std::vector<SeenRun> runs;
  for (std::int64_t minute = 0; minute < 10; ++minute) runs.push_back(run_at(minute, {saw(4, 0.1)}));
  for (std::int64_t minute = 10; minute < 14; ++minute) runs.push_back(run_at(minute, {}));
  const auto slow = judge(runs, 14 * kMinute);
  ASSERT_THAT(slow, SizeIs(1));
  EXPECT_EQ(slow[0].seen, 10U);
  EXPECT_TRUE(slow[0].tried);
}

TEST(Judge, OneIsTriedAtATime) {
  std::vector runs{run_at(1, {saw(9, 0.1)}), run_at(0, {saw(4, 0.1)})};
  for (std::int64_t minute = 2; minute < 8; ++minute) runs.push_back(run_at(minute, {}));
  runs.push_back(run_at(10, {}));
  const auto slow = judge(runs, 20 * kMinute);
  ASSERT_THAT(slow, SizeIs(2));
  EXPECT_EQ(slow[0].ost, OstIndex{4});
  EXPECT_TRUE(slow[0].tried);
  EXPECT_FALSE(slow[1].tried);
}

TEST(Judge, WhatNobodySeesIsForgotten) { EXPECT_THAT(judge(std::vector{run_at(0, {saw(4, 0.1)})}, kForgotten), IsEmpty()); }

TEST(Judge, AFileThatIsAlwaysSlowSaysNothingOfTargets) {
  std::vector<SeenRun> runs;
  for (std::uint32_t i = 0; i < 4; ++i) runs.push_back(run_at(i, {saw(i, 0.1, 7), saw(i + 5, 1, 2)}));
  EXPECT_THAT(judge(runs, 5 * kMinute), IsEmpty());
  // Another application has seen one of them, too.
  runs.push_back(run_at(4, {saw(2, 0.1, 7)}, 2));
  EXPECT_THAT(judge(runs, 5 * kMinute), ElementsAre(testing::Field(&SlowTarget::ost, OstIndex{2})));
  // Where the file was fast once, it was the targets.
  runs.push_back(run_at(4, {saw(11, 1, 7)}));
  EXPECT_THAT(judge(runs, 5 * kMinute), SizeIs(4));
}

std::vector<OstIndex> targets_to(std::uint32_t count) {
  std::vector<OstIndex> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(OstIndex{i});
  return out;
}

TEST(Speeds, AllAlikeIsNothing) {
  const std::vector slow{SlowTarget{.ost = OstIndex{1}, .speed = 0.25}};
  EXPECT_THAT(speeds_of({}, targets_to(3)), IsEmpty());
  EXPECT_THAT(speeds_of(slow, targets_to(3)), ElementsAre(1, 0.25, 1));
  EXPECT_EQ(slow_text(slow, targets_to(3)), "OST 1 works at about 0.25 of the others' speed and gets less");
  EXPECT_THAT(speeds_of(slow, targets_to(2)), IsEmpty());  // half of all
  EXPECT_EQ(slow_text(slow, targets_to(2)), "");
  EXPECT_THAT(speeds_of(slow, std::vector{OstIndex{5}, OstIndex{6}, OstIndex{7}}), IsEmpty());
  EXPECT_THAT(speeds_of(std::vector{SlowTarget{.ost = OstIndex{1}, .speed = 0.25, .tried = true}}, targets_to(3)), IsEmpty());
  EXPECT_EQ(slow_text(std::vector{SlowTarget{.ost = OstIndex{1}, .speed = 0.25}, SlowTarget{.ost = OstIndex{4}, .speed = 0.1}},
                      targets_to(9)),
            "OSTs 1, 4 work at about 0.10 to 0.25 of the others' speed and get less");
}

TEST(Speeds, WhatIsSaidOfOne) {
  EXPECT_EQ(suspicion_text({.ost = OstIndex{4}, .speed = 0.254, .seen = 2}),
            "OST 4 works at about 0.25 of the others' speed, as 2 runs in a row saw it: it gets less");
  EXPECT_EQ(suspicion_text({.ost = OstIndex{4}, .speed = 0.1, .tried = true, .seen = 1}),
            "OST 4 works at about 0.10 of the others' speed, as one run saw it: it is tried again");
}

// A file system that is written to, run after run, by files of one size with noise in their times.
class History {
 public:
  History(std::uint64_t seed, std::uint32_t targets) : rng_(seed), speed_(targets, 1.0) {}

  double& speed(std::uint32_t ost) { return speed_[ost]; }
  std::vector<SlowTarget> slow() const { return judge(runs_, now_); }

  // As a plan would have it: what is slow gets nothing.
  void run(double noise) {
    const std::vector<SlowTarget> slow = judge(runs_, now_);
    std::vector<OstIndex> suspects;
    std::vector<std::uint32_t> used(speed_.size());
    std::iota(used.begin(), used.end(), 0U);
    for (const SlowTarget& one : slow) {
      suspects.push_back(one.ost);
      if (!one.tried) std::erase(used, one.ost.value);
    }
    for (std::size_t i = used.size(); i > 1; --i) std::swap(used[i - 1], used[rng_.below(i)]);
    used.resize(std::min<std::size_t>(used.size(), 2 + rng_.below(used.size())));
    std::vector<WrittenFile> files;
    for (std::uint32_t i = 0; i < used.size(); ++i) {
      const double seconds = (1 + noise * rng_.unit()) / speed_[used[i]];
      files.push_back(file_on({used[i]}, seconds, 8, i));
    }
    now_ += kMinute;
    runs_.push_back({.ended_ns = now_, .application = 1, .targets = observe(files, suspects)});
  }

 private:
  Rng rng_;
  std::vector<double> speed_;
  std::vector<SeenRun> runs_;
  std::int64_t now_ = 0;
};

TEST(History, NoiseMakesNoTargetSlow) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed, 4 + static_cast<std::uint32_t>(seed % 13));
    for (int i = 0; i < 30; ++i) history.run(0.9);
    EXPECT_THAT(history.slow(), IsEmpty());
  }
}

TEST(History, ASlowTargetIsFoundAndOnceMendedUsedAgain) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto targets = static_cast<std::uint32_t>(5 + rng.below(20));
    const auto bad = static_cast<std::uint32_t>(rng.below(targets));
    const double speed = 0.05 + (0.15 * rng.unit());
    History history(seed, targets);
    history.speed(bad) = speed;
    for (int i = 0; i < 40; ++i) history.run(0.3);
    const auto slow = history.slow();
    ASSERT_THAT(slow, SizeIs(1));
    EXPECT_EQ(slow[0].ost, OstIndex{bad});
    EXPECT_GT(slow[0].speed, speed * 0.7);
    EXPECT_LT(slow[0].speed, speed * 1.4);
    history.speed(bad) = 1;
    // It is tried, and seen by a run that happens to use it.
    for (int i = 0; i < 250 && !history.slow().empty(); ++i) history.run(0.3);
    EXPECT_THAT(history.slow(), IsEmpty());
  }
}

}  // namespace
}  // namespace iez::planning
