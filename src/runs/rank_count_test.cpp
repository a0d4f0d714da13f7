#include "runs/rank_count.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace iez::runs {
namespace {

std::uint32_t ranks(const std::vector<std::string>& command, std::size_t program, bool launcher,
                    const std::map<std::string, std::string, std::less<>>& variables = {}) {
  return ranks_before_run(command, program, launcher, [&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(RankCount, WhatTheLauncherIsTold) {
  EXPECT_EQ(ranks({"mpirun", "-n", "8", "app"}, 3, true), 8U);
  EXPECT_EQ(ranks({"mpirun", "-np", "15", "--oversubscribe", "app"}, 4, true), 15U);
  EXPECT_EQ(ranks({"srun", "-n8", "app"}, 2, true), 8U);
  EXPECT_EQ(ranks({"srun", "--ntasks=64", "app"}, 2, true), 64U);
  EXPECT_EQ(ranks({"srun", "-N", "4", "--ntasks-per-node=16", "app"}, 4, true), 64U);
  EXPECT_EQ(ranks({"mpiexec", "-n", "4", "app", ":", "-n", "2", "helper"}, 3, true), 6U);
}

TEST(RankCount, OptionsOfTheProgramAreNoRanks) {
  EXPECT_EQ(ranks({"mpirun", "-n", "8", "app", "-n", "100"}, 3, true), 8U);
  EXPECT_EQ(ranks({"app", "-n", "100"}, 0, false), 0U);
}

TEST(RankCount, TheLauncherMayStandBehindWrappers) {
  EXPECT_EQ(ranks({"time", "mpirun", "-n", "15", "app"}, 4, true), 15U);
  EXPECT_EQ(ranks({"env", "A=1", "srun", "-n", "15", "app"}, 5, true), 15U);
  EXPECT_EQ(ranks({"nice", "-n", "5", "mpirun", "-n", "8", "app"}, 6, true), 8U);
  EXPECT_EQ(ranks({"env", "A=1", "srun", "app"}, 3, true, {{"SLURM_NTASKS", "32"}}), 32U);
  EXPECT_EQ(ranks({"mpirun", "-n", "8", "nice", "-n", "5", "app"}, 6, true), 8U) << "the wrapper's is no number of ranks";
  EXPECT_EQ(ranks({"srun", "-n", "1", "mpirun", "-n", "8", "app"}, 6, true), 8U) << "the last one starts the ranks";
  EXPECT_EQ(ranks({"nice", "-n", "5", "app"}, 3, false), 0U);
}

TEST(RankCount, ResourceSetsOfJsrun) {
  EXPECT_EQ(ranks({"jsrun", "-n", "4", "-a", "6", "-c", "7", "app"}, 7, true), 24U);
  EXPECT_EQ(ranks({"jsrun", "--nrs=4", "--tasks_per_rs=6", "app"}, 3, true), 24U);
  EXPECT_EQ(ranks({"jsrun", "-n4", "-g1", "app"}, 3, true), 4U) << "a task each";
  EXPECT_EQ(ranks({"/opt/jsm/bin/jsrun", "-n", "4", "-p", "10", "app"}, 5, true), 10U);
  EXPECT_EQ(ranks({"jsrun", "-n", "ALL_HOSTS", "-a", "6", "app"}, 5, true), 0U);
}

TEST(RankCount, WhatTheSchedulerSays) {
  EXPECT_EQ(ranks({"srun", "app"}, 1, true, {{"SLURM_NTASKS", "32"}}), 32U);
  EXPECT_EQ(ranks({"srun", "-n", "4", "app"}, 3, true, {{"SLURM_NTASKS", "32"}}), 4U);
  EXPECT_EQ(ranks({"app"}, 0, false, {{"SLURM_NTASKS", "32"}}), 0U);
  EXPECT_EQ(ranks({"app"}, 0, false, {{"PMI_SIZE", "3"}}), 3U);
}

TEST(RankCount, NonsenseIsNotKnown) {
  EXPECT_EQ(ranks({"mpirun", "-n", "many", "app"}, 3, true), 0U);
  EXPECT_EQ(ranks({"mpirun", "-n", "999999999999", "app"}, 3, true), 0U);
  EXPECT_EQ(ranks({"mpirun", "-n"}, 2, true), 0U);
}

}  // namespace
}  // namespace iez::runs
