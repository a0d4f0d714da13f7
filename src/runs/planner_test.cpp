#include "runs/planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>
#include <unistd.h>

#include "lustre/tree_test_support.hpp"
#include "plan/plan_reader.hpp"
#include "planning/waiting.hpp"
#include "runs/compile_plan.hpp"
#include "runs/model_text.hpp"
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
    row.default_stripes = std::max(1U, count);
    prediction.rows.push_back(row);
  }
  return prediction;
}

std::vector<std::uint32_t> all_rows(const store::Prediction& prediction) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < prediction.rows.size(); ++i) rows.push_back(i);
  return rows;
}

using Files = std::map<std::uint32_t, std::size_t>;  // OST -> objects

// Of the rows of one phase.
Files files_on(const store::Prediction& prediction, const PlanOutcome& planned, std::uint32_t phase = 0) {
  Files counts;
  for (const auto& row : planned.allocation->rows) {
    if (prediction.rows[row.row].phase != phase) continue;
    for (const auto& layout : row.layouts) {
      for (const OstIndex ost : layout.osts) ++counts[ost.value];
    }
  }
  return counts;
}

constexpr bool kAlways = true;

TEST(Planner, EachPhaseUsesAllTargets) {
  const model::Cluster cluster = cluster_of(5);
  auto prediction = prediction_of(20, 100);
  for (std::uint32_t i = 0; i < 20; ++i) prediction.rows[i].phase = i / 5;
  const auto planned = plan_locally(prediction, all_rows(prediction), {.cluster = cluster}, kAlways);
  ASSERT_TRUE(planned) << planned.error().message;
  ASSERT_TRUE(planned->allocation);
  ASSERT_EQ(planned->allocation->rows.size(), 20U);
  for (std::uint32_t phase = 0; phase < 4; ++phase) {
    EXPECT_EQ(files_on(prediction, *planned, phase), (Files{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}));
  }
  const auto details = parse_details(planned->allocation->details);
  ASSERT_TRUE(details);
  EXPECT_DOUBLE_EQ(details->ost_cost_after, 1);
  EXPECT_EQ(details->osts.size(), 5U);
  EXPECT_FALSE(planned->allocation->rows[0].reason.empty());
}

TEST(Planner, WhereTheDefaultIsAsGoodThereIsNoPlan) {
  const model::Cluster cluster = cluster_of(5);
  const auto prediction = prediction_of(5, 100);
  const auto planned = plan_locally(prediction, all_rows(prediction), {.cluster = cluster}, false);
  ASSERT_TRUE(planned);
  EXPECT_FALSE(planned->allocation);
  EXPECT_EQ(planned->verdict, "Lustre's default is as good");
}

TEST(Planner, ASlowTargetIsLeftWhereTheDefaultWouldWaitForIt) {
  const model::Cluster cluster = cluster_of(5);
  const auto prediction = prediction_of(5, 100);
  const std::vector slow{planning::SlowTarget{.ost = OstIndex{3}, .speed = 0.1, .seen = 1}};
  const auto planned = plan_locally(prediction, all_rows(prediction), {.cluster = cluster, .slow = slow}, false);
  ASSERT_TRUE(planned);
  ASSERT_TRUE(planned->allocation) << planned->verdict;
  EXPECT_FALSE(files_on(prediction, *planned).contains(3));
  EXPECT_NEAR(planned->gain, 5, 0.1);  // two files on one target instead of one on that
  const std::string told = "OST 3 works at about 0.10 of the others' speed and gets less";
  EXPECT_NE(planned->verdict.find(told), std::string::npos) << planned->verdict;
  EXPECT_NE(planned->allocation->details.find(told), std::string::npos);
}

TEST(Planner, ATargetThatIsTriedAgainIsLikeAnyOther) {
  const model::Cluster cluster = cluster_of(5);
  const auto prediction = prediction_of(5, 100);
  const std::vector slow{planning::SlowTarget{.ost = OstIndex{3}, .speed = 0.1, .tried = true, .seen = 1}};
  const auto planned = plan_locally(prediction, all_rows(prediction), {.cluster = cluster, .slow = slow}, false);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->verdict, "Lustre's default is as good");
}

TEST(Planner, UnequalSizesAreWorthAPlan) {
  const model::Cluster cluster = cluster_of(5);
  auto prediction = prediction_of(10, 100);
  for (std::uint32_t i = 0; i < 10; ++i) prediction.rows[i].bytes = prediction.rows[i].high = Bytes::mib(10 * (i + 1));
  const auto planned = plan_locally(prediction, all_rows(prediction), {.cluster = cluster}, false);
  ASSERT_TRUE(planned);
  ASSERT_TRUE(planned->allocation) << planned->verdict;
  EXPECT_GT(planned->gain, 1.1);
  EXPECT_NE(planned->verdict.find("of the default's time"), std::string::npos);
}

