#include "runs/allocate.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "plan/plan_reader.hpp"
#include "runs/compile_plan.hpp"
#include "runs/planner.hpp"
#include "runs/space.hpp"

namespace iez::runs {
namespace {

model::Cluster cluster_of(std::uint32_t osts, std::uint64_t gib = 10) {
  model::Cluster cluster{.name = "fs", .servers = {}, .osts = {}, .pools = {}};
  cluster.servers.push_back({.name = "oss0"});
  for (std::uint32_t i = 0; i < osts; ++i) {
    cluster.osts.push_back({.index = OstIndex{i},
                            .name = fmt::format("fs-OST{:04x}", i),
                            .oss = 0,
                            .total = Bytes::gib(gib),
                            .free = Bytes::gib(gib),
                            .available = Bytes::gib(gib),
                            .state = {}});
  }
  return cluster;
}

store::Prediction prediction_of(std::uint32_t files, std::uint64_t mib, std::uint32_t count = 1) {
  store::Prediction prediction;
  for (std::uint32_t i = 0; i < files; ++i) {
    store::PredictionRow row;
    row.name = fmt::format("/s/out.{}", i);
    row.bytes = row.high = Bytes::mib(mib);
    row.stripe_count = count;
    prediction.rows.push_back(row);
  }
  return prediction;
}

std::vector<std::uint32_t> all_rows(const store::Prediction& prediction) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < prediction.rows.size(); ++i) rows.push_back(i);
  return rows;
}

std::map<std::uint32_t, std::size_t> files_on(const PlannedRows& planned) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const auto& row : planned.rows) {
    for (const auto& layout : row.layouts) {
      for (const OstIndex ost : layout.osts) ++counts[ost.value];
    }
  }
  return counts;
}

TEST(Allocate, EqualFilesOnEqualTargets) {
  const model::Cluster cluster = cluster_of(5);
  const auto prediction = prediction_of(10, 100);
  const auto planned = plan_rows(prediction, all_rows(prediction), {.cluster = cluster});
  ASSERT_TRUE(planned) << planned.error().message;
  ASSERT_EQ(planned->rows.size(), 10U);
  for (const auto& [ost, files] : files_on(*planned)) EXPECT_EQ(files, 2U) << ost;
  EXPECT_DOUBLE_EQ(planned->details.ost_cost_after, 1);
  EXPECT_EQ(planned->details.osts.size(), 5U);
  EXPECT_EQ(planned->details.weights.size(), 5U);
  EXPECT_FALSE(planned->rows[0].reason.empty());
}

TEST(Allocate, WhatIsReplacedCountsAsGone) {
  model::Cluster cluster = cluster_of(2);
  cluster.osts[0].free.count -= Bytes::gib(1).count;
  cluster.osts[0].available.count -= Bytes::gib(1).count;
  const auto prediction = prediction_of(2, 512);
  // With the old files there, both new ones go elsewhere; without them, one each.
  auto planned = plan_rows(prediction, all_rows(prediction), {.cluster = cluster});
  ASSERT_TRUE(planned);
  EXPECT_EQ(files_on(*planned), (std::map<std::uint32_t, std::size_t>{{1, 2}}));
  planned = plan_rows(prediction, all_rows(prediction),
                      {.cluster = cluster, .reservations = {}, .replaced = {{.ost = OstIndex{0}, .bytes = Bytes::gib(1)}}});
  ASSERT_TRUE(planned);
  EXPECT_EQ(files_on(*planned), (std::map<std::uint32_t, std::size_t>{{0, 1}, {1, 1}}));
}

