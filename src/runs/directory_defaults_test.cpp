#include "runs/directory_defaults.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>

namespace iez::runs {
namespace {

model::Layout plain(std::uint16_t stripes, Bytes size = Bytes::mib(1)) {
  return {.components = {{.stripe_size = size, .stripe_count = stripes}}};
}

class Defaults : public ::testing::Test {
 protected:
  DirectoryDefault of(const std::string& name) {
    DirectoryDefaults defaults(mounts_, [this](const std::string& directory) -> Result<model::Layout> {
      ++asked_;
      const auto found = set_.find(directory);
      if (found != set_.end()) return found->second;
      return fail_errno(missing_.contains(directory) ? ENOENT : ENODATA, directory);
    });
    defaults.of_file(name);
    return defaults.of_file(name);
  }

  std::vector<LayoutMount> mounts_{{.path = "/s", .file_system = "fs"}};
  std::map<std::string, model::Layout> set_;
  std::map<std::string, bool> missing_;
  int asked_ = 0;
};

TEST_F(Defaults, NobodyHasSetOne) {
  EXPECT_EQ(of("/s/a/f").origin, DefaultOrigin::built_in);
  EXPECT_EQ(of("/s/a/f").stripes, 1U);
  EXPECT_EQ(of("/elsewhere/f").origin, DefaultOrigin::built_in);
}

TEST_F(Defaults, WhatEqualsTheRootsIsInherited) {
  set_["/s"] = plain(4);
  set_["/s/a"] = plain(4);
  set_["/s/a"].components[0].file_id = {.high = 7, .low = 9};  // a leftover of the copy that mkdir made
  set_["/s/b"] = plain(4, Bytes::mib(2));
  EXPECT_EQ(of("/s/a/f").origin, DefaultOrigin::site);
  EXPECT_EQ(of("/s/a/f").stripes, 4U);
  EXPECT_EQ(of("/s/f").origin, DefaultOrigin::site);
  EXPECT_EQ(of("/s/b/f").origin, DefaultOrigin::own);
  EXPECT_EQ(of("/s/b/f").stripe_size, Bytes::mib(2));
}

TEST_F(Defaults, ADirectoryThatIsNotThereYetWillHaveThatOfTheOneAbove) {
  set_["/s/a"] = plain(8);
  missing_ = {{"/s/a/run1", true}, {"/s/a/run1/out", true}};
  EXPECT_EQ(of("/s/a/run1/out/f").stripes, 8U);
  EXPECT_EQ(of("/s/a/run1/out/f").origin, DefaultOrigin::own);
}

TEST_F(Defaults, OfAPatternThePartThatIsKnownCounts) {
  set_["/s/a"] = plain(8);
  EXPECT_EQ(of("/s/a/{run*}/f.{rank}").stripes, 8U);
  EXPECT_EQ(of("/s/a/f.{rank}").stripes, 8U);
}

TEST_F(Defaults, MoreThanAPlainOneIsTold) {
  set_["/s/a"] = plain(2);
  set_["/s/a"].components[0].pool = "flash";
  EXPECT_FALSE(of("/s/a/f").plain);
  set_["/s/b"] = plain(2);
  set_["/s/b"].composite = true;
  EXPECT_FALSE(of("/s/b/f").plain);
  EXPECT_TRUE(of("/s/c/f").plain);
}

TEST_F(Defaults, EachDirectoryIsAskedOnce) {
  of("/s/a/f");
  EXPECT_EQ(asked_, 1);
}

}  // namespace
}  // namespace iez::runs