TEST(Planner, WaitingPlansOfOthersAreSpaceAndNotTraffic) {
  const model::Cluster cluster = cluster_of(3);
  const auto prediction = prediction_of(3, 512);
  const auto planned = plan_locally(
      prediction, all_rows(prediction),
      {.cluster = cluster, .reservations = {{.ost = OstIndex{1}, .bytes = Bytes::gib(8)}, {.ost = OstIndex{99}, .bytes = {1}}}},
      kAlways);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(files_on(prediction, *planned), (Files{{0, 1}, {1, 1}, {2, 1}}));
}

TEST(Planner, WhoIsShortOfRoomGetsLess) {
  const model::Cluster cluster = cluster_of(2);
  const auto prediction = prediction_of(4, 512);
  const LocalView full{.cluster = cluster, .reservations = {{.ost = OstIndex{0}, .bytes = Bytes::mib(9600)}}, .replaced = {}};
  auto planned = plan_locally(prediction, all_rows(prediction), full, kAlways);
  ASSERT_TRUE(planned);
  EXPECT_EQ(files_on(prediction, *planned), (Files{{0, 1}, {1, 3}}));
}

TEST(Planner, WhatIsReplacedMakesRoom) {
  model::Cluster cluster = cluster_of(2);
  cluster.osts[0].free = cluster.osts[0].available = Bytes::mib(100);
  const auto prediction = prediction_of(2, 512);
  auto planned = plan_locally(prediction, all_rows(prediction), {.cluster = cluster}, kAlways);
  ASSERT_TRUE(planned);
  EXPECT_EQ(files_on(prediction, *planned), (Files{{1, 2}}));
  planned =
      plan_locally(prediction, all_rows(prediction),
                   {.cluster = cluster, .reservations = {}, .replaced = {{.ost = OstIndex{0}, .bytes = Bytes::gib(1)}}}, kAlways);
  ASSERT_TRUE(planned);
  EXPECT_EQ(files_on(prediction, *planned), (Files{{0, 1}, {1, 1}}));
}

TEST(Planner, NoRoomNamesTheFile) {
  const model::Cluster cluster = cluster_of(2, 1);
  const auto prediction = prediction_of(1, 5000, 1);
  const auto planned = plan_locally(prediction, all_rows(prediction), {.cluster = cluster}, false);
  ASSERT_TRUE(planned);
  EXPECT_FALSE(planned->allocation);
  EXPECT_NE(planned->verdict.find("/s/out.0: not enough room"), std::string::npos);
}

TEST(Planner, PatternsGetALayoutForEachFileAndSmallOnesNone) {
  const model::Cluster cluster = cluster_of(4);
  store::Prediction prediction = prediction_of(2, 10);
  prediction.rows[0].name = "/s/{run*}/out";
  prediction.rows[0].open = true;
  prediction.rows[0].files = 8;
  prediction.rows[1].left_alone = true;
  auto planned = plan_locally(prediction, all_rows(prediction), {.cluster = cluster}, kAlways);
  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->allocation->rows.size(), 1U);
  EXPECT_EQ(planned->allocation->rows[0].layouts.size(), 8U);
  prediction.rows[0].files = 2'000'000;
  EXPECT_EQ(plan_locally(prediction, all_rows(prediction), {.cluster = cluster}, kAlways).error().code, Errc::limit);
}

TEST(Planner, TheUsualGapIsTheMedian) {
  const auto at = [](double seconds) {
    store::Run run;
    run.started_ns = static_cast<std::int64_t>(seconds * 1e9);
    return run;
  };
  EXPECT_EQ(usual_gap_s({}), 0);
  EXPECT_EQ(usual_gap_s(std::vector{at(5)}), 0);
  EXPECT_DOUBLE_EQ(usual_gap_s(std::vector{at(10000), at(300), at(200), at(100)}), 100);
}

TEST(Planner, ReservationsAreOfWhatIsStillPlanned) {
  store::Allocation allocation;
  for (const auto state : {store::PlanState::planned, store::PlanState::created}) {
    store::AllocationRow row;
    row.bytes = Bytes::mib(8);
    row.state = state;
    row.layouts = {{.stripe_size = Bytes::mib(1), .osts = {OstIndex{1}, OstIndex{2}}}};
    allocation.rows.push_back(row);
  }
  const auto reserved = reservations_of(allocation, 0.5);
  ASSERT_EQ(reserved.size(), 2U);
  EXPECT_EQ(reserved[0].bytes, Bytes::mib(2));
}

