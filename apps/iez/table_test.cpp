#include "table.hpp"

#include <gtest/gtest.h>

namespace iez::cli {
namespace {

TEST(Table, AlignsColumnsByCharacters) {
  Table table({{"NAME"}, {"SIZE", Align::right}});
  table.add({{"gr\xc3\xbcn"}, {"1 B"}});
  table.add({{"x"}, {"100 KiB"}});
  EXPECT_EQ(table.render({.utf8 = true}, true),
            "NAME     SIZE\n"
            "gr\xc3\xbcn      1 B\n"
            "x     100 KiB\n");
  EXPECT_EQ(table.render({}, false), "gr\xc3\xbcn      1 B\nx     100 KiB\n");
}

TEST(Table, TextFromOutsideIsHarmless) {
  Table table({{"JOB"}});
  table.add({{"\x1b[2Jevil\n"}});
  EXPECT_EQ(table.render({}, false), "\\x1b[2Jevil\\x0a\n");
}

TEST(Table, FitsTheTerminal) {
  Table table({{"NAME"}, {"A", Align::right, 1}, {"B", Align::right, 2}, {"C", Align::right}});
  table.add({{"gr\xc3\xbcner name"}, {"1111"}, {"2222"}, {"3"}});
  EXPECT_EQ(table.render({}, false), "gr\xc3\xbcner name  1111  2222  3\n");
  EXPECT_EQ(table.render({.columns = 26}, false), "gr\xc3\xbcner name  1111  2222  3\n");
  EXPECT_EQ(table.render({.columns = 25}, false), "gr\xc3\xbcner name  1111  3\n");
  EXPECT_EQ(table.render({.columns = 19}, false), "gr\xc3\xbcner name  3\n");
  EXPECT_EQ(table.render({.columns = 12}, false), "gr~r name  3\n");
  EXPECT_EQ(table.render({.columns = 3}, false), "gr~ name  3\n") << "that is all that can be done";
}

TEST(Table, ColoursOnlyOnATerminal) {
  Table table({{"USE"}});
  table.add({{.text = "99 %", .colour = Colour::red}});
  EXPECT_EQ(table.render({}, false), "99 %\n");
  EXPECT_EQ(table.render({.colour = true}, false), "\x1b[31m99 %\x1b[0m\n");
}

TEST(Bar, FillsByShare) {
  const Terminal ascii;
  EXPECT_EQ(bar(0, 10, ascii), "[..........]");
  EXPECT_EQ(bar(0.6, 10, ascii), "[######....]");
  EXPECT_EQ(bar(1, 10, ascii), "[##########]");
  EXPECT_EQ(bar(7, 4, ascii), "[####]") << "never longer than its frame";
  EXPECT_EQ(bar(-1, 4, ascii), "[....]");
  const Terminal fine{.utf8 = true};
  EXPECT_EQ(bar(0.5, 3, fine), "▕█▌ ▏");
  EXPECT_EQ(bar(1, 3, fine), "▕███▏");
  EXPECT_EQ(bar(0.01, 20, fine), "▕▎                   ▏");
}

}  // namespace
}  // namespace iez::cli
