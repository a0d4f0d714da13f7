#include "config/series_csv.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

std::string complaint(std::string_view text, std::string_view column = {}) {
  const auto series = parse_series(text, "s.csv", column);
  return series ? "" : series.error().message;
}

TEST(SeriesCsv, ValueOfAHeaderWins) {
  const auto series = parse_series("t,value\r\n1,540218368\r\n2,-1.5e3\r\n", "s.csv");
  ASSERT_TRUE(series);
  EXPECT_EQ(series->column, "value");
  EXPECT_THAT(series->values, ElementsAre(540218368, -1500));
}

TEST(SeriesCsv, TheFirstOrTheNamedColumn) {
  EXPECT_THAT(parse_series("a,b\n1,2\n", "s")->values, ElementsAre(1));
  EXPECT_THAT(parse_series("a,b\n1,2\n", "s", "b")->values, ElementsAre(2));
  EXPECT_THAT(parse_series("1,2\n3,4\n", "s")->values, ElementsAre(1, 3));
  EXPECT_THAT(parse_series("1,2\n3,4\n", "s", "2")->values, ElementsAre(2, 4));
}

TEST(SeriesCsv, MissingValues) {
  const auto series = parse_series("value,x\n1,0\n,0\nNA,0\nNaN,0\n \"2\",0\n", "s.csv");
  EXPECT_FALSE(series) << "a quote within a field";
  EXPECT_THAT(parse_series("value,x\n1,0\n,0\nNA,0\n\"2\",0\n", "s.csv")->values, ElementsAre(1, IsNan(), IsNan(), 2));
}

TEST(SeriesCsv, NothingIsNoError) {
  EXPECT_THAT(parse_series("", "s")->values, IsEmpty());
  EXPECT_THAT(parse_series("value\n", "s")->values, IsEmpty());
}

TEST(SeriesCsv, ErrorsNameFileLineColumnAndRemedy) {
  EXPECT_EQ(complaint("value\n1\ntwo\n"),
            "s.csv:3: column value: found 'two', expected a finite number, or NA for a missing one");
  EXPECT_EQ(complaint("1\ninf\n"), "s.csv:2: column 1: found 'inf', expected a finite number, or NA for a missing one");
  EXPECT_THAT(complaint("1\n1e999\n"), HasSubstr("found '1e999'"));
  EXPECT_THAT(complaint("1e999\n1\n"), HasSubstr("s.csv:1: column 1: found '1e999'"));
  EXPECT_EQ(complaint("value,x\n1\n"), "s.csv:2: found 1 field, expected 2 as in the first line");
  EXPECT_EQ(complaint("bytes,rank\n1,2\n", "byte"),
            "s.csv:1: found no column 'byte', expected one of 'bytes', 'rank'; did you mean 'bytes'?");
  EXPECT_EQ(complaint("1,2\n", "3"), "s.csv:1: there is no header: found column '3', expected its number from 1 to 2");
  EXPECT_THAT(complaint("value\n\"1\n"), HasSubstr("no quote that closes it"));
}

}  // namespace
}  // namespace iez::config
