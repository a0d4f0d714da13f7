#include "plan/pattern_text.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/field_match.hpp"

namespace iez::plan {
namespace {

using testing::HasSubstr;

std::string kinds(std::string_view text) {
  const auto pieces = parse_pattern(text);
  if (!pieces) return "error: " + pieces.error().message;
  std::string out;
  for (const PatternPiece& piece : *pieces) {
    out += "LNFDWOR"[piece.kind];
    if (piece.width != 0) out += std::to_string(piece.width);
    out += '(' + piece.text + ')';
  }
  return out;
}

std::size_t taken(std::uint8_t kind, std::string_view text, std::uint8_t width = 0, std::size_t below = SIZE_MAX) {
  return field_length(kind, width, text.data(), text.size(), below);
}

TEST(PatternText, FieldsAndLiterals) {
  EXPECT_EQ(kinds("/s/ckpt.{step}.{rank}"), "L(/s/ckpt.)N(step)L(.)N(rank)");
  EXPECT_EQ(kinds("/s/{run*}/ckpt.{step:5}"), "L(/s/)O(run)L(/ckpt.)N5(step)");
  EXPECT_EQ(kinds("{date}{variable}"), "D(date)W(variable)");
  EXPECT_EQ(kinds("/{other:fraction}/{part:date}/{x:number}/{rank:word}"), "L(/)F(other)L(/)D(part)L(/)N(x)L(/)W(rank)");
  EXPECT_EQ(kinds("/{step:5*}"), "L(/)O(step)");
  EXPECT_EQ(kinds("/a{{b}}c"), "L(/a{b}c)");
  EXPECT_EQ(kinds("/{{{rank}}}"), "L(/{)N(rank)L(})");
  EXPECT_EQ(kinds(""), "");
}

TEST(PatternText, ErrorsSayWhatIsExpected) {
  EXPECT_THAT(kinds("/a{"), HasSubstr("found a single '{' at byte 3"));
  EXPECT_THAT(kinds("/a}b"), HasSubstr("found a single '}' at byte 3"));
  EXPECT_THAT(kinds("/{}"), HasSubstr("expected {NAME}"));
  EXPECT_THAT(kinds("/{0..3}"), HasSubstr("found the field '{0..3}'"));
  EXPECT_THAT(kinds("/{step:}"), HasSubstr("expected {NAME}"));
  EXPECT_THAT(kinds("/{step:20}"), HasSubstr("widths are 1 to 19"));
  EXPECT_THAT(kinds("/{step:0}"), HasSubstr("widths are 1 to 19"));
  EXPECT_THAT(kinds("/{step}{rank}"), HasSubstr("expected text between them"));
  EXPECT_THAT(kinds("/{a*}{b*}"), HasSubstr("expected text between them"));
  std::string many;
  for (int i = 0; i < 17; ++i) many += "/{rank}";
  EXPECT_THAT(kinds(many), HasSubstr("at most 16"));
}

TEST(PatternText, WhatFieldsTake) {
  EXPECT_EQ(taken(abi::kEdgeNumber, "123.4"), 3U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "0"), 1U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "007"), 0U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "007", 3), 3U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "007", 2), 0U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "1007", 3), 4U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "07", 3), 0U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "x"), 0U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "9999999999999999999"), 19U);
  EXPECT_EQ(taken(abi::kEdgeNumber, "99999999999999999999"), 0U);
  EXPECT_EQ(taken(abi::kEdgeFraction, "0.05/x"), 4U);
  EXPECT_EQ(taken(abi::kEdgeFraction, "10.x"), 2U);
  EXPECT_EQ(taken(abi::kEdgeWord, "temp2"), 4U);
  EXPECT_EQ(taken(abi::kEdgeWord, "2"), 0U);
  EXPECT_EQ(taken(abi::kEdgeOpen, "a.b-1/c"), 5U);
  EXPECT_EQ(taken(abi::kEdgeOpen, "a.b-1/c", 0, 5), 4U);
  EXPECT_EQ(taken(abi::kEdgeOpen, "a", 0, 1), 0U);
  EXPECT_EQ(taken(abi::kEdgeOpen, "/a"), 0U);
  EXPECT_EQ(taken(abi::kEdgeDate, "20240131"), 8U);
  EXPECT_EQ(taken(abi::kEdgeDate, "2024-01-31T12:30:59.h5"), 19U);
  EXPECT_EQ(taken(abi::kEdgeDate, "20240131_0005.dat"), 13U);
  EXPECT_EQ(taken(abi::kEdgeDate, "20240131_0005.dat", 0, 13), 8U);
  EXPECT_EQ(taken(abi::kEdgeDate, "20241331"), 0U);
  EXPECT_EQ(taken(abi::kEdgeDate, "18000101"), 0U);
  EXPECT_EQ(taken(abi::kEdgeDate, "2024013"), 0U);
}

TEST(PatternText, Turns) {
  const auto pieces = parse_pattern("/{step}.{rank}.{name*}.{rank:4}");
  ASSERT_TRUE(pieces);
  const auto modes = [&](std::string_view text) {
    const auto fields = parse_turn(text, *pieces);
    if (!fields) return "error: " + fields.error().message;
    std::string out;
    for (const abi::RuleField& field : *fields) {
      out += "-ch"[field.turn];
      if (field.turn == abi::kTurnCount) out += std::to_string(field.factor) + "/" + std::to_string(field.divisor);
    }
    return out;
  };
  EXPECT_EQ(modes(""), "hc1/1h-");
  EXPECT_EQ(modes("hash"), "hhh-");
  EXPECT_EQ(modes("rank"), "-c1/1--");
  EXPECT_EQ(modes(" rank + 64*step/100 "), "c64/100c1/1--");
  EXPECT_THAT(modes("name"), HasSubstr("expected a field of the pattern that is a number"));
  EXPECT_THAT(modes("node"), HasSubstr("found 'node'"));
  EXPECT_THAT(modes("rank+rank"), HasSubstr("twice"));
  EXPECT_THAT(modes("0*rank"), HasSubstr("expected 1 to 4294967295"));
  EXPECT_THAT(modes("rank/0"), HasSubstr("divisor"));
  EXPECT_THAT(modes("+"), HasSubstr("found ''"));
}

}  // namespace
}  // namespace iez::plan
