#include "coordinator/planned_rows.hpp"

#include <gtest/gtest.h>

#include "coordinator/view_test_support.hpp"

namespace iez::coordinator {
namespace {

placement::TargetTable fifteen() {
  model::Cluster cluster = make_cluster("lab", 3, 5, 1U << 30U);
  cluster.pools.push_back({.name = "flash", .osts = {{1}, {2}}});
  return *placement::make_targets(cluster, {});
}

TEST(PlannedRows, SayWhatARequestSays) {
  api::PlanRequest request{.application = "a"};
  api::FileRequest file{.name = "/s/{rank}", .bytes = 10, .high = 20, .files = 7};
  file.stripe_count = api::kAllTargets;
  file.stripe_size = 65536;
  file.pool = "flash";
  file.shared = true;
  file.phase = 9;
  file.read_phase = 12;
  file.left_alone = true;
  file.default_stripe_count = api::kAllTargets;
  file.default_stripe_size = 131072;
  request.files = {file, {.name = "/s/a", .bytes = 5}};
  const auto rows = rows_of(request, fifteen());
  ASSERT_TRUE(rows) << rows.error().message;
  const planning::Row& row = rows->at(0);
  EXPECT_EQ(row.files, 7U);
  EXPECT_EQ(row.file.bytes, Bytes{10});
  EXPECT_EQ(row.file.room, Bytes{20});
  EXPECT_EQ(row.file.stripes, 15U);
  EXPECT_EQ(row.file.stripe_size, Bytes{65536});
  EXPECT_EQ(row.file.pool, 1U);
  EXPECT_EQ(row.file.phase, 9U);
  EXPECT_EQ(row.file.read_phase, 12U);
  EXPECT_TRUE(row.file.shared);
  EXPECT_TRUE(row.file.left_alone);
  EXPECT_EQ(row.file.default_stripes, 15U);
  EXPECT_EQ(row.file.default_stripe_size, Bytes{131072});
  // With the fewest fields, as older clients send it: one phase, and Lustre's built-in default.
  const planning::Row& plain = rows->at(1);
  EXPECT_EQ(plain.file.stripes, 0U);
  EXPECT_EQ(plain.file.phase, 0U);
  EXPECT_EQ(plain.file.read_phase, planning::kNoPhase);
  EXPECT_EQ(plain.file.default_stripes, 1U);
  EXPECT_GT(plain.file.default_stripe_size.count, 0U);
  EXPECT_FALSE(plain.file.left_alone);
}

TEST(PlannedRows, RefuseWhatTheFileSystemDoesNotTake) {
  api::PlanRequest request{.application = "a", .files = {{.name = "/s/a", .bytes = 5}}};
  request.files[0].pool = "tape";
  EXPECT_EQ(rows_of(request, fifteen()).error().message, "'/s/a': the file system has no pool 'tape'");
  request.files[0].pool = "";
  request.files[0].stripe_size = 1000;
  EXPECT_EQ(rows_of(request, fifteen()).error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace iez::coordinator
