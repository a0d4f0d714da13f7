#include "stripe_words.hpp"

#include <gtest/gtest.h>

namespace iez::cli {
namespace {

using Counts = std::vector<std::uint32_t>;

TEST(Requests, KeepTheirOrder) {
  EXPECT_EQ(*parse_requests("--stripes", "160,64, 64"), (Counts{160, 64, 64}));
  EXPECT_EQ(*parse_requests("--stripes", "1"), Counts{1});
}

TEST(Requests, RefuseWhatIsNoCount) {
  for (const char* const bad : {"", "0", "-1", "160,", ",160", "1..4", "x", "4294967296", "1.5"}) {
    SCOPED_TRACE(bad);
    const auto parsed = parse_requests("--stripes", bad);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Errc::invalid_argument);
    EXPECT_TRUE(parsed.error().message.starts_with("--stripes: found '")) << parsed.error().message;
  }
}

TEST(Counts, DoubleAndEndWithTheLast) {
  EXPECT_EQ(*parse_counts("--counts", "1,2,4..160"), (Counts{1, 2, 4, 8, 16, 32, 64, 128, 160}));
  EXPECT_EQ(*parse_counts("--counts", "3..24"), (Counts{3, 6, 12, 24}));
  EXPECT_EQ(*parse_counts("--counts", "5..5"), Counts{5});
  EXPECT_EQ(*parse_counts("--counts", "8,2,8,1..2"), (Counts{1, 2, 8}));
  EXPECT_EQ(parse_counts("--counts", "1..4294967295")->back(), 4294967295U);
}

TEST(Counts, RefuseWhatIsNoRange) {
  for (const char* const bad : {"4..2", "..4", "4..", "1...4", "0..4", "4..x"}) {
    SCOPED_TRACE(bad);
    EXPECT_FALSE(parse_counts("--counts", bad));
  }
  EXPECT_EQ(parse_counts("--counts", "4..2").error().message,
            "--counts: found '4..2', which ends before it starts; expected FIRST..LAST");
}

TEST(Sizes, WithUnits) {
  EXPECT_EQ(*parse_sizes("--sizes", "1M..8M"), (std::vector{Bytes::mib(1), Bytes::mib(2), Bytes::mib(4), Bytes::mib(8)}));
  EXPECT_EQ(*parse_sizes("--sizes", "64K,1MiB"), (std::vector{Bytes::kib(64), Bytes::mib(1)}));
  EXPECT_EQ(parse_sizes("--sizes", "large").error().message, "--sizes: found 'large'; expected a size such as 4M");
  EXPECT_EQ(parse_sizes("--sizes", "1..7E")->size(), 64U);  // 1, 2, ..., 2^62, and the last
}

TEST(Share, PercentOrFraction) {
  EXPECT_DOUBLE_EQ(*parse_share("--accept", "10%"), 0.1);
  EXPECT_DOUBLE_EQ(*parse_share("--accept", "10 %"), 0.1);
  EXPECT_DOUBLE_EQ(*parse_share("--accept", "0.25"), 0.25);
  for (const char* const bad : {"100%", "1", "-0.1", "ten", "", "10", "nan"}) EXPECT_FALSE(parse_share("--accept", bad)) << bad;
}

TEST(Words, ForLfs) {
  EXPECT_EQ(size_word(Bytes::mib(128)), "128M");
  EXPECT_EQ(size_word(Bytes::kib(64)), "64K");
  EXPECT_EQ(size_word(Bytes::gib(1)), "1024M");
  EXPECT_EQ(size_word({1000}), "1000");
  EXPECT_EQ(setstripe_line(160, Bytes::mib(128), "/lustre/my dir"), "lfs setstripe -c 160 -S 128M '/lustre/my dir'");
}

TEST(Words, ForAShell) {
  EXPECT_EQ(shell_word("/a/b-c_1.x"), "/a/b-c_1.x");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
}

}  // namespace
}  // namespace iez::cli
