#include "coordinator/mend.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "coordinator/view_test_support.hpp"

namespace iez::coordinator {
namespace {

placement::TargetTable table_of(const model::Cluster& cluster) { return *placement::make_targets(cluster, {}); }

// Files of 10 MiB with one stripe, in so many phases, each on the next OST of 15.
StoredPlan some_plan(std::uint32_t phases, std::uint32_t each) {
  StoredPlan plan{.id = 1, .application = "a", .file_system = "lab"};
  plan.reasons = {"1 of 15 usable OSTs"};
  plan.pools = {""};
  for (std::uint32_t p = 0; p < phases; ++p) {
    for (std::uint32_t i = 0; i < each; ++i) {
      const auto number = static_cast<std::uint32_t>(plan.layouts.size());
      plan.entries.push_back({.first = number, .layouts = 1, .created = 0, .phase = p});
      StoredLayout layout{.bytes = 12U << 20U, .expected = 10U << 20U, .object_bytes = 12U << 20U, .stripe_size = 1U << 20U};
      layout.first = number;
      layout.stripes = 1;
      plan.layouts.push_back(layout);
      plan.osts.push_back(i);
    }
  }
  return plan;
}

std::vector<bool> those_on(const StoredPlan& plan, std::uint32_t ost) {
  std::vector<bool> out;
  for (const StoredLayout& layout : plan.layouts) out.push_back(std::ranges::count(plan.osts_of(layout), ost) > 0);
  return out;
}

// Ten files a phase on OSTs 0 to 9, and OST 3 dies: in every phase one of the five OSTs that the phase leaves idle gets its file.
TEST(Mend, AFileGoesWhereItsPhaseHasLeast) {
  model::Cluster cluster = make_cluster("lab", 3, 5, 1U << 30U);
  cluster.osts[3].state.active = false;
  const StoredPlan plan = some_plan(4, 10);
  const auto next = mended({.plan = plan, .affected = those_on(plan, 3), .table = table_of(cluster), .options = {}});
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_TRUE(*next);
  EXPECT_EQ((*next)->revision, 2U);
  for (std::uint32_t p = 0; p < 4; ++p) {
    std::set<std::uint32_t> used;
    for (std::uint32_t i = 0; i < 10; ++i) {
      const StoredLayout& layout = (*next)->layouts[p * 10 + i];
      const std::uint32_t ost = (*next)->osts_of(layout)[0];
      used.insert(ost);
      if (i == 3) {
        EXPECT_GE(ost, 10U);
        EXPECT_NE((*next)->reasons[layout.reason].find("planned anew"), std::string::npos);
      } else {
        EXPECT_EQ(ost, i) << "the others stay";
      }
    }
    EXPECT_EQ(used.size(), 10U) << "phase " << p;
  }
  EXPECT_EQ(decode(encode(**next)).value(), **next);
}

// Of the five OSTs that the phases leave idle the request found four to be slow.
TEST(Mend, AFileGoesNotWhereItIsSlow) {
  model::Cluster cluster = make_cluster("lab", 3, 5, 1U << 30U);
  cluster.osts[3].state.active = false;
  StoredPlan plan = some_plan(4, 10);
  for (std::uint32_t ost = 10; ost < 14; ++ost) plan.slow.push_back({.ost = ost, .speed = 0.1});
  const auto next = mended({.plan = plan, .affected = those_on(plan, 3), .table = table_of(cluster), .options = {}});
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_TRUE(*next);
  for (std::uint32_t p = 0; p < 4; ++p) {
    EXPECT_EQ((*next)->osts_of((*next)->layouts[p * 10 + 3])[0], 14U) << "phase " << p;
  }
  EXPECT_EQ((*next)->slow, plan.slow);
}

TEST(Mend, NothingChangesWhereThereIsNoBetterPlace) {
  model::Cluster cluster = make_cluster("lab", 1, 1, 1U << 30U);
  const StoredPlan plan = some_plan(1, 1);
  const auto next = mended({.plan = plan, .affected = {true}, .table = table_of(cluster), .options = {}});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_FALSE(*next);
}

// What the other files of the plan will take is no room for those that move.
TEST(Mend, RoomIsLessWhatTheRestOfThePlanTakes) {
  model::Cluster cluster = make_cluster("lab", 1, 3, 20U << 20U);
  cluster.osts[0].state.active = false;
  const StoredPlan plan = some_plan(1, 3);
  const auto next = mended({.plan = plan, .affected = those_on(plan, 0), .table = table_of(cluster), .options = {}});
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Errc::limit);
  StoredPlan begun = plan;
  begun.entries[1].created = 1;  // its bytes are in telemetry
  EXPECT_TRUE(mended({.plan = begun, .affected = those_on(plan, 0), .table = table_of(cluster), .options = {}}));
}

}  // namespace
}  // namespace iez::coordinator
