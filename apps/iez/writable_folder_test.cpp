#include "writable_folder.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace iez::cli {
namespace {

using ::testing::HasSubstr;

TEST(WritableFolder, ThereOrToBeMade) {
  const std::filesystem::path base = std::filesystem::path(testing::TempDir()) / fmt::format("writable_folder.{}", ::getpid());
  std::filesystem::create_directories(base);
  EXPECT_EQ(why_not_writable(base.string()), "");
  EXPECT_EQ(why_not_writable((base / "a/b/c").string()), "");
  EXPECT_EQ(why_not_writable((base / "a/../b").string()), "");
  std::ofstream(base / "file") << "x";
  EXPECT_THAT(why_not_writable((base / "file").string()), HasSubstr("may not be written"));
  EXPECT_THAT(why_not_writable((base / "file/below").string()), HasSubstr("file"));
  std::filesystem::remove_all(base);
}

// Root may write there by its mode, and still makes nothing.
TEST(WritableFolder, NoRealFileSystem) {
  EXPECT_THAT(why_not_writable("/proc/iez"), HasSubstr("/proc/iez: /proc may not be written"));
  EXPECT_NE(why_not_writable("/sys/iez/a"), "");
}

}  // namespace
}  // namespace iez::cli
