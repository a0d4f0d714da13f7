#include "runs/replaced_files.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace iez::runs {
namespace {

namespace fs = std::filesystem;

class Replaced : public ::testing::Test {
 protected:
  void SetUp() override {
    ::umask(mask_);
    std::string path = ::testing::TempDir() + "iez-replaced-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
    fs::create_directory(folder_ + "/data");
    write("old");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string name() const { return folder_ + "/data/file"; }
  std::string journals() const { return folder_ + "/replaced"; }
  void write(const std::string& text) const { std::ofstream(name()) << text; }
  std::string read() const {
    std::ifstream in(name());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_ + "/data"), fs::directory_iterator()));
  }
  Result<ReplacedFiles> move() const {
    const std::vector<std::string> names{name(), folder_ + "/data/none", folder_ + "/data"};
    return ReplacedFiles::move_aside(journals(), "1f", names);
  }

  const mode_t mask_ = 0022;
  std::string folder_;
};

// Why a file is not moved; empty: it would be.
std::string why_left(const std::string& name) {
  const std::vector<std::string> names{name};
  const MovableFiles movable = movable_files(names);
  EXPECT_EQ(movable.names.size() + movable.left.size(), 1U);
  return movable.left.empty() ? "" : movable.left.front().why;
}

TEST_F(Replaced, OnlyWhatANewFileStandsInForIsMoved) {
  const mode_t usual = 0666 & ~mask_;
  EXPECT_EQ(why_left(name()), "");
  for (const mode_t mode : {0600U, 0444U, 0755U, 04644U}) {
    ASSERT_EQ(::chmod(name().c_str(), mode), 0);
    EXPECT_NE(why_left(name()).find("its mode is"), std::string::npos) << mode;
  }
  ASSERT_EQ(::chmod(name().c_str(), usual), 0);
  fs::create_hard_link(name(), name() + "2");
  EXPECT_EQ(why_left(name()), "it has 2 names");
  fs::remove(name() + "2");
  fs::create_symlink(name(), name() + "3");
  EXPECT_EQ(why_left(name() + "3"), "a symbolic link");
  EXPECT_EQ(why_left(folder_ + "/data"), "no regular file");
  if (::setxattr(name().c_str(), "user.iez", "1", 1, 0) == 0) {
    EXPECT_EQ(why_left(name()), "it has an ACL or attributes of its own");
    ASSERT_EQ(::removexattr(name().c_str(), "user.iez"), 0);
  }
  EXPECT_EQ(why_left(name()), "");
}

TEST_F(Replaced, WhatStaysIsTold) {
  ASSERT_EQ(::chmod(name().c_str(), 0600), 0);
  auto moved = move();
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->count(), 0U);
  ASSERT_EQ(moved->left().size(), 2U);  // the directory, too
  EXPECT_EQ(moved->left()[0].name, name());
  EXPECT_EQ(read(), "old");
}

TEST_F(Replaced, ARenameThatFailsIsTold) {
  const std::string longest = folder_ + "/data/" + std::string(255, 'x');
  std::ofstream(longest) << "old";
  const std::vector<std::string> names{longest};
  auto moved = ReplacedFiles::move_aside(journals(), "1f", names);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->count(), 0U);
  ASSERT_EQ(moved->left().size(), 1U);
  EXPECT_EQ(moved->left()[0].why, "File name too long");
  EXPECT_TRUE(moved->finish(true).empty());
  EXPECT_TRUE(fs::exists(longest));
}

TEST_F(Replaced, AGoodRunsFilesTakeThePlace) {
  auto moved = move();
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->count(), 1U);
  EXPECT_FALSE(fs::exists(name()));
  write("new");
  EXPECT_TRUE(moved->finish(true).empty());
  EXPECT_EQ(read(), "new");
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE(fs::is_empty(journals()));
}

TEST_F(Replaced, WhatTheRunDidNotMakeAnewIsPutBack) {
  for (const bool good : {true, false}) {
    auto moved = move();
    ASSERT_TRUE(moved);
    EXPECT_TRUE(moved->finish(good).empty());
    EXPECT_EQ(read(), "old");
    EXPECT_EQ(files(), 1U);
  }
}

TEST_F(Replaced, ABadRunLosesNeither) {
  auto moved = move();
  ASSERT_TRUE(moved);
  write("half");
  const auto notes = moved->finish(false);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("old contents are kept in"), std::string::npos);
  EXPECT_EQ(read(), "half");
  EXPECT_EQ(files(), 2U);
}

TEST_F(Replaced, WhatAKilledRunLeftIsPutBackByTheNext) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto moved = move();
    ::_exit(moved && moved->count() == 1 ? 0 : 1);  // as kill -9: nothing is put back
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(fs::exists(name()));
  EXPECT_TRUE(put_back_leftovers(journals(), SystemClock().wall()).empty());
  EXPECT_EQ(read(), "old");
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE(fs::is_empty(journals()));
}

TEST_F(Replaced, TheFilesOfALivingRunAreLeftAlone) {
  auto moved = move();
  ASSERT_TRUE(moved);
  EXPECT_TRUE(put_back_leftovers(journals(), SystemClock().wall()).empty());
  EXPECT_FALSE(fs::exists(name()));
  EXPECT_TRUE(moved->finish(false).empty());
  EXPECT_EQ(read(), "old");
}

}  // namespace
}  // namespace iez::runs