TEST(Allocate, WhatOthersReplaceIsNoRoomYet) {
  model::Cluster cluster = cluster_of(2);
  cluster.osts[0].free.count -= Bytes::gib(1).count;
  cluster.osts[0].available = Bytes::mib(600);
  LocalPlan local{.cluster = cluster, .vanishing = {{.ost = OstIndex{0}, .bytes = Bytes::gib(1)}}};
  auto prediction = prediction_of(2, 512);
  auto planned = plan_rows(prediction, all_rows(prediction), local);
  ASSERT_TRUE(planned);
  EXPECT_EQ(files_on(*planned), (std::map<std::uint32_t, std::size_t>{{0, 1}, {1, 1}})) << "it weighs nothing";
  prediction = prediction_of(4, 512);
  planned = plan_rows(prediction, all_rows(prediction), local);
  ASSERT_TRUE(planned);
  EXPECT_EQ(files_on(*planned), (std::map<std::uint32_t, std::size_t>{{0, 1}, {1, 3}})) << "but it is there";
}

TEST(Allocate, OtherPlansAreHeeded) {
  const model::Cluster cluster = cluster_of(2);
  const auto prediction = prediction_of(2, 512);
  const auto planned =
      plan_rows(prediction, all_rows(prediction),
                {.cluster = cluster,
                 .reservations = {{.ost = OstIndex{1}, .bytes = Bytes::gib(1)}, {.ost = OstIndex{99}, .bytes = {1}}},
                 .replaced = {}});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(files_on(*planned), (std::map<std::uint32_t, std::size_t>{{0, 2}}));
}

TEST(Allocate, PatternsGetALayoutForEachFile) {
  const model::Cluster cluster = cluster_of(4);
  store::Prediction prediction = prediction_of(1, 10);
  prediction.rows[0].name = "/s/{run*}/out";
  prediction.rows[0].open = true;
  prediction.rows[0].files = 8;
  const auto planned = plan_rows(prediction, all_rows(prediction), {.cluster = cluster});
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->rows[0].layouts.size(), 8U);
  prediction.rows[0].files = kMaxLocalFiles + 1;
  EXPECT_EQ(plan_rows(prediction, all_rows(prediction), {.cluster = cluster}).error().code, Errc::limit);
}

TEST(Allocate, FoldersOfNames) {
  const std::vector<std::string> names{"/s/a/1", "/s/a/2", "/s/a/deep/3", "/s/b/1", "/x", "/s/{run*}/y"};
  EXPECT_EQ(spread_folders(names), (std::vector<std::string>{"/s/a/", "/s/b/"}));
}

TEST(Allocate, UnfitTargets) {
  model::Cluster cluster = cluster_of(4);
  cluster.osts[1].state.active = false;
  cluster.osts[2].available = {};
  const std::vector<OstIndex> used{OstIndex{0}, OstIndex{1}, OstIndex{2}, OstIndex{9}};
  const auto unfit = unfit_targets(used, cluster);
  ASSERT_EQ(unfit.size(), 3U);
  EXPECT_EQ(unfit[0].why, "inactive");
  EXPECT_EQ(unfit[1].why, "full");
  EXPECT_EQ(unfit[2].why, "gone");
}

TEST(Allocate, MendingMovesOnlyWhatItMust) {
  model::Cluster cluster = cluster_of(3);
  const auto prediction = prediction_of(6, 100);
  const auto planned = plan_rows(prediction, all_rows(prediction), {.cluster = cluster});
  ASSERT_TRUE(planned);
  store::Allocation allocation;
  allocation.rows = planned->rows;
  allocation.details = to_text(planned->details);
  for (std::size_t i = 0; i < allocation.rows.size(); ++i) allocation.rows[i].bytes = prediction.rows[i].bytes;
  cluster.osts[0].state.active = false;
  const auto unfit = unfit_targets(planned->details.osts, cluster);
  const auto mended = mend(allocation, prediction, unfit, cluster);
  ASSERT_TRUE(mended) << mended.error().message;
  for (std::size_t i = 0; i < allocation.rows.size(); ++i) {
    if (allocation.rows[i].layouts[0].osts[0] == OstIndex{0}) {
      EXPECT_NE(mended->rows[i].layouts[0].osts[0], OstIndex{0});
      EXPECT_NE(mended->rows[i].reason.find("planned anew"), std::string::npos);
    } else {
      EXPECT_EQ(mended->rows[i].layouts, allocation.rows[i].layouts);
    }
  }
  const auto details = parse_details(mended->details);
  ASSERT_TRUE(details);
  EXPECT_EQ(details->osts, (std::vector<OstIndex>{OstIndex{1}, OstIndex{2}}));
}

