#include "sim_input.hpp"

#include <set>

#include <gtest/gtest.h>

#include "sim_pool.hpp"

namespace iez::cli {
namespace {

TEST(SimInput, SummaryIsTheFirstSentence) {
  EXPECT_EQ(summary_of("# One. Two.\nname = 1\n"), "One");
  EXPECT_EQ(summary_of("# One goes\n# on, 1.5 times. Two.\n"), "One goes on, 1.5 times");
  EXPECT_EQ(summary_of("# What if? Then.\n"), "What if?");
  EXPECT_EQ(summary_of("# No end"), "No end");
  EXPECT_EQ(summary_of("name = 1\n# late\n"), "");
  EXPECT_EQ(summary_of(""), "");
}

TEST(SimInput, EverythingShippedCanBeReadAndIsDescribed) {
  std::set<std::string_view> names;
  for (const ShippedFile& file : shipped_scenarios()) {
    SCOPED_TRACE(file.name);
    EXPECT_TRUE(names.insert(file.name).second);
    EXPECT_FALSE(summary_of(file.text).empty());
    const auto source = open_scenario(std::string(file.name));
    ASSERT_TRUE(source) << source.error().message;
    const auto scenario = read_scenario(*source, {});
    EXPECT_TRUE(scenario) << scenario.error().message;
  }
  for (const ShippedFile& file : shipped_machines()) {
    SCOPED_TRACE(file.name);
    EXPECT_TRUE(names.insert(file.name).second) << "a scenario and a machine share this name";
    EXPECT_FALSE(summary_of(file.text).empty());
    const ScenarioText source{.file = "x.toml", .text = "machine = \"" + std::string(file.name) + "\"\n[[job]]\n"};
    const auto scenario = read_scenario(source, {});
    ASSERT_TRUE(scenario) << scenario.error().message;
    EXPECT_EQ(scenario->machine.name, file.name);
  }
}

TEST(SimInput, NamesThatNobodyKnows) {
  const auto near = open_scenario("dem");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().message,
            "no scenario 'dem' is shipped; expected a path that ends in .toml, or a name that 'iez sim list' shows; did you mean "
            "'demo'?");
  const auto path = open_scenario("nowhere/demo.toml");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().message, "nowhere/demo.toml: No such file or directory");
}

TEST(SimInput, WhatAScenarioCannotBeIsNoWrongUsage) {
  const auto source = open_scenario("demo");
  ASSERT_TRUE(source);
  const auto scenario = read_scenario(*source, std::vector<config::Override>{{.key = "job.0.stripe_count", .value = "16"}});
  ASSERT_FALSE(scenario);
  EXPECT_NE(scenario.error().code, Errc::invalid_argument);
}

trace::TracedFile written(std::uint64_t bytes, std::uint64_t calls, std::int32_t rank, std::uint32_t ranks) {
  return {.name = "f" + std::to_string(rank), .written = {bytes}, .write_calls = calls, .rank = rank, .ranks = ranks};
}

TEST(SimInput, ATraceBecomesAJob) {
  LoadedTrace loaded;
  loaded.run = {.program = "/usr/bin/hacc", .communicator = 4};
  for (std::int32_t rank = 0; rank < 4; ++rank) loaded.files.push_back(written(1000, 10, rank, 1));
  const auto own = job_of_trace(loaded);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "hacc");
  EXPECT_EQ(own->processes, 4U);
  EXPECT_EQ(own->pattern.mode, sim::FileMode::per_process);
  EXPECT_EQ(own->pattern.files, 1U);
  EXPECT_EQ(own->pattern.block.count, 1000U);
  EXPECT_EQ(own->pattern.transfer.count, 100U);
  loaded.files = {written(8000, 80, 0, 4)};
  loaded.files[0].stripe_count = 3;
  const auto shared = job_of_trace(loaded);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->pattern.mode, sim::FileMode::shared);
  EXPECT_EQ(shared->pattern.block.count, 2000U);
  EXPECT_EQ(shared->striping.count, 3U);
  loaded.files = {written(4 * 1049, 4 * 10, 0, 4)};
  const auto odd = job_of_trace(loaded);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->pattern.transfer.count, 104U);
  EXPECT_EQ(odd->pattern.block.count, 1040U) << "whole pieces";
  EXPECT_FALSE(job_of_trace({}));
}

TEST(SimPool, TheOrderAndTheAnswersDoNotDependOnThreads) {
  const auto source = open_scenario("demo");
  ASSERT_TRUE(source);
  std::vector<sim::Scenario> scenarios;
  for (int credits = 1; credits <= 12; ++credits) {
    const auto scenario =
        read_scenario(*source, std::vector<config::Override>{{.key = "congestion.fixed", .value = std::to_string(credits)},
                                                             {.key = "job.0.segments", .value = "1"}});
    ASSERT_TRUE(scenario) << scenario.error().message;
    scenarios.push_back(*scenario);
  }
  std::vector<std::vector<std::uint64_t>> events;
  ManualClock clock;
  for (const unsigned threads : {1U, 3U, 40U}) {
    auto& seen = events.emplace_back();
    const auto done =
        simulate_all(scenarios, threads, clock, [&](std::size_t index, const sim::RunResult& result) -> Result<void> {
          EXPECT_EQ(index, seen.size());
          seen.push_back(result.events);
          return {};
        });
    EXPECT_TRUE(done);
    EXPECT_EQ(seen.size(), scenarios.size());
  }
  EXPECT_EQ(events[0], events[1]);
  EXPECT_EQ(events[0], events[2]);
}

TEST(SimPool, TheFirstErrorEndsIt) {
  const auto source = open_scenario("demo");
  ASSERT_TRUE(source);
  auto scenario = read_scenario(*source, {});
  ASSERT_TRUE(scenario);
  std::vector<sim::Scenario> scenarios(20, *scenario);
  scenarios[2].jobs.clear();
  std::size_t taken = 0;
  ManualClock clock;
  const auto count = [&](std::size_t, const sim::RunResult&) -> Result<void> {
    ++taken;
    return {};
  };
  EXPECT_FALSE(simulate_all(scenarios, 2, clock, count));
  EXPECT_EQ(taken, 2U);
  const auto refused =
      simulate_all(scenarios, 2, clock, [](std::size_t, const sim::RunResult&) { return fail(Errc::io, "full"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "full");
  EXPECT_TRUE(simulate_all({}, 2, clock, count));
}

}  // namespace
}  // namespace iez::cli
