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
  for (std::int32_t rank = 0; rank < 4; ++rank)
    loaded.files.push_back(written(10'000'000U + static_cast<std::uint64_t>(rank), 10, rank, 1));
  loaded.files[2].stripe_count = 3;
  loaded.files[2].stripe_size = Bytes::mib(4);
  loaded.files[3].read = {7};
  loaded.files.push_back({.name = "idle", .opens = 1, .rank = 1});
  const auto own = job_of_trace(loaded);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "hacc");
  EXPECT_EQ(own->processes, 4U);
  ASSERT_EQ(own->files.size(), 4U) << "the one without data is left out";
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const sim::ReplayedFile& file = own->files[rank];
    EXPECT_EQ(file.name, "f" + std::to_string(rank));
    EXPECT_EQ(file.written.bytes.count, 10'000'000U + rank);
    EXPECT_EQ(file.read.bytes.count, rank == 3 ? 7U : 0U);
    EXPECT_EQ(file.written.transfer.count, 1'000'000U);
    EXPECT_EQ(file.rank, rank);
    EXPECT_EQ(file.ranks, 1U);
    EXPECT_EQ(file.read.transfer, Bytes::mib(1)) << "not known";
    EXPECT_EQ(file.striping.count, rank == 2 ? 3U : 1U);
    EXPECT_EQ(file.striping.size, rank == 2 ? Bytes::mib(4) : Bytes::mib(1));
    EXPECT_EQ(file.not_before, Duration::zero());
  }
  EXPECT_FALSE(job_of_trace({}));
  loaded.files = {{.name = "idle", .opens = 1}};
  EXPECT_FALSE(job_of_trace(loaded));
}

TEST(SimInput, ASharedFileOfATraceIsSharedInPartsOrInTurns) {
  LoadedTrace loaded;
  loaded.files = {written(8'000'000, 80, 2, 6)};
  auto job = job_of_trace(loaded);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->name, "trace") << "nothing tells the program";
  EXPECT_EQ(job->processes, 8U) << "ranks 2 to 7";
  EXPECT_EQ(job->files[0].rank, 2U);
  EXPECT_EQ(job->files[0].ranks, 6U);
  EXPECT_TRUE(job->files[0].written.strided);
  EXPECT_EQ(job->files[0].written.transfer.count, 100'000U);
  loaded.files[0].sequential_writes = 40;
  EXPECT_FALSE(job_of_trace(loaded)->files[0].written.strided);
  loaded.files[0].sequential_writes = 39;
  EXPECT_TRUE(job_of_trace(loaded)->files[0].written.strided);
  loaded.files[0].write_calls = 8'000'000;
  EXPECT_EQ(job_of_trace(loaded)->files[0].written.transfer, Bytes::kib(4)) << "a page";
  loaded.files[0].read = {60};
  loaded.files[0].read_calls = 3;
  loaded.files[0].sequential_reads = 3;
  EXPECT_FALSE(job_of_trace(loaded)->files[0].read.strided) << "each direction for itself";
  loaded.files[0].write_calls = 0;
  EXPECT_FALSE(job_of_trace(loaded)->files[0].written.strided) << "nothing is known of calls";
  EXPECT_EQ(job_of_trace(loaded)->files[0].written.transfer, Bytes::mib(1));
  loaded.files[0].largest_write = Bytes::mib(3);
  EXPECT_EQ(job_of_trace(loaded)->files[0].written.transfer, Bytes::mib(3));
  loaded.files[0].ranks = ~std::uint32_t{0};
  job = job_of_trace(loaded);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, Errc::limit);
}

TEST(SimInput, FilesOfATraceComeInTheirOrderAndAtTheirTime) {
  LoadedTrace loaded;
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (std::int32_t i = 0; i < 4; ++i) loaded.files.push_back(written(100, 1, 0, 1));
  loaded.files[0].first_ns = 109 * kSecond;
  loaded.files[1].first_ns = 104 * kSecond;
  loaded.files[3].first_ns = 98 * kSecond;
  for (std::size_t i = 0; i < 4; ++i) loaded.files[i].name = std::string(1, static_cast<char>('a' + i));
  const auto times = [&loaded] {
    const auto job = job_of_trace(loaded);
    std::string text;
    for (const sim::ReplayedFile& file : job->files) {
      text += file.name + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(file.not_before).count()) + ' ';
    }
    return text;
  };
  EXPECT_EQ(times(), "d0 b6 a11 c0 ") << "from the first on; one without a time after those with one";
  loaded.run.start_ns = 100 * kSecond;
  EXPECT_EQ(times(), "d0 b4 a9 c0 ") << "a clock may be behind";
}

TEST(SimInput, FilesWithoutARankGoToTheProcessesInTurn) {
  LoadedTrace loaded;
  loaded.run.communicator = 2;
  for (int i = 0; i < 5; ++i) loaded.files.push_back(written(100, 1, trace::kNoRank, 0));
  const auto job = job_of_trace(loaded);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->processes, 2U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(job->files[i].rank, i % 2);
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
  Progress progress(clock);
  for (const unsigned threads : {1U, 3U, 40U}) {
    auto& seen = events.emplace_back();
    const auto done =
        simulate_all(scenarios, threads, progress, [&](std::size_t index, const sim::RunResult& result) -> Result<void> {
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
  Progress progress(clock);
  const auto count = [&](std::size_t, const sim::RunResult&) -> Result<void> {
    ++taken;
    return {};
  };
  EXPECT_FALSE(simulate_all(scenarios, 2, progress, count));
  EXPECT_EQ(taken, 2U);
  const auto refused =
      simulate_all(scenarios, 2, progress, [](std::size_t, const sim::RunResult&) { return fail(Errc::io, "full"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "full");
  EXPECT_TRUE(simulate_all({}, 2, progress, count));
}

}  // namespace
}  // namespace iez::cli
