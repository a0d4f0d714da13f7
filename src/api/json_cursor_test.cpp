#include "api/json_cursor.hpp"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/json_text.hpp"
#include "base/rng.hpp"

namespace iez::api {
namespace {

bool accepts(std::string_view text) {
  JsonCursor json(text);
  json.skip();
  return json.finish().has_value();
}

TEST(JsonCursor, TakesWhatTheGrammarAllows) {
  for (const std::string_view text :
       {"null", " true ", "false", "0", "-0", "12", "-1.5e+10", "1E5", "\"\"", R"("a\"\\\/\b\f\n\r\té😀")", "[]", "{}",
        "[1,[2,[3]],{\"a\":[{}]}]", "{\"a\":1,\"a\":2}", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""}) {
    EXPECT_TRUE(accepts(text)) << text;
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
}

TEST(JsonCursor, RefusesWhatItDoesNot) {
  for (const std::string_view text : {"",
                                      " ",
                                      "nul",
                                      "truefalse",
                                      "01",
                                      "-",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "+1",
                                      "\"",
                                      "\"\x01\"",
                                      R"("\x")",
                                      R"("\u12G4")",
                                      R"("\ud800")",
                                      R"("\udc00")",
                                      R"("\ud800A")",
                                      "[",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "{",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{\"a\" 1}",
                                      "[1 2]",
                                      "]",
                                      "}",
                                      "1 1",
                                      "\"\xFF\"",
                                      "\"\xC0\x80\"",
                                      "\"\xED\xA0\x80\"",
                                      "\"\xF4\x90\x80\x80\""}) {
    EXPECT_FALSE(accepts(text)) << text;
    EXPECT_FALSE(nlohmann::json::accept(text)) << text;
  }
}

TEST(JsonCursor, AgreesWithAnotherParserOnRandomTexts) {
  const std::uint64_t seed = 20260701;
  SCOPED_TRACE(seed);
  Rng rng(seed);
  constexpr std::string_view kPieces = "{}[],:\"\\u0a1eE+-.tfn true";
  std::size_t accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    const std::size_t size = rng.below(8);
    for (std::size_t i = 0; i <= size; ++i) text.push_back(kPieces[rng.below(kPieces.size())]);
    const bool expected = nlohmann::json::accept(text);
    ASSERT_EQ(accepts(text), expected) << text;
    accepted += expected ? 1 : 0;
  }
  EXPECT_GT(accepted, 100U);
}

TEST(JsonCursor, BoundsDepthAndTexts) {
  EXPECT_TRUE(accepts(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(accepts(std::string(65, '[') + std::string(65, ']')));
  JsonCursor json(R"("1234")");
  EXPECT_EQ(json.text(3), "");
  EXPECT_EQ(json.finish().error().message, "at byte 5: a text of more than 3 bytes");
  JsonCursor escaped("\"\\u00e9\"");
  EXPECT_EQ(escaped.text(2), "\xC3\xA9");
  JsonCursor tight("\"\\u00e9\"");
  EXPECT_EQ(tight.text(1), "");
  EXPECT_TRUE(tight.failed());
}

TEST(JsonCursor, FailureNamesTheField) {
  JsonCursor json(R"({"a": {"b": -1}})");
  std::string key;
  json.enter_object();
  ASSERT_TRUE(json.next_key(key));
  json.enter_object();
  ASSERT_TRUE(json.next_key(key));
  EXPECT_EQ(json.whole(10), 0U);
  EXPECT_FALSE(json.next_key(key));
  EXPECT_EQ(json.finish().error().message, "field 'b' (at byte 14): expected a whole number from 0 to 10");
}

TEST(JsonCursor, NumbersKeepEveryDigit) {
  JsonCursor json("[18446744073709551615, -9223372036854775808, 18446744073709551616]");
  json.enter_array();
  ASSERT_TRUE(json.next_item());
  EXPECT_EQ(json.whole(~std::uint64_t{0}), ~std::uint64_t{0});
  ASSERT_TRUE(json.next_item());
  EXPECT_EQ(json.whole_signed(INT64_MIN, INT64_MAX), INT64_MIN);
  ASSERT_TRUE(json.next_item());
  json.whole(~std::uint64_t{0});
  EXPECT_TRUE(json.failed());
}

TEST(JsonText, WritesWhatOthersRead) {
  JsonText json;
  json.begin_object().field("text", "a\"\\\n\x01\xFFz").field("number", 0.1).field("most", ~std::uint64_t{0});
  json.field("least", INT64_MIN).key("list").begin_array().value(true).value(0).value(-5).end_array().end_object();
  const std::string text = json.take();
  const auto tree = nlohmann::json::parse(text);
  EXPECT_EQ(tree["text"], "a\"\\\n\x01\xEF\xBF\xBDz");
  EXPECT_EQ(tree["number"], 0.1);
  EXPECT_EQ(tree["most"], ~std::uint64_t{0});
  EXPECT_EQ(tree["least"], INT64_MIN);
  EXPECT_EQ(tree["list"], nlohmann::json::parse("[true, 0, -5]"));
}

}  // namespace
}  // namespace iez::api
