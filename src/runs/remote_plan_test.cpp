#include "runs/remote_plan.hpp"

#include <gtest/gtest.h>

#include "api/plan_json.hpp"
#include "runs/model_text.hpp"

namespace iez::runs {
namespace {

store::Prediction some_prediction() {
  store::Prediction prediction{.id = 4, .run = 9};
  for (int i = 0; i < 5; ++i) {
    prediction.rows.push_back({.name = "/s/a/" + std::to_string(i), .bytes = Bytes{100}, .high = Bytes{120}});
  }
  prediction.rows[1].left_alone = true;
  prediction.rows[2].phase = 3;
  prediction.rows[2].read_phase = 7;
  prediction.rows[2].default_stripes = 4;
  prediction.rows[2].default_stripe_size = Bytes{65536};
  prediction.rows[3].default_stripes = ~std::uint32_t{0};
  prediction.phase_seconds = {1.5, 0, 0, 2};
  return prediction;
}

WantedRows wanted_of(const store::Prediction& prediction, std::span<const std::uint32_t> rows) {
  return {.application = "ior", .host = "node1", .file_system = "lab", .prediction = prediction, .rows = rows, .freed = {}};
}

api::PlanAnswer answer_of(std::size_t files, std::size_t placed) {
  api::PlanAnswer answer{
      .plan = "00000000000000ab", .policy = "phases", .verdict = "predicted to take 50 % of the default's time"};
  answer.reasons = {"why"};
  answer.files.resize(files);
  for (std::size_t i = 0; i < placed; ++i) {
    answer.files[i].layouts = {{.stripe_size = 65536, .osts = {static_cast<std::uint32_t>(i)}}};
  }
  return answer;
}

TEST(RemotePlan, ARequestSaysWhatIsPredicted) {
  const store::Prediction prediction = some_prediction();
  const std::vector<std::uint32_t> rows{0, 1, 2, 3};
  WantedRows wanted = wanted_of(prediction, rows);
  wanted.always = true;
  wanted.gap_s = 60;
  wanted.idle_s = 5;
  wanted.slow =
      slow_osts(std::vector<planning::SlowTarget>{{.ost = {3}, .speed = 0.25}, {.ost = {4}, .speed = 0.5, .tried = true}});
  wanted.ran_s = 7;
  const api::PlanRequest request = request_of(wanted);
  EXPECT_TRUE(request.always);
  EXPECT_EQ(request.gap_s, 60);
  EXPECT_EQ(request.idle_s, 5);
  EXPECT_EQ(request.slow, (std::vector<api::SlowOst>{{.ost = 3, .speed = 0.25}})) << "OST 4 is tried again";
  EXPECT_EQ(request.ran_s, 7);
  EXPECT_EQ(request.phase_seconds, prediction.phase_seconds);
  ASSERT_EQ(request.files.size(), 4U);
  EXPECT_EQ(request.files[0].name, "/s/a/0");
  EXPECT_EQ(request.files[0].default_stripe_count, 1);
  EXPECT_EQ(request.files[1].phase, 3U);
  EXPECT_EQ(request.files[1].read_phase, 7);
  EXPECT_EQ(request.files[1].default_stripe_count, 4);
  EXPECT_EQ(request.files[1].default_stripe_size, 65536U);
  EXPECT_EQ(request.files[2].default_stripe_count, api::kAllTargets);
  EXPECT_EQ(request.files[3].name, "/s/a/1") << "left alone: it comes last";
  EXPECT_TRUE(request.files[3].left_alone);
  EXPECT_TRUE(api::check(request));
  EXPECT_EQ(api::parse_plan_request(api::to_json(request)).value(), request);
}

TEST(RemotePlan, MorePhasesThanARequestTakes) {
  store::Prediction prediction = some_prediction();
  prediction.phase_seconds.assign(api::kMaxPhaseSeconds + 5, 1);
  const std::vector<std::uint32_t> rows{0};
  EXPECT_EQ(request_of(wanted_of(prediction, rows)).phase_seconds.size(), api::kMaxPhaseSeconds);
}

// Rows of the allocation are the first entries of the request: by their place a coordinator is told what exists.
TEST(RemotePlan, RowsWithoutLayoutsAreNotInTheAllocation) {
  const store::Prediction prediction = some_prediction();
  const std::vector<std::uint32_t> rows{0, 1, 2, 3};
  const auto allocation = allocation_of(answer_of(4, 3), wanted_of(prediction, rows), "http://mds");
  ASSERT_TRUE(allocation) << allocation.error().message;
  EXPECT_EQ(allocation->plan, "00000000000000ab");
  ASSERT_EQ(allocation->rows.size(), 3U);
  const std::vector<std::uint32_t> expected{0, 2, 3};
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(allocation->rows[i].row, expected[i]);
    EXPECT_EQ(allocation->rows[i].layouts.at(0).osts, (std::vector<OstIndex>{{i}}));
    EXPECT_EQ(allocation->rows[i].reason, "why");
  }
  EXPECT_EQ(parse_details(allocation->details)->osts, (std::vector<OstIndex>{{0}, {1}, {2}}));
  EXPECT_EQ(parse_details(allocation->details)->notes.at(0), "predicted to take 50 % of the default's time");
  EXPECT_FALSE(allocation_of(answer_of(3, 3), wanted_of(prediction, rows), "http://mds")) << "a file is missing";
  api::PlanAnswer empty = answer_of(4, 3);
  empty.files[0].layouts[0].osts.clear();
  EXPECT_FALSE(allocation_of(empty, wanted_of(prediction, rows), "http://mds"));
}

}  // namespace
}  // namespace iez::runs
