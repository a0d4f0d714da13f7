#include "base/text.hpp"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::text {
namespace {

TEST(Text, TakesWords) {
  std::string_view rest = "  a\tbc  ";
  EXPECT_EQ(take_word(rest), "a");
  EXPECT_EQ(take_word(rest), "bc");
  EXPECT_EQ(take_word(rest), "");
  EXPECT_EQ(take_word(rest), "");
}

TEST(Text, NumbersAreWholeOrNothing) {
  EXPECT_EQ(parse_u64("0"), 0U);
  EXPECT_EQ(parse_u64("18446744073709551615"), 18446744073709551615U);
  for (const std::string_view text : {"", "18446744073709551616", "-1", "+1", " 1", "1 ", "1a", "0x10", "1.0"}) {
    EXPECT_FALSE(parse_u64(text)) << text;
  }
  EXPECT_EQ(parse_double("1.5"), 1.5);
  for (const std::string_view text : {"", "nan", "inf", "1e999", "1.5x"}) EXPECT_FALSE(parse_double(text)) << text;
}

TEST(Text, GlobMatchesTheWholeText) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("dd.*", "dd.1000"));
  EXPECT_TRUE(glob_match("*.10?0", "dd.1000"));
  EXPECT_TRUE(glob_match("a*b*c", "aXXbYYbZZc"));
  EXPECT_FALSE(glob_match("dd", "dd.1000"));
  EXPECT_FALSE(glob_match("", "x"));
  EXPECT_FALSE(glob_match("?", ""));
}

TEST(Text, GlobIsNotExponential) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(5000, 'a')));
}

// Against a plain recursive matcher, on short random strings over a small alphabet.
bool oracle(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') return oracle(pattern.substr(1), text) || (!text.empty() && oracle(pattern, text.substr(1)));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && oracle(pattern.substr(1), text.substr(1));
}

TEST(Text, GlobAgreesWithItsDefinition) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    std::string pattern;
    std::string text;
    for (std::uint64_t n = rng.below(7); n > 0; --n) pattern += "ab*?"[rng.below(4)];
    for (std::uint64_t n = rng.below(8); n > 0; --n) text += "ab"[rng.below(2)];
    ASSERT_EQ(glob_match(pattern, text), oracle(pattern, text)) << pattern << " / " << text;
  }
}

TEST(Text, NearestFindsTheMeantWord) {
  constexpr std::array<std::string_view, 3> kWords{"status", "top", "layout"};
  EXPECT_EQ(nearest("statsu", kWords), "status");
  EXPECT_EQ(nearest("layuot", kWords), "layout");
  EXPECT_FALSE(nearest("completely-else", kWords));
}

TEST(Text, PrintableKeepsTextAndEscapesControls) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable("a\nb"), "a\\x0ab");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control obeyed by terminals";
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(printable("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut off";
}

}  // namespace
}  // namespace iez::text
