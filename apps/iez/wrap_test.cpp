#include "wrap.hpp"

#include <gtest/gtest.h>

namespace iez::cli {
namespace {

TEST(Wrap, BreaksAtBlanksAndKeepsLines) {
  EXPECT_EQ(wrapped("", 0, 4, 10), "");
  EXPECT_EQ(wrapped("one two", 0, 4, 10), "one two");
  EXPECT_EQ(wrapped("one two three", 0, 4, 10), "one two\n    three");
  EXPECT_EQ(wrapped("one two three", 5, 2, 10), "one\n  two\n  three");
  EXPECT_EQ(wrapped("a-very-long-word b", 0, 2, 10), "a-very-long-word\n  b");
  EXPECT_EQ(wrapped("one\ntwo  three\n", 0, 1, 20), "one\n two three");
  EXPECT_EQ(wrapped("1234567890 12", 0, 0, 10), "1234567890\n12") << "a line may be full";
}

TEST(Wrap, FitsLinesThatAreTooLong) {
  EXPECT_EQ(fitted("a  b\none two three\n", 2, 8), "a  b\none two\n  three\n");
  EXPECT_EQ(fitted("one  two three", 2, 0), "one  two three");
  EXPECT_EQ(fitted("", 2, 5), "");
}

}  // namespace
}  // namespace iez::cli
