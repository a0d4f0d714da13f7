#include "lab/param_files.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

TEST(ParamFilesTest, files_come_with_their_folders) {
  const lustre::TemporaryTree tree;
  ParamFiles files(tree.path("params/mds"));
  ASSERT_TRUE(files.put("sys/fs/lustre/version", "2.17.0\n").has_value());
  EXPECT_EQ(tree.read("params/mds/sys/fs/lustre/version"), "2.17.0\n");
  EXPECT_EQ(files.get("sys/fs/lustre/version").value(), "2.17.0\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(tree.path("params/mds/sys/fs/lustre")), {}), 1)
      << "nothing unfinished stays";
  EXPECT_EQ(files.get("sys/fs/lustre/none").error().code, Errc::not_found);
}

TEST(ParamFilesTest, written_only_when_changed) {
  const lustre::TemporaryTree tree;
  ParamFiles files(tree.root());
  const auto inode = [&] {
    struct stat info{};
    EXPECT_EQ(::stat(tree.path("a/b").c_str(), &info), 0);
    return info.st_ino;
  };
  ASSERT_TRUE(files.put("a/b", "1\n").has_value());
  const auto first = inode();
  ASSERT_TRUE(files.put("a/b", "1\n").has_value());
  EXPECT_EQ(inode(), first);
  tree.write("a/b", "7\n");
  ASSERT_TRUE(files.put("a/b", "1\n").has_value());
  EXPECT_EQ(files.get("a/b").value(), "7\n") << "what somebody set stays";
  ASSERT_TRUE(files.put("a/b", "2\n").has_value());
  EXPECT_EQ(files.get("a/b").value(), "2\n");
  EXPECT_NE(inode(), first) << "replaced, not rewritten: readers see one or the other";
  tree.write("a/b", "7\n");
  ASSERT_TRUE(files.put_back("a/b", "2\n").has_value());
  EXPECT_EQ(files.get("a/b").value(), "2\n");
}

TEST(ParamFilesTest, removed_with_an_empty_folder) {
  const lustre::TemporaryTree tree;
  ParamFiles files(tree.root());
  ASSERT_TRUE(files.put("exports/c0/stats", "x").has_value());
  ASSERT_TRUE(files.put("exports/c0/uuid", "x").has_value());
  files.remove("exports/c0/stats");
  EXPECT_FALSE(std::filesystem::exists(tree.path("exports/c0/stats")));
  EXPECT_TRUE(std::filesystem::exists(tree.path("exports/c0/uuid")));
  files.remove("exports/c0/uuid");
  EXPECT_FALSE(std::filesystem::exists(tree.path("exports/c0")));
  tree.write("foreign", "x");
  files.remove("foreign");
  EXPECT_TRUE(std::filesystem::exists(tree.path("foreign"))) << "only what was put";
}

TEST(ParamFilesTest, a_folder_that_cannot_be_made_is_named) {
  const lustre::TemporaryTree tree;
  tree.write("a", "a file");
  ParamFiles files(tree.root());
  const auto put = files.put("a/b", "x");
  ASSERT_FALSE(put.has_value());
  EXPECT_THAT(put.error().message, testing::HasSubstr(tree.path("a")));
}

}  // namespace
}  // namespace iez::lab