TEST(Planner, UnfitTargets) {
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

TEST(Planner, StatisticsThatLagBehind) {
  const model::Cluster before = cluster_of(2);
  model::Cluster now = before;
  now.osts[1].free = now.osts[1].available = Bytes::gib(7);
  const std::vector<placement::Reservation> added{{.ost = OstIndex{0}, .bytes = Bytes::gib(2)},
                                                  {.ost = OstIndex{1}, .bytes = Bytes::gib(2)}};
  const model::Cluster least = at_least(now, before, added);
  EXPECT_EQ(model::used(least.osts[0]), Bytes::gib(2));
  EXPECT_EQ(model::used(least.osts[1]), Bytes::gib(3));
}

// The whole way on this node: targets by their parameters, other plans by the store.
class PlanHere : public testing::Test {
 protected:
  PlanHere() : clock_(WallTime(std::chrono::days(20'000))) {
    for (const char* const ost : {"fs-OST0000", "fs-OST0001"}) tree_.add_ost(ost, 10U << 20U, 10U << 20U, 10U << 20U);
    auto opened = store::Store::open(tree_.path("iez.db"), clock_);
    EXPECT_TRUE(opened) << opened.error().message;
    store_ = *std::move(opened);
    settings_.roots = {tree_.root()};
    settings_.place.always = true;
  }

  store::Application application(const char* owner, const char* name) {
    const auto made = store_->ensure_application(owner, name, "");
    EXPECT_TRUE(made);
    return *made;
  }
  // OST 0 has room for one file of 512 MiB beside what this plan will write there.
  void add_plan(const store::Application& of, const char* file_system) {
    store::Prediction prediction = prediction_of(1, 9600);
    prediction.application = of.id;
    prediction.made_ns = clock_.wall().time_since_epoch().count();
    const auto id = store_->put_prediction(prediction);
    ASSERT_TRUE(id) << id.error().message;
    store::Allocation allocation;
    allocation.prediction = *id;
    allocation.plan = plan_text(1);
    allocation.made_ns = prediction.made_ns;
    allocation.planner = kLocalPlanner;
    allocation.file_system = file_system;
    allocation.rows.emplace_back().layouts = {{.stripe_size = Bytes::mib(1), .osts = {OstIndex{0}}}};
    const auto stored = store_->put_allocation(allocation);
    ASSERT_TRUE(stored) << stored.error().message;
  }
  Files planned(const store::Application& application, const std::unordered_map<std::string, model::Cluster>& before = {}) {
    const store::Prediction prediction = prediction_of(4, 512);
    const std::vector<LayoutMount> mounts{{.path = "/s", .file_system = "fs"}};
    std::vector<std::string> notes;
    const auto outcome = make_plan({.settings = settings_,
                                    .application = application,
                                    .prediction = prediction,
                                    .mounts = mounts,
                                    .before = before,
                                    .files = {},
                                    .store = *store_,
                                    .host = "",
                                    .clock = clock_,
                                    .notes = notes});
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome && outcome->allocation ? files_on(prediction, *outcome) : Files{};
  }

  lustre::TemporaryTree tree_;
  ManualClock clock_;
  std::unique_ptr<store::Store> store_;
  config::Settings settings_;
};

TEST_F(PlanHere, WaitingPlansOfOthersAreSpaceThatFades) {
  const auto mine = application("me", "mine");
  add_plan(application("me", "elsewhere"), "other");
  add_plan(application("somebody", "mine"), "fs");
  EXPECT_EQ(planned(mine), (Files{{0, 2}, {1, 2}}));
  add_plan(application("me", "waiting"), "fs");
  EXPECT_EQ(planned(mine), (Files{{0, 1}, {1, 3}}));
  clock_.advance(std::chrono::hours(24 * planning::kGapsGone));  // nobody knows how often it runs: a day is assumed
  EXPECT_EQ(planned(mine), (Files{{0, 2}, {1, 2}}));
}

TEST_F(PlanHere, ThePlanThatIsReplacedTakesNoRoom) {
  const auto mine = application("me", "mine");
  add_plan(mine, "fs");
  EXPECT_EQ(planned(mine), (Files{{0, 2}, {1, 2}}));
  EXPECT_EQ(planned(application("me", "another")), (Files{{0, 1}, {1, 3}}));
}

TEST_F(PlanHere, StatisticsThatLagBehindWhatWasKnownBeforeTheRun) {
  const auto mine = application("me", "mine");
  model::Cluster before = cluster_of(2);
  EXPECT_EQ(planned(mine, {{"fs", before}}), (Files{{0, 2}, {1, 2}}));
  before.osts[0].free = before.osts[0].available = Bytes::mib(700);
  EXPECT_EQ(planned(mine, {{"fs", before}}), (Files{{0, 1}, {1, 3}}));
  EXPECT_EQ(planned(mine, {{"other", before}}), (Files{{0, 2}, {1, 2}}));
}

TEST(Planner, DetailsAsText) {
  PlanDetails details;
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

TEST(CompilePlan, FilesAndPatterns) {
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
  allocation.details = R"({"weights":[[7,1]],"spread":["/s/"]})";  // of an older iez: files that nobody predicted are Lustre's
  const auto summary = compile_plan(allocation, path);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->id, 0xabU);
  EXPECT_EQ(summary->files, 2U);
  EXPECT_EQ(summary->rules, 1U);
  const auto reader = plan::PlanReader::open(path);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->check());
  EXPECT_EQ(reader->info().created_ns, 77);
  EXPECT_EQ(reader->explain("/s/a")->found, plan::Found::file);
  EXPECT_EQ(reader->explain("/s/b.tmp")->final_name, "/s/b");
  EXPECT_EQ(reader->explain("/s/x9/c")->found, plan::Found::pattern);
  EXPECT_EQ(reader->explain("/s/gone")->found, plan::Found::nothing);
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
