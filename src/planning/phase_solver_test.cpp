#include "planning/phase_solver.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "planning/phase_bound.hpp"
#include "planning/planning_test_support.hpp"

namespace iez::planning {
namespace {

class PhaseSolverTest : public testing::Test {
 protected:
  void set_up(std::uint32_t servers, std::uint32_t per_server) {
    table_ = machine(servers, per_server);
    used_.assign(table_.targets.size(), 0);
    available_.assign(table_.targets.size(), Bytes::gib(10).count);
  }

  Solution solve(const std::vector<Item>& items, bool search = true, std::uint64_t effort = 200'000) {
    const Problem problem{.table = table_, .files = {}, .phases = std::vector<Phase>(1), .speed = speed_, .load = {}};
    PhaseSolver solver(problem, used_, available_, {.effort = effort});
    solver.refresh();
    PhaseLoad load(problem);
    load.begin(problem.phases[0]);
    Solution solution = solver.solve(load, items, search);
    bound_ = !solution.short_of_room.empty() ? 0 : PhaseBound(load, items, solver.members(0), available_).value(solution.time);
    return solution;
  }

  placement::TargetTable table_;
  std::vector<std::uint64_t> used_;
  std::vector<std::uint64_t> available_;
  std::vector<double> speed_;
  double bound_ = 0;
};

TEST_F(PhaseSolverTest, EqualObjectsAreDealtEvenly) {
  set_up(3, 5);
  const Solution solution = solve(std::vector<Item>(64, {.bytes = 10, .room = 10, .count = 8}));
  EXPECT_DOUBLE_EQ(solution.time, 350);  // 512 objects on 15 targets
  EXPECT_NEAR(bound_, 350, 1e-3);
}

TEST_F(PhaseSolverTest, ServersAreUsedInTurn) {
  set_up(3, 5);
  const Solution solution = solve(std::vector<Item>(6, {.bytes = 10, .room = 10}));
  std::vector<int> on_server(3);
  for (const std::uint32_t target : solution.targets) ++on_server[target / 5];
  EXPECT_EQ(on_server, (std::vector<int>{2, 2, 2}));
}

TEST_F(PhaseSolverTest, TheSearchMendsWhatTheFirstStepLeaves) {
  set_up(1, 2);
  // Largest first gives 3 + 2 + 2 against 3 + 2; 6 each is possible.
  const std::vector<Item> items{{.bytes = 3}, {.bytes = 3}, {.bytes = 2}, {.bytes = 2}, {.bytes = 2}};
  EXPECT_DOUBLE_EQ(solve(items, false).time, 7);
  EXPECT_DOUBLE_EQ(solve(items, true).time, 6);
}

TEST_F(PhaseSolverTest, RoomIsKept) {
  set_up(1, 3);
  available_ = {100, 5, 100};
  const Solution solution = solve(std::vector<Item>(10, {.bytes = 20, .room = 20}));
  ASSERT_TRUE(solution.short_of_room.empty());
  for (const std::uint32_t target : solution.targets) EXPECT_NE(target, 1U);
  EXPECT_EQ(solve(std::vector<Item>(11, {.bytes = 20, .room = 20})).short_of_room, (std::vector<std::size_t>{10}));
}

// Who finds no room takes none from those behind it, and all such files are told at once.
TEST_F(PhaseSolverTest, AllThatFindNoRoomAreTold) {
  set_up(1, 4);
  available_ = {100, 100, 40, 40};
  const Solution solution = solve({{.bytes = 90, .room = 90, .count = 3},
                                   {.bytes = 80, .room = 80, .count = 2},
                                   {.bytes = 70, .room = 70},
                                   {.bytes = 30, .room = 30, .count = 2}});
  EXPECT_EQ(solution.short_of_room, (std::vector<std::size_t>{0, 2}));
}

// What was too full for the large objects takes the small ones.
TEST_F(PhaseSolverTest, TargetsWithLittleRoomTakeSmallObjects) {
  set_up(1, 4);
  available_ = {100, 40, 20, 20};
  const Solution solution = solve({{.bytes = 60, .room = 60}, {.bytes = 40, .room = 40}, {.bytes = 20, .room = 20, .count = 2}});
  ASSERT_TRUE(solution.short_of_room.empty());
  EXPECT_EQ(solution.of(0).front(), 0U);
  EXPECT_EQ(solution.of(1).front(), 1U);
  EXPECT_EQ(std::set<std::uint32_t>(solution.of(2).begin(), solution.of(2).end()), (std::set<std::uint32_t>{2, 3}));
}

// Each stripe looks at every target; it must not look at all stripes before it, too.
TEST_F(PhaseSolverTest, WideFilesOnSlowServers) {
  set_up(40, 100);
  for (placement::Server& server : table_.servers) {
    server.bandwidth_known = true;
    server.share = &server == table_.servers.data() ? 0.5 : 1;
  }
  const Solution solution = solve(std::vector<Item>(40, {.bytes = 1, .room = 1, .count = 2000}), false);
  ASSERT_TRUE(solution.short_of_room.empty());
  std::vector<int> objects(table_.targets.size());
  for (const std::uint32_t target : solution.targets) ++objects[target];
  // Twenty on each target, one more on some; and half as many on the slow server.
  EXPECT_NEAR(std::accumulate(objects.begin(), objects.begin() + 100, 0), 1063, 3);
  EXPECT_EQ(std::ranges::max(objects), 21);
}

TEST_F(PhaseSolverTest, DegradedTargetsComeLast) {
  set_up(1, 4);
  table_.targets[0].degraded = true;
  for (const std::uint32_t target : solve(std::vector<Item>(9, {.bytes = 1})).targets) EXPECT_NE(target, 0U);
  const Solution all = solve({{.bytes = 1, .count = 4}});
  EXPECT_EQ(std::ranges::count(all.targets, 0U), 1);
}

TEST_F(PhaseSolverTest, FastTargetsTakeMore) {
  set_up(1, 2);
  speed_ = {1, 3};
  const Solution solution = solve(std::vector<Item>(40, {.bytes = 1}));
  EXPECT_EQ(std::ranges::count(solution.targets, 1U), 30);
}

// The search keeps files on distinct targets and within room, and never makes a phase slower.
TEST_F(PhaseSolverTest, RandomPhases) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    set_up(1 + static_cast<std::uint32_t>(rng.below(3)), 2 + static_cast<std::uint32_t>(rng.below(8)));
    const auto targets = static_cast<std::uint32_t>(table_.targets.size());
    for (std::uint64_t& room : available_) room = 2000 + rng.below(4000);
    std::vector<Item> items;
    for (std::uint64_t i = 0; i < 2 + rng.below(80); ++i) {
      const auto bytes = static_cast<double>(1 + rng.below(100));
      items.push_back({.bytes = bytes,
                       .room = static_cast<std::uint64_t>(bytes) + rng.below(20),
                       .count = static_cast<std::uint32_t>(1 + rng.below(std::min(4U, targets)))});
    }
    const Solution first = solve(items, false);
    const Solution best = solve(items, true, 50'000);
    ASSERT_EQ(first.short_of_room, best.short_of_room);
    if (!best.short_of_room.empty()) continue;
    EXPECT_LE(best.time, first.time * (1 + 1e-12));
    EXPECT_GE(best.time, bound_ * (1 - 1e-9));
    std::vector<std::uint64_t> needed(targets);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto own = best.of(i);
      ASSERT_EQ(own.size(), items[i].count);
      EXPECT_EQ(std::set<std::uint32_t>(own.begin(), own.end()).size(), own.size());
      for (const std::uint32_t target : own) needed[target] += items[i].room;
    }
    for (std::uint32_t j = 0; j < targets; ++j) EXPECT_LE(needed[j], available_[j]);
  }
}

}  // namespace
}  // namespace iez::planning
