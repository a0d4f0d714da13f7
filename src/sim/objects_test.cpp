#include "sim/objects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/sim_test_support.hpp"
#include "sim/simulation.hpp"

namespace iez::sim {
namespace {

// 3 servers with 5 targets each.
Machine testbed(std::uint32_t nodes) {
  Machine machine{.name = "testbed", .nodes = nodes};
  machine.servers.push_back({.count = 3, .targets = 5, .server = {.threads = 64}, .target = {.write_rate = {100e6}}});
  return machine;
}

Scenario steps(const std::string& policy, std::uint32_t processes = 15, std::uint32_t files = 4) {
  Scenario scenario{
      .name = "steps", .machine = testbed(processes), .jobs = {file_per_process(processes, 4)}, .placement = policy};
  scenario.jobs[0].pattern.files = files;
  scenario.jobs[0].pattern.barrier = true;
  return scenario;
}

std::vector<std::uint32_t> targets_of_step(const ObjectTable& table, const Scenario& scenario, std::uint32_t step) {
  std::vector<std::uint32_t> targets;
  for (std::uint32_t rank = 0; rank < scenario.jobs[0].processes; ++rank) {
    targets.push_back(table.objects[rank * scenario.jobs[0].pattern.files + step].target);
  }
  return targets;
}

TEST(Objects, ByPhasesNoTargetHasTwoFilesOfAStep) {
  const Scenario scenario = steps("phases");
  Rng rng(1);
  const auto table = place_objects(scenario, rng);
  ASSERT_TRUE(table) << table.error().message;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const auto targets = targets_of_step(*table, scenario, step);
    EXPECT_EQ(std::set<std::uint32_t>(targets.begin(), targets.end()).size(), 15U) << step;
  }
  EXPECT_TRUE(std::ranges::all_of(table->on_target, [](std::uint32_t objects) { return objects == 4; }));
}

// Lustre's ring goes on with each create, and a step is created before the next.
TEST(Objects, RoundRobinGoesStepByStep) {
  const Scenario scenario = steps("lustre-rr", 15, 3);
  Rng rng(1);
  const auto table = place_objects(scenario, rng);
  ASSERT_TRUE(table);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const auto targets = targets_of_step(*table, scenario, step);
    EXPECT_EQ(std::set<std::uint32_t>(targets.begin(), targets.end()).size(), 15U) << step;
  }
}

TEST(Objects, ByPhasesEveryStripeOfASmallFileHasATarget) {
  Scenario scenario = steps("phases", 3, 2);
  scenario.jobs[0].striping = {.count = 6, .size = Bytes::mib(4)};
  Rng rng(1);
  const auto table = place_objects(scenario, rng);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->objects.size(), 36U);
}

TEST(Objects, ByPhasesFilesThatDoNotFitAreTold) {
  Scenario scenario = steps("phases");
  scenario.machine.servers[0].target.capacity = Bytes::mib(5);
  const auto result = simulate(scenario);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("policy phases: file 15 of 60 finds no room"), std::string::npos)
      << result.error().message;
}

// What is recorded of a run has steps, too: the files of each rank, in order.
TEST(Objects, RecordedFilesOfARankAreSteps) {
  Scenario scenario{.name = "replay", .machine = testbed(4), .jobs = {{.name = "job", .processes = 4}}, .placement = "phases"};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    for (int step = 0; step < 2; ++step) {
      scenario.jobs[0].files.push_back({.name = "f", .written = {.bytes = Bytes::mib(step == 0 ? 8 : 2)}, .rank = rank});
    }
  }
  Rng rng(1);
  const auto table = place_objects(scenario, rng);
  ASSERT_TRUE(table) << table.error().message;
  std::set<std::uint32_t> first;
  for (std::uint32_t rank = 0; rank < 4; ++rank) first.insert(table->objects[2 * rank].target);
  EXPECT_EQ(first.size(), 4U);
}

}  // namespace
}  // namespace iez::sim
