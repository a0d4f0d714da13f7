#include "jobs/counter_difference.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::jobs {
namespace {

constexpr std::uint64_t kTop = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kUnsignedTop = std::numeric_limits<std::uint64_t>::max();

TEST(CounterDifference, OneCounter) {
  EXPECT_EQ(difference(5, 5).change, 0U);
  EXPECT_EQ(difference(5, 12).change, 7U);
  EXPECT_EQ(difference(5, 12).course, Course::grew);
  EXPECT_EQ(difference(kTop, 0).change, 1U);
  EXPECT_EQ(difference(kTop - 9, 5).change, 15U);
  EXPECT_EQ(difference(kTop - 9, 5).course, Course::wrapped);
  EXPECT_EQ(difference(kUnsignedTop - 9, 5).change, 15U);
  EXPECT_EQ(difference(kUnsignedTop - 9, 5).course, Course::wrapped);
  EXPECT_EQ(difference(100, 5).change, 5U);
  EXPECT_EQ(difference(100, 5).course, Course::restarted);
  EXPECT_EQ(difference(100, 0).change, 0U);
  // Below the upper half nothing wraps; above the lower half nothing has wrapped.
  EXPECT_EQ(difference(kTop / 2, 5).course, Course::restarted);
  EXPECT_EQ(difference(kTop, kTop - 1).course, Course::restarted);
  EXPECT_EQ(difference(kTop + 1, 5).course, Course::restarted);
}

TEST(CounterDifference, ATableRestartsAsAWhole) {
  const std::vector<std::uint64_t> before{100, 200, 300};
  const std::vector<std::uint64_t> after{150, 10, 400};  // all grew since a restart, one has not caught up
  std::vector<std::uint64_t> change(3);
  EXPECT_EQ(difference(before, after, StartTime::unknown, change), Course::restarted);
  EXPECT_EQ(change, after);
}

TEST(CounterDifference, AMovedStartIsARestartEvenIfAllGrew) {
  const std::vector<std::uint64_t> before{100, 200};
  const std::vector<std::uint64_t> after{150, 210};
  std::vector<std::uint64_t> change(2);
  EXPECT_EQ(difference(before, after, StartTime::moved, change), Course::restarted);
  EXPECT_EQ(change, after);
  EXPECT_EQ(difference(before, after, StartTime::same, change), Course::grew);
  EXPECT_EQ(change, (std::vector<std::uint64_t>{50, 10}));
}

TEST(CounterDifference, ASumThatIsALittleLessDidNothing) {
  const std::vector<std::uint64_t> before{100'000, 200};
  const std::vector<std::uint64_t> after{99'990, 210};
  std::vector<std::uint64_t> change(2);
  EXPECT_EQ(difference(before, after, StartTime::same, change), Course::grew);
  EXPECT_EQ(change, (std::vector<std::uint64_t>{0, 10}));
  EXPECT_EQ(difference(before, after, StartTime::unknown, change), Course::restarted);
  EXPECT_EQ(change, after);
}

TEST(CounterDifference, OneWrapsAndTheOthersGrow) {
  const std::vector<std::uint64_t> before{kTop - 1, 200};
  const std::vector<std::uint64_t> after{8, 210};
  std::vector<std::uint64_t> change(2);
  EXPECT_EQ(difference(before, after, StartTime::unknown, change), Course::wrapped);
  EXPECT_EQ(change, (std::vector<std::uint64_t>{10, 10}));
}

// A table of counters lives through random growth, wraps and restarts, and is read now and then. Without a restart between two
// readings the difference is what was done; with one it is what was done since, never more than what was done at all.
TEST(CounterDifference, AgreesWithALifeOfCounters) {
  constexpr std::uint64_t kSeed = 20261116;
  Rng rng(kSeed);
  for (int life = 0; life < 300; ++life) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", life " << life);
    std::vector<std::uint64_t> shown(3, 0);
    for (auto& value : shown) value = rng.chance(0.2) ? kTop - rng.below(1'000'000) : rng.below(1'000'000'000);
    std::vector<std::uint64_t> before = shown;
    std::vector<std::uint64_t> done(3, 0);
    std::vector<std::uint64_t> since_restart(3, 0);
    bool restarted = false;
    for (int step = 0; step < 60; ++step) {
      if (rng.chance(0.05)) {
        std::ranges::fill(shown, 0);
        std::ranges::fill(since_restart, 0);
        restarted = true;
      }
      for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::uint64_t growth = rng.below(200'000);
        shown[i] = (shown[i] + growth) & kTop;
        done[i] += growth;
        since_restart[i] += growth;
      }
      if (!rng.chance(0.3)) continue;
      std::vector<std::uint64_t> change(3);
      const Course course = difference(before, shown, restarted ? StartTime::moved : StartTime::same, change);
      EXPECT_EQ(course == Course::restarted, restarted);
      EXPECT_EQ(change, restarted ? since_restart : done);
      // Without start times it may only be too low, and only after a restart that nothing betrays.
      difference(before, shown, StartTime::unknown, change);
      if (!restarted) {
        EXPECT_EQ(change, done);
      }
      before = shown;
      std::ranges::fill(done, 0);
      restarted = false;
    }
  }
}

TEST(CounterDifference, CountsKeepTheirPlaces) {
  IoCounts counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = i + 1;
  const IoCounters counters = from_counts(counts);
  EXPECT_EQ(to_counts(counters), counts);
  EXPECT_EQ(counters.data.read_bytes, 1U);
  EXPECT_EQ(counters.metadata.unlink, 12U);
  IoCounters sum = counters;
  add(sum, counters);
  EXPECT_EQ(sum.metadata.open, 10U);
  sum.data.read_bytes = kUnsignedTop;
  add(sum, counters);
  EXPECT_EQ(sum.data.read_bytes, kUnsignedTop);
  EXPECT_TRUE(any(counters));
  EXPECT_FALSE(any({}));
}

}  // namespace
}  // namespace iez::jobs
