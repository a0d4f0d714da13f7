#include "input/csv_records.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::input {
namespace {

using Problem = CsvRecords::Problem;
using Rows = std::vector<std::vector<std::string>>;

struct Reading {
  Rows rows;
  std::vector<std::size_t> lines;
  Problem problem = Problem::none;
};

Reading read(std::string_view text) {
  Reading reading;
  CsvRecords records(text);
  while (records.next()) {
    reading.lines.push_back(records.line());
    reading.problem = records.problem();
    if (reading.problem != Problem::none) break;
    reading.rows.emplace_back(records.fields().begin(), records.fields().end());
  }
  return reading;
}

TEST(CsvRecords, PlainLines) {
  EXPECT_EQ(read("").rows, Rows{});
  EXPECT_EQ(read("\n\r\n\n").rows, Rows{});
  EXPECT_EQ(read("a,b\nc,d\n").rows, (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(read("a,b\r\nc,d").rows, (Rows{{"a", "b"}, {"c", "d"}})) << "CRLF, and no end of the last line";
  EXPECT_EQ(read(",\n,,").rows, (Rows{{"", ""}, {"", "", ""}}));
  EXPECT_EQ(read(" a , b ").rows, (Rows{{" a ", " b "}})) << "spaces are part of a field";
  EXPECT_EQ(read("a\n\n\nb").lines, (std::vector<std::size_t>{1, 4}));
}

TEST(CsvRecords, Quotes) {
  EXPECT_EQ(read("\"a\",b\n").rows, (Rows{{"a", "b"}}));
  EXPECT_EQ(read("a,\"\"\r\nb,c").rows, (Rows{{"a", ""}, {"b", "c"}}));
  EXPECT_EQ(read("\"a,\"\"b\"\"\r\nc\",d\n\ne,f").rows, (Rows{{"a,\"b\"\r\nc", "d"}, {"e", "f"}}));
  EXPECT_EQ(read("\"a\n\nb\",c\nd").lines, (std::vector<std::size_t>{1, 4})) << "lines within quotes count";
  EXPECT_EQ(read("a,\"b\"").rows, (Rows{{"a", "b"}}));
  EXPECT_EQ(read("\"\"").rows, (Rows{{""}}));
}

TEST(CsvRecords, WhatIsNoTextIsSaidSo) {
  using namespace std::string_view_literals;
  EXPECT_EQ(read("\x7f"
                 "ELF\0\0\"x"sv)
                .problem,
            Problem::not_text);
  EXPECT_EQ(read("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"sv).problem, Problem::not_text) << "lines may come before";
  EXPECT_EQ(read(std::string(8192, 'a') + '\0').problem, Problem::none) << "later it is a byte like others";
}

TEST(CsvRecords, BrokenQuotes) {
  EXPECT_EQ(read("a\n\"b\nc").problem, Problem::unterminated);
  EXPECT_EQ(read("a\n\"b\nc").lines, (std::vector<std::size_t>{1, 2})) << "where it opens";
  EXPECT_EQ(read("\"").problem, Problem::unterminated);
  EXPECT_EQ(read("\"\"\"").problem, Problem::unterminated);
  EXPECT_EQ(read("\"a\"b,c").problem, Problem::text_after_quote);
  EXPECT_EQ(read("\"a\" ,c").problem, Problem::text_after_quote);
  EXPECT_EQ(read("\"a\"\rb").problem, Problem::text_after_quote);
  EXPECT_EQ(read("a\"b\"").problem, Problem::quote_in_field);
}

TEST(CsvRecords, WhatIsWrittenIsRead) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Rows rows(rng.between(1, 8));
    std::string text;
    for (auto& row : rows) {
      row.resize(rng.between(2, 4));
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::uint64_t n = rng.below(6); n > 0; --n) row[i] += "ab,\"\n\r x"[rng.below(8)];
        std::string field;
        for (const char c : row[i]) field += c == '"' ? std::string("\"\"") : std::string(1, c);
        const bool quotes = rng.chance(0.3) || row[i].find_first_of(",\"\n\r") != std::string::npos;
        text += (i > 0 ? "," : "") + (quotes ? '"' + field + '"' : field);
      }
      text += rng.chance(0.5) ? "\n" : "\r\n";
      if (rng.chance(0.2)) text += "\n";
    }
    const Reading reading = read(text);
    EXPECT_EQ(reading.problem, Problem::none);
    EXPECT_EQ(reading.rows, rows) << text;
  }
}

}  // namespace
}  // namespace iez::input
