#include "lustre/timestamp.hpp"

#include <gtest/gtest.h>

namespace iez::lustre {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(Timestamp, EverySpellingOfTheSameMoment) {
  const WallTime moment{seconds{1794728866} + nanoseconds{641441423}};
  EXPECT_EQ(parse_timestamp("1794728866.641441423 secs.nsecs"), moment);
  EXPECT_EQ(parse_timestamp("1794728866.641441423 (secs.nsecs)"), moment);
  EXPECT_EQ(parse_timestamp("1794728866.641441423"), moment);
  EXPECT_EQ(parse_timestamp("  1794728866.641441423   secs.nsecs\t"), moment);
  EXPECT_EQ(parse_timestamp("1794728866.641441 secs.usecs"), moment - nanoseconds{423});
  EXPECT_EQ(parse_timestamp("1794728866.641441 (secs.usecs)"), moment - nanoseconds{423});
  EXPECT_EQ(parse_timestamp("1510782606"), WallTime{seconds{1510782606}});
}

TEST(Timestamp, AFractionOfANamedUnitIsACount) {
  EXPECT_EQ(parse_elapsed("7.000000042 secs.nsecs"), seconds{7} + nanoseconds{42});
  EXPECT_EQ(parse_elapsed("7.       42 (secs.nsecs)"), seconds{7} + nanoseconds{42});
  EXPECT_EQ(parse_elapsed("7.42 (secs.usecs)"), seconds{7} + nanoseconds{42'000});
  EXPECT_EQ(parse_elapsed("7.42"), seconds{7} + nanoseconds{420'000'000});
}

TEST(Timestamp, LeadingZeroesCount) {
  EXPECT_EQ(parse_timestamp("1566017453.009677077 secs.nsecs"), (WallTime{seconds{1566017453} + nanoseconds{9677077}}));
}

TEST(Timestamp, Limits) {
  EXPECT_EQ(parse_elapsed("0"), Duration::zero());
  EXPECT_EQ(parse_elapsed("9223372036.854775807"), Duration::max());
  EXPECT_FALSE(parse_elapsed("9223372036.854775808"));
  EXPECT_FALSE(parse_elapsed("9223372037"));
  EXPECT_FALSE(parse_elapsed("18446744073709551616"));
}

TEST(Timestamp, RefusesEverythingElse) {
  for (const std::string_view text : {"",
                                      " ",
                                      ".",
                                      "-1",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "1.2.3",
                                      "1e9",
                                      "0x10",
                                      "1 2",
                                      "1. 5",
                                      "1.5 s",
                                      "1.5 secs",
                                      "1.5 (secs.nsecs",
                                      "1.5 secs.nsecs)",
                                      "1.5secs.nsecs",
                                      "1.5(secs.nsecs)",
                                      "secs.nsecs",
                                      "(secs.nsecs)",
                                      ")",
                                      "1.1234567890",
                                      "1.1234567890 secs.nsecs",
                                      "1.1234567 secs.usecs",
                                      "1. secs.nsecs",
                                      "1.-5 secs.nsecs",
                                      "now",
                                      "5min"}) {
    EXPECT_FALSE(parse_elapsed(text)) << text;
    EXPECT_FALSE(parse_timestamp(text)) << text;
  }
  EXPECT_FALSE(parse_elapsed(std::string_view("1\0", 2)));
}

}  // namespace
}  // namespace iez::lustre
