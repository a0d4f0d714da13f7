#include "lab/extent_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/rng.hpp"

namespace iez::lab {
namespace {

TEST(ExtentSet, JoinsNeighboursAndCountsWhatIsNew) {
  ExtentSet set;
  EXPECT_EQ(set.add(10, 20), 10U);
  EXPECT_EQ(set.add(30, 40), 10U);
  EXPECT_EQ(set.ranges(), 2U);
  EXPECT_EQ(set.add(20, 30), 10U);
  EXPECT_EQ(set.ranges(), 1U);
  EXPECT_EQ(set.add(5, 45), 10U);
  EXPECT_EQ(set.covered(0, 100), 40U);
  EXPECT_EQ(set.remove(15, 20), 5U);
  EXPECT_EQ(set.ranges(), 2U);
  EXPECT_EQ(set.covered(10, 25), 10U);
  EXPECT_EQ(set.add(7, 7), 0U);
  EXPECT_EQ(set.remove(9, 3), 0U);
  EXPECT_EQ(set.total(), 35U);
}

TEST(ExtentSet, AgreesWithAnArrayOfBytes) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    ExtentSet set;
    std::vector<char> bytes(200);
    for (int step = 0; step < 200; ++step) {
      const std::size_t start = rng.below(bytes.size());
      const std::size_t end = rng.between(start, bytes.size());
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(start);
      const auto last = bytes.begin() + static_cast<std::ptrdiff_t>(end);
      const auto there = static_cast<std::uint64_t>(std::count(first, last, 1));
      ASSERT_EQ(set.covered(start, end), there);
      if (rng.chance(0.5)) {
        ASSERT_EQ(set.add(start, end), end - start - there);
        std::fill(first, last, 1);
      } else {
        ASSERT_EQ(set.remove(start, end), there);
        std::fill(first, last, 0);
      }
      ASSERT_EQ(set.total(), static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), 1)));
      std::size_t ranges = 0;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] == 1 && (i == 0 || bytes[i - 1] == 0)) ++ranges;
      }
      ASSERT_EQ(set.ranges(), ranges);
    }
  }
}

}  // namespace
}  // namespace iez::lab
