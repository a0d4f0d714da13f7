#include "runs/row_rules.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>

namespace iez::runs {
namespace {

store::PredictionRow row(std::string name, std::uint64_t mib) {
  store::PredictionRow out;
  out.name = std::move(name);
  out.bytes = out.high = Bytes::mib(mib);
  out.stripe_count = 3;  // as it was seen: says nothing
  return out;
}

class Rules : public ::testing::Test {
 protected:
  LeftAlone apply(const RowRules& rules = {}) {
    DirectoryDefaults defaults(mounts_, [this](const std::string& directory) -> Result<model::Layout> {
      const auto found = set_.find(directory);
      if (found != set_.end()) return found->second;
      return fail_errno(ENODATA, directory);
    });
    return apply_rules(rows_, last_, defaults, rules);
  }

  std::vector<LayoutMount> mounts_{{.path = "/s", .file_system = "fs"}};
  std::map<std::string, model::Layout> set_;
  std::vector<store::PredictionRow> rows_{row("/s/a/f", 8)};
  std::vector<store::FileRow> last_;
};

TEST_F(Rules, StripesAreChosenWhereNobodyHasSetThem) {
  EXPECT_EQ(apply().all(), 0U);
  EXPECT_EQ(rows_[0].stripe_count, 0U);
  EXPECT_EQ(rows_[0].default_stripes, 1U);
  EXPECT_FALSE(rows_[0].left_alone);
}

TEST_F(Rules, TheSitesDefaultIsKeptUnlessPolicyLetsIt) {
  set_["/s"] = set_["/s/a"] = {.components = {{.stripe_size = Bytes::mib(2), .stripe_count = 4}}};
  apply();
  EXPECT_EQ(rows_[0].stripe_count, 4U);
  EXPECT_EQ(rows_[0].stripe_size, Bytes::mib(2));
  EXPECT_FALSE(rows_[0].left_alone);
  apply({.free_layout = true});
  EXPECT_EQ(rows_[0].stripe_count, 0U);
  EXPECT_EQ(rows_[0].default_stripes, 4U);
}

model::Layout progressive() {
  model::Layout layout;
  layout.composite = true;
  layout.components = {{.extent = {.start = 0, .end = Bytes::mib(4).count}, .stripe_size = Bytes::mib(1), .stripe_count = 1},
                       {.extent = {.start = Bytes::mib(4).count}, .stripe_size = Bytes::mib(2), .stripe_count = 4}};
  return layout;
}

TEST_F(Rules, AProgressiveDefaultOfTheSiteIsReplacedWherePolicyLetsIt) {
  set_["/s"] = set_["/s/a"] = progressive();
  rows_.push_back(row("/s/a/short", 4));
  const LeftAlone left = apply();
  EXPECT_EQ(left.site, 2U);
  EXPECT_EQ(left.all(), 2U);
  EXPECT_TRUE(rows_[0].left_alone);
  EXPECT_EQ(left_alone_text(left, Bytes::mib(1)), "2 where the site's default has several components or a pool");
  EXPECT_EQ(apply({.free_layout = true}).all(), 0U);
  EXPECT_FALSE(rows_[0].left_alone);
  EXPECT_EQ(rows_[0].stripe_count, 0U);
  // Lustre's own way: by the component in which the file ends.
  EXPECT_EQ(rows_[0].default_stripes, 4U);
  EXPECT_EQ(rows_[0].default_stripe_size, Bytes::mib(2));
  EXPECT_EQ(rows_[1].default_stripes, 1U);
}

TEST_F(Rules, ADefaultInAPoolStaysThere) {
  auto pooled = progressive();
  pooled.components[1].pool = "flash";
  set_["/s"] = set_["/s/a"] = pooled;
  EXPECT_EQ(apply({.free_layout = true}).site, 1U);
  set_["/s"] = set_["/s/a"] = {.components = {{.stripe_count = 4, .pool = "flash"}}};
  EXPECT_EQ(apply({.free_layout = true}).site, 1U);
}

TEST_F(Rules, AProgressiveLayoutOfADirectoryIsItsOwn) {
  set_["/s/a"] = progressive();
  for (const bool override_directories : {false, true}) {
    EXPECT_EQ(apply({.free_layout = true, .override_directories = override_directories}).directory, 1U);
    EXPECT_TRUE(rows_[0].left_alone);
  }
}

TEST_F(Rules, ADirectorysOwnLayoutIsRespected) {
  set_["/s/a"] = {.components = {{.stripe_size = Bytes::mib(1), .stripe_count = 8}}};
  EXPECT_EQ(apply().directory, 1U);
  EXPECT_TRUE(rows_[0].left_alone);
  EXPECT_EQ(apply({.free_layout = true}).directory, 1U);
  EXPECT_EQ(apply({.override_directories = true}).directory, 0U);
  EXPECT_FALSE(rows_[0].left_alone);
  EXPECT_EQ(rows_[0].stripe_count, 8U);
}

TEST_F(Rules, SmallFilesAreNotWorthARoundTrip) {
  rows_.push_back(row("/s/a/small", 0));
  rows_.back().files = 400;
  const LeftAlone left = apply();
  EXPECT_EQ(left.small, 400U);
  EXPECT_FALSE(rows_[0].left_alone);
  EXPECT_TRUE(rows_[1].left_alone);
  EXPECT_EQ(left_alone_text(left, Bytes::mib(1)), "400 below 1.05 MB");
}

TEST_F(Rules, SmallerFilesThatAreWrittenTogetherWithLargerOnesArePlannedWithThem) {
  rows_.push_back(row("/s/a/together", 0));
  rows_.back().bytes = Bytes::kib(500);
  rows_.push_back(rows_.back());
  rows_.back().name = "/s/a/apart";
  rows_.back().phase = 7;
  rows_.push_back(rows_[1]);
  rows_.back().name = "/s/a/crumb";
  rows_.back().bytes = Bytes::kib(10);
  EXPECT_EQ(apply().small, 2U);
  EXPECT_FALSE(rows_[1].left_alone);
  EXPECT_TRUE(rows_[2].left_alone);
  EXPECT_TRUE(rows_[3].left_alone);
}

TEST_F(Rules, WhatIsWrittenOverInPlaceKeepsItsTargets) {
  last_.push_back({.name = "/s/a/f", .written = Bytes::mib(8), .created = false});
  EXPECT_EQ(apply().existing, 1U);
  EXPECT_TRUE(rows_[0].left_alone);
  EXPECT_EQ(apply({.replace = true}).existing, 0U);
  last_[0].created = true;
  EXPECT_EQ(apply().existing, 0U);
}

TEST_F(Rules, WhatWasReadBeforeIsNeverMovedAside) {
  last_.push_back({.name = "/s/a/f", .written = Bytes::mib(8), .read = Bytes::mib(8), .created = false});
  for (const bool replace : {false, true}) {
    const LeftAlone left = apply({.replace = replace});
    EXPECT_EQ(left.kept, 1U);
    EXPECT_EQ(left.existing, 0U);
    EXPECT_TRUE(rows_[0].left_alone);
    EXPECT_NE(left_alone_text(left, Bytes::mib(1)).find("1 read and written over in place"), std::string::npos);
  }
}

TEST_F(Rules, WhatTheProgramChoosesIsItsOwn) {
  last_.push_back({.name = "/s/a/tmp", .renamed = "/s/a/f", .written = Bytes::mib(8), .created = true, .own_layout = true});
  EXPECT_EQ(apply().program, 1U);
  EXPECT_TRUE(rows_[0].left_alone);
}

// Each file that is left to Lustre says why, with the numbers that decided.
TEST_F(Rules, EachFileThatIsLeftSaysWhy) {
  const auto why = [this](const RowRules& rules = {}) {
    const LeftAlone left = apply(rules);
    EXPECT_EQ(left.rows.size(), rows_.size());
    return left_reason_text(left.rows.at(0), rows_[0], rules.least_file);
  };
  EXPECT_EQ(why(), "");
  set_["/s/a"] = {.components = {{.stripe_size = Bytes::mib(1), .stripe_count = 4}}};
  EXPECT_EQ(why(), "4 stripes: its directory has a layout of its own, which is kept");
  set_.clear();
  last_ = {{.name = "/s/a/f", .written = Bytes::mib(8)}};
  EXPECT_EQ(why(), "as it is: the program writes over it in place, so that it keeps its OSTs (iez run --replace moves it aside)");
  last_[0].read = Bytes::mib(1);
  EXPECT_EQ(why(), "as it is: the program reads it and writes over it in place, so that it keeps its OSTs");
  last_ = {{.name = "/s/a/f", .written = Bytes::mib(8), .created = true, .own_layout = true}};
  EXPECT_EQ(why(), "as the program has it: it chose the stripes itself in the last run");
  last_.clear();
  set_["/s"] = set_["/s/a"] = progressive();
  EXPECT_EQ(why(), "4 stripes: the file system's default has several components or a pool, and is kept");
  set_.clear();
  rows_[0].bytes = Bytes::kib(12);
  EXPECT_EQ(why(), "1 stripe by Lustre: its 12.0 KiB are less than place.least_file (1.00 MiB), and a layout would gain nothing");
}

}  // namespace
}  // namespace iez::runs
