#include "config/words.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::config {
namespace {

TEST(Words, ShownIsSafeAndShort) {
  EXPECT_EQ(shown("ckpt"), "'ckpt'");
  EXPECT_EQ(shown("a\x1b[31m\n"), "'a\\x1b[31m\\x0a'");
  EXPECT_EQ(shown(std::string(60, 'x')), "'" + std::string(60, 'x') + "'");
  EXPECT_EQ(shown(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
  EXPECT_EQ(shown(std::string(59, 'x') + "\xC3\xA4" + "y"), "'" + std::string(59, 'x') + "...'") << "cut before a character";
  EXPECT_EQ(shown(std::string(100, '\x80')).find("..."), 1 + 4 * 56U) << "bytes that are no text are cut as well";
}

TEST(Words, SuggestionsAreNearOrNone) {
  constexpr std::array<std::string_view, 2> kKnown{"count", "memory"};
  EXPECT_EQ(suggestion("cuont", kKnown), "; did you mean 'count'?");
  EXPECT_EQ(suggestion("bandwidth", kKnown), "");
  EXPECT_EQ(suggestion(std::string(1'000'000, 'm'), kKnown), "");
}

TEST(Words, PercentsAreFromZeroToAHundred) {
  EXPECT_EQ(parse_percent("35 %"), 0.35);
  EXPECT_EQ(parse_percent(" 12.5%"), 0.125);
  EXPECT_EQ(parse_percent("100%"), 1.0);
  for (const auto* text : {"", "%", "35", "-1 %", "100.1 %", "nan %", "inf%", "3 5 %", "35 %%"}) {
    EXPECT_EQ(parse_percent(text), std::nullopt) << text;
  }
}

TEST(Words, RangesInTheOrderWritten) {
  using Ranges = std::vector<IndexRange>;
  EXPECT_EQ(parse_ranges("7,0-3"), (Ranges{{7, 7}, {0, 3}}));
  EXPECT_EQ(parse_ranges(" 1 - 2 , 5 "), (Ranges{{1, 2}, {5, 5}}));
  EXPECT_EQ(parse_ranges(""), Ranges{});
  EXPECT_EQ(parse_ranges("0-18446744073709551615"), (Ranges{{0, ~std::uint64_t{0}}}));
  for (const auto* text : {",", "1,", ",1", "a", "1-", "-1", "3-1", "1-2-3", "18446744073709551616", "1;2"}) {
    EXPECT_EQ(parse_ranges(text), std::nullopt) << text;
  }
}

// The definition, by decoding: shortest form, no surrogate, at most U+10FFFF.
bool decodes(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80              ? 1
                               : (lead & 0xE0U) == 0xC0 ? 2
                               : (lead & 0xF0U) == 0xE0 ? 3
                               : (lead & 0xF8U) == 0xF0 ? 4
                                                        : 0;
    if (length == 0) return false;
    unsigned code = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0U) != 0x80) return false;
      code = code << 6U | (byte(i + k) & 0x3FU);
    }
    constexpr std::array<unsigned, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    i += length;
  }
  return true;
}

TEST(Words, Utf8AgreesWithTheDefinition) {
  constexpr std::uint64_t kSeed = 20260301;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  // Bytes at the edges of what each position takes.
  constexpr std::string_view kBytes = "a\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xED\xEF\xF0\xF1\xF4\xF5\xFF";
  std::size_t valid = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text(rng.between(1, 5), ' ');
    for (char& c : text) c = kBytes[rng.below(kBytes.size())];
    ASSERT_EQ(valid_utf8(text), decodes(text)) << shown(text);
    valid += decodes(text) ? 1U : 0U;
  }
  EXPECT_GT(valid, 1000U);
  EXPECT_TRUE(valid_utf8(""));
  EXPECT_TRUE(valid_utf8("\xF4\x8F\xBF\xBF"));
}

TEST(Words, PoolNames) {
  for (const auto* name : {"flash", "F_1-a.b", "123456789012345"}) EXPECT_TRUE(valid_pool_name(name)) << name;
  for (const auto* name : {"", "1234567890123456", "a b", "a,b", "a/b", "fl\xC3\xA4sh"})
    EXPECT_FALSE(valid_pool_name(name)) << name;
}

}  // namespace
}  // namespace iez::config
