#include "runs/old_contents.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace iez::runs {
namespace {

store::FileRow row(const std::string& name, bool created, std::uint64_t written, std::uint64_t read) {
  store::FileRow file;
  file.name = name;
  file.created = created;
  file.written = Bytes{written};
  file.read = Bytes{read};
  return file;
}

TEST(OldContents, OnlyWhatWasWrittenOverUnreadIsOfNoUse) {
  OldContents contents;
  EXPECT_EQ(contents.why_needed("/s/over"), "no run is known that wrote over it");
  // The first run makes all of them, and reads back what it wrote.
  contents.add(std::vector{row("/s/over", true, 9, 9), row("/s/state", true, 9, 0), row("/s/new", true, 9, 0)});
  EXPECT_EQ(contents.why_needed("/s/over"), "no run is known that wrote over it");
  contents.add(std::vector{row("/s/over", false, 9, 0), row("/s/state", false, 9, 9), row("/s/input", false, 0, 9)});
  EXPECT_EQ(contents.why_needed("/s/over"), "");
  EXPECT_EQ(contents.why_needed("/s/state"), "a run read it");
  EXPECT_EQ(contents.why_needed("/s/input"), "a run read it");
  EXPECT_EQ(contents.why_needed("/s/new"), "no run is known that wrote over it");
}

TEST(OldContents, OneRunThatReadItIsEnough) {
  for (const bool first : {true, false}) {
    OldContents contents;
    contents.add(std::vector{row("/s/state", false, 9, first ? 1 : 0)});
    contents.add(std::vector{row("/s/state", false, 9, first ? 0 : 1)});
    EXPECT_EQ(contents.why_needed("/s/state"), "a run read it");
  }
}

}  // namespace
}  // namespace iez::runs
