#include "jobs/row_text.hpp"

#include <set>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::jobs {
namespace {

TEST(RowText, WhatIsTextStaysAsItIs) {
  for (const std::string_view text :
       {"", "12345", "it's \"quoted\"", "two\nlines", "\xF0\x9F\x9A\x80 rocket", "back\\slash", "a\tb"}) {
    EXPECT_TRUE(is_storable(text)) << text;
    EXPECT_EQ(storable(text), text);
  }
}

TEST(RowText, OtherBytesAreWrittenInDigits) {
  EXPECT_EQ(storable("a\xFF"), "a\\xff");
  EXPECT_EQ(storable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(storable("\\xff"), "\\x5cxff");                // looks like one that was escaped
  EXPECT_EQ(storable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(storable("\xC0\x80"), "\\xc0\\x80");           // longer than needed
  EXPECT_EQ(storable("\xF5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

TEST(RowText, NoTwoBecomeTheSameAndAllComeBack) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  const std::string alphabet("ab\\x5c\xFF\xC3\xA9\0\x80", 11);
  std::set<std::string> before;
  std::set<std::string> after;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(7); n > 0; --n) text += alphabet[rng.below(alphabet.size())];
    const std::string kept = storable(text);
    EXPECT_TRUE(kept.find('\0') == std::string::npos);
    EXPECT_EQ(from_storable(kept), text);
    before.insert(text);
    after.insert(kept);
  }
  EXPECT_EQ(before.size(), after.size());
}

}  // namespace
}  // namespace iez::jobs
