#include "collective/cached_reads.hpp"

#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace iez::collective {
namespace {

using Range = CachedReads::Range;

std::vector<Range> all_of(const CachedReads& reads) { return {reads.ranges().begin(), reads.ranges().end()}; }

TEST(CachedReads, KnowsTheWayOfWhatWasReadAndNothingElse) {
  CachedReads reads;
  EXPECT_EQ(reads.find(0, 10), std::nullopt);
  reads.add({.begin = 100, .end = 200, .way = Way::collect});
  EXPECT_EQ(reads.find(100, 200), (Range{.begin = 100, .end = 200, .way = Way::collect}));
  EXPECT_EQ(reads.find(150, 160), (Range{.begin = 100, .end = 200, .way = Way::collect}));
  EXPECT_EQ(reads.find(99, 150), std::nullopt);
  EXPECT_EQ(reads.find(150, 201), std::nullopt);
  EXPECT_EQ(reads.find(200, 210), std::nullopt);
  reads.clear();
  EXPECT_EQ(reads.find(100, 200), std::nullopt);
}

TEST(CachedReads, TheLatestWayCountsAndNeighboursOfOneWayAreOne) {
  CachedReads reads;
  reads.add({.begin = 0, .end = 100, .way = Way::pass});
  reads.add({.begin = 100, .end = 200, .way = Way::pass});
  EXPECT_EQ(all_of(reads), (std::vector<Range>{{.begin = 0, .end = 200, .way = Way::pass}}));
  reads.add({.begin = 50, .end = 60, .way = Way::collect});
  EXPECT_EQ(all_of(reads), (std::vector<Range>{{.begin = 0, .end = 50, .way = Way::pass},
                                               {.begin = 50, .end = 60, .way = Way::collect},
                                               {.begin = 60, .end = 200, .way = Way::pass}}));
  EXPECT_EQ(reads.find(40, 70), std::nullopt);
  reads.add({.begin = 40, .end = 70, .way = Way::pass});
  EXPECT_EQ(all_of(reads), (std::vector<Range>{{.begin = 0, .end = 200, .way = Way::pass}}));
  reads.add({.begin = 10, .end = 10, .way = Way::collect});
  EXPECT_EQ(reads.ranges().size(), 1U);
}

TEST(CachedReads, ForgetsTheShortestWhereThereAreTooMany) {
  CachedReads reads;
  for (std::int64_t i = 0; i < 1000; ++i) {
    reads.add({.begin = i * 100, .end = i * 100 + (i == 0 ? 50 : i == 3 ? 1 : 2), .way = Way::collect});
    ASSERT_LE(reads.ranges().size(), CachedReads::kMost);
  }
  EXPECT_EQ(reads.find(300, 301), std::nullopt);
  EXPECT_NE(reads.find(0, 50), std::nullopt);
}

// Each cuts the longest in two.
TEST(CachedReads, RangesWithinOthersAreNotTooManyEither) {
  CachedReads reads;
  reads.add({.begin = 0, .end = 1'000'000, .way = Way::pass});
  for (std::int64_t i = 1; i < 1000; ++i) {
    reads.add({.begin = i * 100, .end = i * 100 + 10, .way = Way::collect});
    ASSERT_LE(reads.ranges().size(), CachedReads::kMost) << "after " << i;
  }
}

// Against one way for each byte.
TEST(CachedReads, IsAsIfEveryByteWereKept) {
  std::mt19937_64 random(20'260'119);
  for (int history = 0; history < 200; ++history) {
    CachedReads reads;
    std::array<int, 80> bytes{};  // 0: not read
    for (int step = 0; step < 30; ++step) {
      const auto begin = static_cast<std::int64_t>(random() % bytes.size());
      const auto end = begin + static_cast<std::int64_t>(random() % (bytes.size() - static_cast<std::size_t>(begin) + 1));
      const Way way = random() % 2 == 0 ? Way::collect : Way::pass;
      reads.add({.begin = begin, .end = end, .way = way});
      for (std::int64_t at = begin; at < end; ++at) bytes.at(static_cast<std::size_t>(at)) = way == Way::collect ? 1 : 2;
      for (std::size_t at = 0; at < bytes.size(); ++at) {
        const auto found = reads.find(static_cast<std::int64_t>(at), static_cast<std::int64_t>(at) + 1);
        ASSERT_EQ(!found ? 0 : found->way == Way::collect ? 1 : 2, bytes.at(at)) << "history " << history << " byte " << at;
      }
    }
  }
}

}  // namespace
}  // namespace iez::collective