TEST(Allocate, StatisticsThatLagBehind) {
  const model::Cluster before = cluster_of(2);
  model::Cluster now = before;
  now.osts[1].free = now.osts[1].available = Bytes::gib(7);
  const std::vector<placement::Reservation> added{{.ost = OstIndex{0}, .bytes = Bytes::gib(2)},
                                                  {.ost = OstIndex{1}, .bytes = Bytes::gib(2)}};
  const model::Cluster least = at_least(now, before, added);
  EXPECT_EQ(model::used(least.osts[0]), Bytes::gib(2));
  EXPECT_EQ(model::used(least.osts[1]), Bytes::gib(3));
}

TEST(Allocate, DetailsAsText) {
  PlanDetails details;
  details.weights = {{OstIndex{3}, 7}, {OstIndex{4}, 100}};
  details.spread = {"/s/a/"};
  details.stripe_count = 4;
  details.osts = {OstIndex{1}};
  details.ost_cost_after = 1.25;
  details.revision = 9;
  details.notes = {"a note"};
  const auto read = parse_details(to_text(details));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, details);
  EXPECT_EQ(*parse_details("{}"), PlanDetails{});
  EXPECT_FALSE(parse_details("[]"));
  EXPECT_FALSE(parse_details("{"));
  EXPECT_TRUE(parse_details(R"({"weights":[[1],"x",[1,-2]],"osts":7,"notes":{},"before":3})"));
}

TEST(CompilePlan, FilesPatternsAndSpread) {
  const std::string path = fmt::format("{}/compile_plan_{}.iezplan", std::filesystem::temp_directory_path().string(), ::getpid());
  store::Allocation allocation;
  allocation.plan = "00000000000000ab";
  allocation.made_ns = 77;
  const auto add = [&](std::string name, std::string created_as, std::vector<std::uint32_t> osts, std::uint64_t files = 1) {
    store::AllocationRow row;
    row.row = static_cast<std::uint32_t>(allocation.rows.size());
    row.name = std::move(name);
    row.created_as = std::move(created_as);
    row.files = files;
    for (const std::uint32_t ost : osts) row.layouts.push_back({.stripe_size = Bytes::mib(1), .osts = {OstIndex{ost}}});
    allocation.rows.push_back(row);
  };
  add("/s/a", "", {3});
  add("/s/b", "/s/b.tmp", {4});
  add("/s/{run*}/c", "", {5, 6}, 2);
  add("/s/gone", "", {1});
  allocation.rows.back().state = store::PlanState::expired;
  PlanDetails details;
  details.weights = {{OstIndex{7}, 1}};
  details.spread = {"/s/"};
  allocation.details = to_text(details);
  const auto summary = compile_plan(allocation, path);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->id, 0xabU);
  EXPECT_EQ(summary->files, 2U);
  EXPECT_EQ(summary->rules, 2U);
  const auto reader = plan::PlanReader::open(path);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->check());
  EXPECT_EQ(reader->info().created_ns, 77);
  EXPECT_EQ(reader->explain("/s/a")->found, plan::Found::file);
  EXPECT_EQ(reader->explain("/s/b.tmp")->final_name, "/s/b");
  EXPECT_EQ(reader->explain("/s/x9/c")->found, plan::Found::pattern);
  EXPECT_EQ(reader->explain("/s/gone")->found, plan::Found::spread);
  EXPECT_EQ(reader->explain("/t")->found, plan::Found::nothing);
  std::filesystem::remove(path);
}

TEST(CompilePlan, NumbersOfPlans) {
  EXPECT_EQ(plan_number("00000000000000ff"), 255U);
  EXPECT_EQ(plan_number("ff"), 0U);
  EXPECT_EQ(plan_number("zz000000000000ff"), 0U);
  EXPECT_EQ(plan_text(255), "00000000000000ff");
}

}  // namespace
}  // namespace iez::runs
