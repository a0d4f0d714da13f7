#include "runs/replaced_files.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
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

  std::string folder_;
};

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
  EXPECT_TRUE(put_back_leftovers(journals()).empty());
  EXPECT_EQ(read(), "old");
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE(fs::is_empty(journals()));
}

TEST_F(Replaced, TheFilesOfALivingRunAreLeftAlone) {
  auto moved = move();
  ASSERT_TRUE(moved);
  EXPECT_TRUE(put_back_leftovers(journals()).empty());
  EXPECT_FALSE(fs::exists(name()));
  EXPECT_TRUE(moved->finish(false).empty());
  EXPECT_EQ(read(), "old");
}

}  // namespace
}  // namespace iez::runs
