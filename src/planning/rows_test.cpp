#include "planning/rows.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "planning/planning_test_support.hpp"

namespace iez::planning {
namespace {

TEST(Rows, APatternStandsForSeveralFilesOnTargetsOfTheirOwn) {
  const auto table = machine(3, 5);
  const std::vector<Row> rows{{.file = file(8, 0), .files = 15}};
  const auto planned = plan_rows(rows, {.table = table, .phase_seconds = {}, .speed = {}, .load = {}}, {.compare = false});
  ASSERT_TRUE(planned) << planned.error().message;
  ASSERT_EQ(planned->rows.at(0).layouts.size(), 15U);
  std::set<OstIndex> used;
  for (const RowLayout& layout : planned->rows[0].layouts) {
    ASSERT_EQ(layout.osts.size(), 1U);
    used.insert(layout.osts[0]);
  }
  EXPECT_EQ(used.size(), 15U);
  EXPECT_FALSE(planned->rows[0].reason.empty());
}

TEST(Rows, PhasesMayBeNumberedInAnyWay) {
  const auto table = machine(1, 2);
  const std::vector<Row> rows{{.file = file(10, 4'000'000'000)}, {.file = file(10, 7)}, {.file = file(10, 7)}};
  const auto planned = plan_rows(rows, {.table = table, .phase_seconds = {}, .speed = {}, .load = {}}, {.compare = false});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->plan.score.phases.size(), 2U);
  EXPECT_NE(planned->rows[1].layouts.at(0).osts, planned->rows[2].layouts.at(0).osts);
}

TEST(Rows, FilesThatAreLeftAloneHaveNoLayout) {
  const auto table = machine(1, 2);
  std::vector<Row> rows{{.file = file(10, 0)}, {.file = file(10, 0)}};
  rows[1].file.left_alone = true;
  const auto planned = plan_rows(rows, {.table = table, .phase_seconds = {}, .speed = {}, .load = {}}, {.compare = false});
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->rows[0].layouts.size(), 1U);
  EXPECT_TRUE(planned->rows[1].layouts.empty());
}

TEST(Rows, TheRowThatFindsNoRoomIsNamed) {
  const auto table = machine(1, 2);
  const std::vector<Row> rows{{.file = file(10, 1)}, {.file = file(30'000, 0, 1)}};
  const auto planned = plan_rows(rows, {.table = table, .phase_seconds = {}, .speed = {}, .load = {}});
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->plan.verdict, Verdict::no_room);
  EXPECT_FALSE(planned->made());
  EXPECT_EQ(planned->short_of_room, 1U);
  EXPECT_TRUE(planned->rows[0].layouts.empty());
}

TEST(Rows, TooManyFilesAreRefusedBeforeTheyCostAnything) {
  const auto table = machine(1, 2);
  const std::vector<Row> rows(3, Row{.file = file(1, 0), .files = ~std::uint64_t{0} / 2});
  const auto planned = plan_rows(rows, {.table = table, .phase_seconds = {}, .speed = {}, .load = {}});
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, Errc::limit);
}

}  // namespace
}  // namespace iez::planning
