#include "planning/evening.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "planning/planner.hpp"
#include "planning/planning_test_support.hpp"
#include "planning/rows.hpp"

namespace iez::planning {
namespace {

constexpr std::uint64_t kLooks = 1'000'000;

// Files of one stripe, each on the target that is given.
Placement on(const std::vector<File>& files, const std::vector<std::uint32_t>& targets) {
  Placement out{.files = {}, .targets = targets};
  for (std::size_t i = 0; i < files.size(); ++i) {
    out.files.push_back({.stripes = 1, .stripe_size = Bytes::mib(1), .object_bytes = files[i].bytes, .first = i});
  }
  return out;
}

Problem problem_of(const placement::TargetTable& table, const std::vector<File>& files, std::size_t phases) {
  return {.table = table, .files = files, .phases = std::vector<Phase>(phases), .speed = {}, .load = {}};
}

void expect_no_phase_slower(const Score& before, const Score& after) {
  for (std::size_t p = 0; p < before.phases.size(); ++p)
    EXPECT_LE(after.phases[p], before.phases[p] * (1 + 2e-9)) << "phase " << p;
}

TEST(Evening, AnObjectGoesWhereItDelaysNobody) {
  // The phase takes as long as the large file does: the two small ones may share a target, or not.
  const auto table = machine(1, 3);
  const std::vector<File> files{file(100, 0), file(50, 0), file(50, 0), file(40, 1)};
  const Problem problem = problem_of(table, files, 2);
  Placement placement = on(files, {0, 1, 1, 1});
  even_out_space(problem, placement, kLooks);
  const Score after = score(problem, placement);
  EXPECT_DOUBLE_EQ(after.seconds, static_cast<double>(Bytes::mib(140).count));
  EXPECT_EQ(std::ranges::max(after.added), Bytes::mib(100));
}

TEST(Evening, TheTimeOfAPhaseComesFirst) {
  // Target 0 is fuller by far, but every phase needs both.
  auto table = machine(1, 2);
  fill(table, 0, Bytes::mib(100));
  const std::vector<File> files{file(40, 0), file(40, 0), file(40, 1), file(40, 1)};
  const Problem problem = problem_of(table, files, 2);
  Placement placement = on(files, {0, 1, 0, 1});
  even_out_space(problem, placement, kLooks);
  EXPECT_EQ(placement.targets, (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

TEST(Evening, TheTimeOfAServerComesFirst) {
  // The second server has two targets, but serves no more than the first one does with its only one.
  auto table = machine(2, 2);
  table.targets[1].exclusion = placement::Exclusion::inactive;
  fill(table, 0, Bytes::mib(100));
  const std::vector<File> files{file(40, 0), file(40, 0)};
  const Problem problem = problem_of(table, files, 1);
  Placement placement = on(files, {0, 2});
  for (placement::Server& server : table.servers) server.bandwidth_known = true;
  even_out_space(problem, placement, kLooks);
  EXPECT_EQ(placement.targets, (std::vector<std::uint32_t>{0, 2}));
  for (placement::Server& server : table.servers) server.bandwidth_known = false;
  even_out_space(problem, placement, kLooks);
  EXPECT_EQ(placement.targets, (std::vector<std::uint32_t>{3, 2})) << "were it faster";
}

TEST(Evening, BundlesOfAPhaseChangePlaces) {
  // In both phases one target has two files and the other one that is nearly as large: no file can go anywhere by itself.
  const auto table = machine(1, 2);
  const std::vector<File> files{file(60, 0), file(60, 0), file(100, 0), file(60, 1), file(60, 1), file(100, 1)};
  const Problem problem = problem_of(table, files, 2);
  Placement placement = on(files, {0, 0, 1, 0, 0, 1});
  even_out_space(problem, placement, kLooks);
  const Score after = score(problem, placement);
  EXPECT_DOUBLE_EQ(after.seconds, static_cast<double>(Bytes::mib(240).count));
  EXPECT_EQ(after.added[0], Bytes::mib(220));
}

TEST(Evening, WhatIsReadTogetherStaysApart) {
  // With both files on target 1 the two would be more even, and their own phases as fast; but they are read together.
  auto table = machine(1, 2);
  fill(table, 0, Bytes::mib(150));
  std::vector<File> files{file(100, 0), file(100, 1)};
  for (const bool read : {true, false}) {
    for (File& one : files) one.read_phase = read ? 2 : kNoPhase;
    const Problem problem = problem_of(table, files, 3);
    Placement placement = on(files, {0, 1});
    even_out_space(problem, placement, kLooks);
    EXPECT_EQ(placement.targets[0], read ? 0U : 1U);
    EXPECT_EQ(placement.targets[1], 1U);
  }
}

TEST(Evening, PhasesOfOneFileUseTargetsInTurn) {
  const auto table = machine(1, 4);
  std::vector<File> files;
  for (std::uint32_t p = 0; p < 8; ++p) files.push_back(file(100, p));
  const Problem problem = problem_of(table, files, 8);
  Placement placement = on(files, std::vector<std::uint32_t>(8, 2));
  even_out_space(problem, placement, kLooks);
  const Score after = score(problem, placement);
  EXPECT_DOUBLE_EQ(after.balance.ost_cost, 1);
}

TEST(Evening, RoomPoolsAndClosedTargetsAreRespected) {
  auto table = machine(1, 5);
  table.targets[1].exclusion = placement::Exclusion::inactive;
  table.targets[2].available = Bytes::mib(99);
  table.targets[3].degraded = true;
  table.pools.push_back({.name = "two", .members = {0, 1}});
  std::vector<File> files{file(100, 0), file(100, 1)};
  files[1].pool = 1;
  const Problem problem = problem_of(table, files, 2);
  Placement placement = on(files, {0, 0});
  even_out_space(problem, placement, kLooks);
  EXPECT_EQ(placement.targets, (std::vector<std::uint32_t>{4, 0}));
}

TEST(Evening, ServersAreEvenToo) {
  const auto table = machine(2, 2);
  const std::vector<File> files{file(100, 0), file(100, 1)};
  const Problem problem = problem_of(table, files, 2);
  Placement placement = on(files, {0, 1});
  even_out_space(problem, placement, kLooks);
  EXPECT_DOUBLE_EQ(score(problem, placement).balance.oss_cost, 1);
}

Row files_of(std::uint64_t count, std::uint64_t mib, std::uint32_t stripes, std::uint32_t phase = 0) {
  return {.file = file(mib, phase, stripes), .files = count};
}

// Files for 15 empty targets of 1 TiB, and what is used afterwards.
double cost_of(const std::vector<Row>& rows, placement::TargetTable* left = nullptr) {
  auto table = machine(3, 5);
  for (placement::Target& target : table.targets) target.capacity = target.available = Bytes::gib(1024);
  if (left != nullptr && !left->targets.empty()) table = *left;
  const auto plan = plan_rows(rows, {.table = table}, {.compare = false});
  EXPECT_TRUE(plan);
  const Score& score = plan->plan.score;
  for (std::size_t j = 0; j < table.targets.size(); ++j) {
    fill(table, static_cast<std::uint32_t>(j), table.targets[j].used + score.added[j]);
  }
  if (left != nullptr) *left = table;
  return score.balance.ost_cost;
}

// The requests of examples/requests, which `iez demo` runs in small. Objects of one size on 15 targets: ceil(n / 15) is most.
TEST(Evening, OneApplicationIsAsEvenAsItsObjectsCanBe) {
  EXPECT_NEAR(cost_of({files_of(64, 1024, 8)}), 35 * 15 / 512.0, 1e-9);
  EXPECT_NEAR(cost_of({files_of(64, 1024, 4)}), 18 * 15 / 256.0, 1e-9);
  EXPECT_NEAR(cost_of({files_of(32, 432, 8)}), 18 * 15 / 256.0, 1e-9);
}

// 128 objects of 62 MiB and 64 of 512 MiB. If they are written at once, the small ones fill up what the large ones leave. If not,
// the small ones must not be more than 9 on a target, nor the large ones more than 5, so one of those four has 8 and 5 at least.
TEST(Evening, TwoApplicationsAreAsEvenAsTheirTimesAllow) {
  const double mean = (128 * 62 + 64 * 512) / 15.0;
  EXPECT_LT(cost_of({files_of(16, 493, 8), files_of(16, 2048, 4)}), 1.0058);
  EXPECT_NEAR(cost_of({files_of(16, 493, 8, 0), files_of(16, 2048, 4, 1)}), (8 * 62 + 5 * 512) / mean, 1e-3);
  placement::TargetTable left;
  EXPECT_NEAR(cost_of({files_of(16, 493, 8)}, &left), 9 * 15 / 128.0, 1e-9);
  EXPECT_NEAR(cost_of({files_of(16, 2048, 4)}, &left), (8 * 62 + 5 * 512) / mean, 1e-3);
}

// The least OSTCost of all placements of files of one stripe in which no phase takes longer.
double least_cost(const Problem& problem, Placement placement) {
  const Score given = score(problem, placement);
  double best = given.balance.ost_cost;
  const auto targets = static_cast<std::uint32_t>(problem.table.targets.size());
  std::ranges::fill(placement.targets, 0U);
  for (;;) {
    const Score now = score(problem, placement);
    bool sound = true;
    for (std::size_t p = 0; p < now.phases.size(); ++p) sound = sound && now.phases[p] <= given.phases[p] * (1 + 1e-9);
    if (sound) best = std::min(best, now.balance.ost_cost);
    std::size_t i = 0;
    while (i < placement.targets.size() && ++placement.targets[i] == targets) placement.targets[i++] = 0;
    if (i == placement.targets.size()) return best;
  }
}

TEST(Evening, NearTheMostEvenOfAllPlacements) {
  double excess = 0;
  constexpr int kProblems = 100;
  for (int seed = 1; seed <= kProblems; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(static_cast<std::uint64_t>(seed));
    const auto table = machine(1, 2 + static_cast<std::uint32_t>(rng.below(2)));
    const auto phases = static_cast<std::uint32_t>(1 + rng.below(4));
    std::vector<File> files;
    for (std::uint64_t i = 0, count = 3 + rng.below(5); i < count; ++i) {
      files.push_back(file(1 + rng.below(60), static_cast<std::uint32_t>(rng.below(phases))));
      if (rng.chance(0.2)) files.back().read_phase = static_cast<std::uint32_t>(rng.below(phases));
      if (files.back().read_phase == files.back().phase) files.back().read_phase = kNoPhase;
    }
    const Problem problem = problem_of(table, files, phases);
    const auto plan = make_plan(problem, {.compare = false});
    ASSERT_TRUE(plan);
    const double best = least_cost(problem, plan->placement);
    EXPECT_GE(plan->score.balance.ost_cost, best * (1 - 1e-9));
    excess += plan->score.balance.ost_cost / best - 1;
  }
  EXPECT_LT(excess / kProblems, 0.005);
}

// Whatever the problem and whatever the placement: sound, no phase slower, and not less even.
TEST(Evening, RandomPlacements) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    auto table = machine(1 + static_cast<std::uint32_t>(rng.below(4)), 1 + static_cast<std::uint32_t>(rng.below(6)));
    const auto targets = static_cast<std::uint32_t>(table.targets.size());
    for (std::uint32_t j = 0; j < targets; ++j) {
      fill(table, j, Bytes::mib(rng.below(rng.chance(0.3) ? 9000 : 3000)));
      if (rng.chance(0.3)) table.targets[j].available = Bytes::mib(60);
      if (rng.chance(0.1)) table.targets[j].degraded = true;
      if (j > 0 && rng.chance(0.1)) table.targets[j].exclusion = placement::Exclusion::inactive;
    }
    for (placement::Server& server : table.servers) server.bandwidth_known = rng.chance(0.3);
    if (rng.chance(0.3)) table.servers[0].share /= 3;
    const auto phases = static_cast<std::uint32_t>(1 + rng.below(6));
    std::vector<File> files;
    for (std::uint64_t i = 0, count = 1 + rng.below(60); i < count; ++i) {
      files.push_back(
          file(1 + rng.below(20), static_cast<std::uint32_t>(rng.below(phases)), 1 + static_cast<std::uint32_t>(rng.below(4))));
      files.back().left_alone = rng.chance(0.1);
      if (rng.chance(0.3)) files.back().read_phase = static_cast<std::uint32_t>(rng.below(phases));
    }
    Problem problem{.table = table, .files = files, .phases = std::vector<Phase>(phases, {1}), .speed = {}, .load = {}};
    for (std::uint32_t j = 0; j < targets && seed % 3 == 0; ++j) problem.speed.push_back(0.5 + rng.unit());
    for (std::uint32_t j = 0; j < targets && seed % 2 == 0; ++j)
      problem.load.push_back(static_cast<double>(rng.below(5'000'000)));
    auto plan = make_plan(problem, {.effort = 0, .compare = false});  // no evening of its own
    ASSERT_TRUE(plan);
    if (plan->verdict == Verdict::no_room || plan->verdict == Verdict::nothing) continue;
    const Score before = score(problem, plan->placement);
    even_out_space(problem, plan->placement, kLooks);
    expect_sound(problem, plan->placement);
    const Score after = score(problem, plan->placement);
    expect_no_phase_slower(before, after);
    EXPECT_LE(after.balance.ost_cost, before.balance.ost_cost * (1 + 1e-9));
    EXPECT_LE(after.balance.oss_cost, std::max(before.balance.oss_cost, 1 + kMoreEven) * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace iez::planning
