#include "jobs/node_report_state.hpp"

#include <sys/stat.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/tree_test_support.hpp"

namespace iez::jobs {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

BeforeJob before_job(std::string id) {
  BeforeJob before{.job = {.cluster = "quartz", .id = std::move(id), .user = "1000", .node = "n1", .nodes = 3}, .others = 1};
  before.reading.time = 100;
  before.reading.mounts.push_back({.device = "fs-ffff", .counters = {.data = {.write_bytes = 7}}});
  return before;
}

TEST(NodeState, KeepsAndForgets) {
  const lustre::TemporaryTree tree;
  auto state = NodeState::open(tree.path("lib/iez/jobs"));
  ASSERT_TRUE(state) << state.error().message;
  struct stat status{};
  ASSERT_EQ(::stat(tree.path("lib/iez/jobs").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_TRUE(state->keep(before_job("4711")));
  const auto found = state->find("quartz", "4711");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, before_job("4711"));
  ASSERT_EQ(::stat(tree.path("lib/iez/jobs/quartz-4711.before").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(state->others("quartz", "4711"), 0U);
  EXPECT_EQ(state->others("quartz", "4712"), 1U);
  state->forget("quartz", "4711");
  EXPECT_EQ(state->find("quartz", "4711").error().code, Errc::not_found);
}

TEST(NodeState, IdsOfAnyBytes) {
  const lustre::TemporaryTree tree;
  auto state = NodeState::open(tree.path("state"));
  ASSERT_TRUE(state);
  const std::vector<std::string> ids{
      "../../etc/passwd", "a\"b,c\nd", "\xF0\x9F\x9A\x80", std::string(4000, 'x'), std::string(3999, 'x') + 'y', "%41", "A"};
  for (const std::string& id : ids) ASSERT_TRUE(state->keep(before_job(id))) << id;
  for (const std::string& id : ids) {
    const auto found = state->find("quartz", id);
    ASSERT_TRUE(found) << id;
    EXPECT_EQ(found->job.id, id);
  }
  EXPECT_EQ(state->others("", ""), ids.size());
  EXPECT_FALSE(std::filesystem::exists(tree.path("etc")));
}

TEST(NodeState, WhatIsCutOrStrangeIsRefused) {
  const std::string text = to_text(before_job("4711"));
  for (std::size_t size = 0; size + 1 < text.size(); ++size) EXPECT_FALSE(parse_before(text.substr(0, size), "f")) << size;
  EXPECT_THAT(parse_before("iez-before 1\ncolour x\niez-node 1\n", "f").error().message, HasSubstr("f line 2: 'colour x'"));
  EXPECT_FALSE(parse_before("iez-before 1\njob %4\niez-node 1\ntime 1\nend\n", "f"));
}

TEST(NodeState, AFolderThatOthersMayWriteToIsRefused) {
  const lustre::TemporaryTree tree;
  std::filesystem::create_directories(tree.path("open"));
  ASSERT_EQ(::chmod(tree.path("open").c_str(), 0777), 0);
  const auto state = NodeState::open(tree.path("open"));
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Errc::permission);
}

TEST(NodeState, UnsentReportsWait) {
  const lustre::TemporaryTree tree;
  auto state = NodeState::open(tree.path("state"));
  ASSERT_TRUE(state);
  ASSERT_TRUE(state->keep_unsent("c", "1", "first"));
  ASSERT_TRUE(state->keep_unsent("c", "1", "second"));
  ASSERT_THAT(state->unsent(), SizeIs(2));
  EXPECT_EQ(*state->read(state->unsent()[0]), "first");
  state->remove(state->unsent()[0]);
  EXPECT_EQ(*state->read(state->unsent()[0]), "second");
}

TEST(NodeState, OldReadingsAreRemoved) {
  const lustre::TemporaryTree tree;
  auto state = NodeState::open(tree.path("state"));
  ASSERT_TRUE(state);
  ASSERT_TRUE(state->keep(before_job("4711")));
  struct stat status{};
  ASSERT_EQ(::stat(tree.path("state/quartz-4711.before").c_str(), &status), 0);
  EXPECT_EQ(state->remove_forgotten(status.st_mtim.tv_sec + kForgotten - 1), 0U);
  EXPECT_EQ(state->remove_forgotten(status.st_mtim.tv_sec + kForgotten), 1U);
  EXPECT_EQ(state->others("", ""), 0U);
}

}  // namespace
}  // namespace iez::jobs
