#include "planning/phases.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::planning {
namespace {

TEST(Phases, AGapEndsAPhase) {
  const SeenPhases seen = find_phases(std::vector<FileTime>{{0, 10, 0}, {1, 11, 1}, {20, 30, 0}, {21, 31, 1}});
  EXPECT_EQ(seen.of_file, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  ASSERT_EQ(seen.phases.size(), 2U);
  EXPECT_EQ(seen.phases[1].begin, 20);
  EXPECT_EQ(seen.phases[1].end, 31);
  EXPECT_EQ(seen.phases[1].files, 2U);
}

TEST(Phases, ARankThatGoesOnIsAStepFurther) {
  // No barrier: rank 0 is at its second file while rank 1 is still at its first.
  const SeenPhases seen = find_phases(std::vector<FileTime>{{0, 10, 0}, {0, 30, 1}, {10, 20, 0}, {30, 60, 1}});
  EXPECT_EQ(seen.of_file, (std::vector<std::uint32_t>{0, 0, 1, 2}));
}

TEST(Phases, FilesThatOneRankHasOpenTogetherAreOnePhase) {
  const SeenPhases seen = find_phases(std::vector<FileTime>{{0, 100, 0}, {5, 95, 0}, {10, 90, 0}});
  EXPECT_EQ(seen.phases.size(), 1U);
}

TEST(Phases, OneProcessWritesOneFileAfterTheOther) {
  const SeenPhases seen = find_phases(std::vector<FileTime>{{0, 10, -1}, {10, 20, -1}, {20, 30, -1}});
  EXPECT_EQ(seen.of_file, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(Phases, NothingIsNoPhase) { EXPECT_TRUE(find_phases({}).phases.empty()); }

// Steps with barriers, ranks that are early and late: each step is one phase, with ranks known and without.
TEST(Phases, StepsWithBarriers) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto ranks = static_cast<std::int32_t>(1 + rng.below(40));
    const std::uint64_t steps = 1 + rng.below(20);
    const bool known = rng.chance(0.5);
    std::vector<FileTime> files;
    std::vector<std::uint32_t> expected;
    std::int64_t now = 0;
    for (std::uint32_t step = 0; step < steps; ++step) {
      std::int64_t last = now;
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const auto begin = now + static_cast<std::int64_t>(rng.below(20));
        const auto end = begin + 30 + static_cast<std::int64_t>(rng.below(100));
        files.push_back({begin, end, known ? rank : -1});
        expected.push_back(step);
        last = std::max(last, end);
      }
      now = last + static_cast<std::int64_t>(rng.below(30));
    }
    EXPECT_EQ(find_phases(files).of_file, expected);
  }
}

// Without barriers, ranks as far as half a step apart.
TEST(Phases, StepsWithoutBarriers) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto ranks = static_cast<std::int32_t>(2 + rng.below(30));
    std::vector<FileTime> files;
    std::vector<std::uint32_t> expected;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      auto now = static_cast<std::int64_t>(rng.below(40));
      for (std::uint32_t step = 0; step < 5; ++step) {
        files.push_back({now, now + 100, rank});
        expected.push_back(step);
        now += 100;
      }
    }
    EXPECT_EQ(find_phases(files).of_file, expected);
  }
}

}  // namespace
}  // namespace iez::planning
