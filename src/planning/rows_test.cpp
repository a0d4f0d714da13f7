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

// Why a file has so many stripes: one sentence, with the numbers that decided.
TEST(Rows, ReasonsTellWhatDecidedTheStripes) {
  const auto table = machine(3, 5);
  const auto reason = [&](std::vector<Row> rows) {
    const auto planned = plan_rows(rows, {.table = table, .phase_seconds = {}, .speed = {}, .load = {}}, {.compare = false});
    return planned ? planned->rows.at(0).reason : planned.error().message;
  };
  const auto shared = [](File one) {
    one.shared = true;
    return one;
  };
  EXPECT_EQ(reason({{.file = file(8, 0, 0), .files = 15}}),
            "1 of 15 usable OSTs: one process writes it, and 15 files of its phase share them");
  EXPECT_EQ(reason({{.file = shared(file(150, 0, 0))}}),
            "all 15 usable OSTs: several processes use it at once; 10.0 MiB on each");
  EXPECT_EQ(reason({{.file = file(150, 0, 0)}}), "all 15 usable OSTs: it is the only large file of its phase; 10.0 MiB on each");
  EXPECT_EQ(
      reason({{.file = shared(file(3, 0, 0))}}),
      "3 of 15 usable OSTs: several processes use it at once; 1.00 MiB on each, and smaller objects than 1.00 MiB are not made");
  EXPECT_EQ(reason({{.file = file(1, 0, 0)}}), "1 of 15 usable OSTs: its 1.00 MiB would make more objects smaller than 1.00 MiB");
  EXPECT_EQ(reason({{.file = file(8, 0, 4)}}), "4 of 15 usable OSTs: 4 stripes are set for it");
  EXPECT_EQ(reason({{.file = file(8, 0, 20)}}), "all 15 usable OSTs; 20 stripes were asked for");
  Row small{.file = file(1, 0, 1), .files = 3};
  small.file.left_alone = true;
  EXPECT_EQ(reason({{.file = file(150, 0, 0)}, small}),
            "all 15 usable OSTs: it is the only large file of its phase; 10.0 MiB on each");
  const std::string dominant = reason({{.file = file(300, 0, 0)}, {.file = file(1, 0, 1), .files = 3}});
  EXPECT_NE(dominant.find("it holds 300 MiB of the 303 MiB of its phase; "), std::string::npos) << dominant;
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
