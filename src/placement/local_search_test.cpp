#include "placement/local_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

struct Placed {
  std::vector<DemandClass> classes;
  Levels levels;
  Spreads spreads;
};

// Objects where the test puts them: places[k][at] objects of class k on target `at`; the targets are alike, so that places in the
// levels do not matter.
Placed put(const TargetTable& table, const std::vector<Demand>& demands, const std::vector<std::vector<std::uint32_t>>& places) {
  Placed placed{.classes = make_classes(demands), .levels = Levels(table, {}, {.target = 0, .server = 0}), .spreads = {}};
  placed.spreads.classes.resize(placed.classes.size());
  placed.spreads.second_choice.resize(placed.classes.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    for (std::uint32_t at = 0; at < places[k].size(); ++at) {
      if (places[k][at] == 0) continue;
      placed.spreads.classes[k].add(at, places[k][at]);
      placed.levels.add(at, places[k][at] * placed.classes[k].demand.object_bytes.count);
    }
  }
  return placed;
}

TEST(LocalSearch, MovesOffTheFullest) {
  const TargetTable table = grid(1, 2);
  Placed placed = put(table, {{Bytes::gib(2), 1}, {Bytes::gib(2), 1}}, {{2, 0}});
  EXPECT_DOUBLE_EQ(local_search(placed.classes, placed.levels, placed.spreads, {}), 0.2);
  EXPECT_EQ(placed.spreads.classes[0][0], 1U);
  EXPECT_EQ(placed.spreads.classes[0][1], 1U);
  EXPECT_DOUBLE_EQ(placed.levels.max_utilisation(), 0.2);
}

TEST(LocalSearch, ExchangesWhereNoMoveHelps) {
  // 4 + 3 against 3 + 2: a move only makes it worse; 4 for 3, or 3 for 2, makes both 6.
  const TargetTable table = grid(1, 2);
  const std::vector<Demand> demands{{Bytes::gib(4), 1}, {Bytes::gib(3), 1}, {Bytes::gib(3), 1}, {Bytes::gib(2), 1}};
  Placed placed = put(table, demands, {{1, 0}, {1, 1}, {0, 1}});
  EXPECT_DOUBLE_EQ(local_search(placed.classes, placed.levels, placed.spreads, {}), 0.6);
  EXPECT_DOUBLE_EQ(placed.levels[0].utilisation(), 0.6);
  EXPECT_DOUBLE_EQ(placed.levels[1].utilisation(), 0.6);
}

TEST(LocalSearch, StopsAtTheBoundAndWithoutEffort) {
  const TargetTable table = grid(1, 2);
  const std::vector<Demand> demands{{Bytes::gib(2), 1}, {Bytes::gib(2), 1}};
  Placed placed = put(table, demands, {{2, 0}});
  EXPECT_DOUBLE_EQ(local_search(placed.classes, placed.levels, placed.spreads, {.bound = 0.4}), 0.4);
  EXPECT_DOUBLE_EQ(local_search(placed.classes, placed.levels, placed.spreads, {.bound = 0, .effort = 0}), 0.4);
  EXPECT_EQ(placed.spreads.classes[0][0], 2U);
}

TEST(LocalSearch, NothingToSearch) {
  TargetTable table = grid(1, 1);
  Placed one = put(table, {{Bytes::gib(2), 1}}, {{1}});
  EXPECT_DOUBLE_EQ(local_search(one.classes, one.levels, one.spreads, {.bound = 0, .effort = 1000}), 0.2);
  table.targets[0].exclusion = Exclusion::inactive;
  Placed none = put(table, {}, {});
  EXPECT_EQ(local_search(none.classes, none.levels, none.spreads, {}), 0);
}

TEST(LocalSearch, AFileNeverGetsATargetTwice) {
  // One file on both targets: no object of it can move.
  const TargetTable table = grid(1, 2);
  const std::vector<Demand> demands{{Bytes::gib(2), 2}, {Bytes::gib(1), 1}};
  Placed placed = put(table, demands, {{1, 1}, {1, 0}});
  EXPECT_DOUBLE_EQ(local_search(placed.classes, placed.levels, placed.spreads, {.bound = 0, .effort = 10'000}), 0.3);
  EXPECT_EQ(placed.spreads.classes[0][0], 1U);
  EXPECT_EQ(placed.spreads.classes[0][1], 1U);
}

TEST(LocalSearch, NeverWorseAlwaysConsistent) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = large_instance(rng);
    const auto classes = make_classes(instance.demands);
    Levels levels(instance.table, classes, {});
    Spreads spreads = spread_classes(classes, levels);
    if (spreads.shortage) continue;
    const double before = levels.max_utilisation();
    const double reached = local_search(classes, levels, spreads, {.bound = 0, .effort = 20'000});
    EXPECT_LE(reached, before);
    EXPECT_DOUBLE_EQ(reached, levels.max_utilisation());
    better += reached < before ? 1 : 0;
    expect_consistent(instance, classes, levels, spreads);
    std::uint64_t planned = 0;
    for (std::uint32_t at = 0; at < levels.size(); ++at) planned += levels[at].planned;
    std::uint64_t on_servers = 0;
    for (std::uint32_t o = 0; o < levels.servers(); ++o) on_servers += levels.server(o).planned;
    EXPECT_EQ(on_servers, planned);
    if (HasFailure()) return;
  }
  EXPECT_GT(better, 10);
}

}  // namespace
}  // namespace iez::placement
