#include "rank_log/pattern.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::rank_log {
namespace {

std::vector<std::uint64_t> bytes_in_order(const Pattern& p) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < p.count; ++i) {
    for (std::uint64_t j = 0; j < p.block; ++j) all.push_back(p.offset + i * p.stride + j);
  }
  return all;
}

Pattern random_pattern(Rng& rng) {
  Pattern p{.offset = rng.below(20), .block = rng.between(1, 5), .count = rng.between(1, 5)};
  p.stride = p.block + rng.below(4);
  return p;
}

TEST(Pattern, Sound) {
  const std::uint64_t most = kMaxOffset;
  EXPECT_TRUE(is_sound({.offset = 0, .block = 1}));
  EXPECT_TRUE(is_sound({.offset = most - 1, .block = 1}));
  EXPECT_TRUE(is_sound({.offset = 0, .block = most}));
  EXPECT_TRUE(is_sound({.offset = 7, .block = 1, .stride = 1, .count = most - 7}));
  EXPECT_TRUE(is_sound({.offset = 0, .block = 4, .stride = 0, .count = 1})) << "the stride of one block has no meaning";
  EXPECT_FALSE(is_sound({.offset = 0, .block = 0}));
  EXPECT_FALSE(is_sound({.offset = 0, .block = 1, .count = 0}));
  EXPECT_FALSE(is_sound({.offset = most, .block = 1}));
  EXPECT_FALSE(is_sound({.offset = 1, .block = most}));
  EXPECT_FALSE(is_sound({.offset = 0, .block = 4, .stride = 3, .count = 2})) << "overlaps itself";
  EXPECT_FALSE(is_sound({.offset = 0, .block = 1, .stride = most, .count = 3}));
  EXPECT_FALSE(is_sound({.offset = 0, .block = 1, .stride = std::uint64_t{1} << 63U, .count = 3})) << "wraps around to 0";
  EXPECT_FALSE(is_sound({.offset = 8, .block = 1, .stride = 1, .count = most - 7}));
  EXPECT_FALSE(is_sound({.offset = ~std::uint64_t{0}, .block = ~std::uint64_t{0}, .stride = ~std::uint64_t{0}, .count = 2}));
}

TEST(Pattern, NextByteAndPartAgreeWithEveryByte) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Pattern p = random_pattern(rng);
    const auto order = bytes_in_order(p);
    EXPECT_EQ(end_of(p), order.back() + 1);
    EXPECT_EQ(bytes_of(p), order.size());
    const std::set<std::uint64_t> all(order.begin(), order.end());
    for (std::uint64_t begin = 0; begin < 70; ++begin) {
      const auto next = all.lower_bound(begin);
      EXPECT_EQ(next_byte(p, begin), next == all.end() ? kNowhere : *next);
      for (std::uint64_t end = begin + 1; end < 72; end += 3) {
        std::vector<std::uint64_t> wanted;  // places in the data
        for (std::uint64_t i = 0; i < order.size(); ++i) {
          if (order[i] >= begin && order[i] < end) wanted.push_back(i);
        }
        const Part part = part_of(p, begin, end);
        ASSERT_EQ(part.size, wanted.size());
        if (wanted.empty()) continue;
        EXPECT_EQ(part.data, wanted.front());
        EXPECT_EQ(part.data + part.size - 1, wanted.back());
        EXPECT_EQ(part.first, wanted.front() / p.block);
        EXPECT_EQ(part.last, wanted.back() / p.block);
        EXPECT_EQ(part.skip, wanted.front() % p.block);
      }
    }
  }
}

TEST(Pattern, PartAtTheEndOfAllNumbers) {
  const Pattern p{.offset = kMaxOffset - 3, .block = 1, .stride = 2, .count = 2};
  ASSERT_TRUE(is_sound(p));
  EXPECT_EQ(part_of(p, 0, kMaxOffset).size, 2U);
  EXPECT_EQ(part_of(p, kMaxOffset - 1, kMaxOffset).data, 1U);
  EXPECT_EQ(next_byte(p, kMaxOffset), kNowhere);
}

TEST(Pattern, JoinKeepsBytesAndTheirOrder) {
  std::size_t joined = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Pattern a = random_pattern(rng);
    Pattern b = random_pattern(rng);
    if (rng.chance(0.7)) {  // nearly a continuation
      b.block = a.block;
      b.stride = rng.chance(0.8) ? a.stride : a.stride + 1;
      b.offset = a.offset + a.count * a.stride;
    }
    auto expected = bytes_in_order(a);
    const auto more = bytes_in_order(b);
    expected.insert(expected.end(), more.begin(), more.end());
    if (!join(a, b)) continue;
    ++joined;
    EXPECT_TRUE(is_sound(a));
    EXPECT_EQ(bytes_in_order(a), expected);
  }
  EXPECT_GT(joined, 5000U);
}

}  // namespace
}  // namespace iez::rank_log
