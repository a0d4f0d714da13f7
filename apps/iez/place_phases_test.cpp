#include "place_phases.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "place_test_support.hpp"

namespace iez::cli {
namespace {

using testing::HasSubstr;

placement::Request in_phase(std::string name, std::uint64_t mib, std::uint32_t phase) {
  placement::Request request = small_request(std::move(name), Bytes::mib(mib), 1);
  request.phase = phase;
  return request;
}

PhasesPlan planned(const placement::TargetTable& table, const std::vector<placement::Request>& requests) {
  auto plan = plan_phases(table, requests);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return *std::move(plan);
}

// Two steps of four files with one large one each: round robin puts large and small ones anywhere.
std::vector<placement::Request> two_steps() {
  std::vector<placement::Request> requests;
  for (const std::uint32_t phase : {5U, 2U}) {
    for (std::uint32_t i = 0; i < 6; ++i) requests.push_back(in_phase(fmt::format("s{}.{}", phase, i), i < 2 ? 8 : 4, phase));
  }
  return requests;
}

TEST(PlacePhases, EachPhaseIsPlannedByItselfUnderItsOwnNumber) {
  const auto table = small_table();
  const auto requests = two_steps();
  const PhasesPlan plan = planned(table, requests);
  ASSERT_EQ(plan.phases.size(), 2U);
  EXPECT_EQ(plan.phases[0].phase, 2U);
  EXPECT_EQ(plan.phases[1].phase, 5U);
  for (const PhaseRow& row : plan.phases) {
    EXPECT_EQ(row.files, 6U);
    EXPECT_EQ(row.bytes, Bytes::mib(32));
    EXPECT_DOUBLE_EQ(row.by_plan, 8.0 * (1 << 20U));
    EXPECT_NEAR(row.bound, row.by_plan, 10);
    ASSERT_TRUE(row.by_default);
    EXPECT_GT(*row.by_default, row.by_plan);
  }
  EXPECT_EQ(plan.verdict, planning::Verdict::faster);
  // In the order of the requests, whatever that of the phases.
  ASSERT_EQ(plan.plan.files.size(), requests.size());
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(plan.plan.files[i].request, i);
    EXPECT_EQ(plan.plan.files[i].bytes, requests[i].bytes);
    EXPECT_EQ(plan.plan.files[i].stripes, 1U);
  }
}

TEST(PlacePhases, WithoutPhasesAllFilesAreOneAndEqualOnesAreAsGoodByDefault) {
  const auto table = small_table();
  std::vector<placement::Request> requests;
  for (int i = 0; i < 4; ++i) requests.push_back(small_request(fmt::format("f{}", i), Bytes::mib(8), 1));
  const PhasesPlan plan = planned(table, requests);
  ASSERT_EQ(plan.phases.size(), 1U);
  EXPECT_EQ(plan.verdict, planning::Verdict::as_good);
  const PlanView view{.cluster = "small", .table = table, .requests = requests, .plan = plan.plan};
  EXPECT_THAT(phases_text(view, plan, 20, true, {}),
              HasSubstr("Lustre's default is as good: iez would leave these files to it."));
}

TEST(PlacePhases, SmallFilesAreLeftToLustre) {
  const auto table = small_table();
  std::vector<placement::Request> requests = two_steps();
  requests.push_back(small_request("note", Bytes::kib(4), 1));
  const PhasesPlan plan = planned(table, requests);
  EXPECT_EQ(plan.left_alone, 1U);
  EXPECT_EQ(plan.plan.files.back().stripes, 0U);
  const PlanView view{.cluster = "small", .table = table, .requests = requests, .plan = plan.plan};
  const std::string text = phases_text(view, plan, 20, true, {});
  EXPECT_THAT(text, HasSubstr("(left to Lustre)"));
  EXPECT_THAT(text, HasSubstr("1 file below 1.05 MB left to Lustre"));
}

TEST(PlacePhases, Json) {
  const auto table = small_table();
  const auto requests = two_steps();
  const PhasesPlan plan = planned(table, requests);
  const PlanView view{.cluster = "small", .table = table, .requests = requests, .plan = plan.plan};
  const auto json = nlohmann::json::parse(phases_json(view, plan, 100));
  EXPECT_EQ(json["policy"], "phases");
  EXPECT_EQ(json["verdict"], "faster");
  EXPECT_EQ(json["placed"], true);
  EXPECT_TRUE(json["bound"].is_null());
  EXPECT_EQ(json["phases"].size(), 2U);
  EXPECT_EQ(json["phases"][0]["phase"], 2);
  EXPECT_EQ(json["phases"][0]["largest_load"], 8 << 20U);
  EXPECT_GT(json["phases"][0]["largest_load_by_default"], 8 << 20U);
  EXPECT_EQ(json["files"].size(), requests.size());
  EXPECT_EQ(json["files"][0]["components"][0]["osts"].size(), 1U);
}

TEST(PlacePhases, FilesThatAreReadTogetherAreAPhase) {
  const auto table = small_table();
  std::vector<placement::Request> requests = two_steps();
  for (placement::Request& request : requests) request.read_phase = 9;
  const PhasesPlan plan = planned(table, requests);
  ASSERT_EQ(plan.phases.size(), 3U);
  EXPECT_EQ(plan.phases[2].phase, 9U);
  EXPECT_EQ(plan.phases[2].files, requests.size());
  EXPECT_NEAR(plan.phases[2].by_plan, 16.0 * (1 << 20U), 1);
}

TEST(PlacePhases, WhatCannotBePlannedIsNamed) {
  const auto table = small_table();
  const auto refusal = [&](placement::Request request) {
    const std::vector requests{std::move(request)};
    const auto plan = plan_phases(table, requests);
    EXPECT_FALSE(plan);
    return plan ? "" : plan.error().message;
  };
  placement::Request request = small_request("f", Bytes::mib(8), 1);
  request.overstripe = true;
  EXPECT_EQ(refusal(request), "file 'f' may be overstriped: --phases plans plain files");
  request.overstripe = false;
  request.components.push_back({.end = model::Extent::kEof});
  EXPECT_EQ(refusal(request), "file 'f' has components: --phases plans plain files");
  request.components.clear();
  request.pool = "tape";
  EXPECT_EQ(refusal(request), "file 'f': no pool 'tape' in this file system");
  EXPECT_EQ(refusal(small_request("g", Bytes::gib(1), 1)), "file 'g' fits on no set of OSTs beside the others");
}

}  // namespace
}  // namespace iez::cli
