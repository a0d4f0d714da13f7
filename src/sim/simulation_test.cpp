#include "sim/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/sim_test_support.hpp"

namespace iez::sim {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

RunResult run(const Scenario& scenario) {
  auto result = simulate(scenario);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *std::move(result) : RunResult{};
}

TEST(Simulation, OneProcessWithOneCreditWaitsForEachReply) {
  Scenario scenario = small_scenario(1, 10);
  scenario.congestion = FixedCredits{1};
  const auto result = run(scenario);
  // 0.1 ms there, 4 ms on the disks, 0.1 ms back, ten times; the first goes to another place.
  EXPECT_NEAR(seconds(result.end), 10 * 0.0042, 1e-6);
  EXPECT_EQ(result.requests, 10U);
  EXPECT_EQ(result.targets[0].positionings, 0U);
  EXPECT_EQ(result.deepest, 1U);
  EXPECT_NEAR(result.latency.mean, 0.004, 1e-9);
}

TEST(Simulation, MoreCreditsHideTheNetwork) {
  Scenario scenario = small_scenario(1, 100);
  scenario.congestion = FixedCredits{8};
  EXPECT_NEAR(seconds(run(scenario).end), 100 * 0.004 + 0.0002, 1e-6);
}

TEST(Simulation, ScatteredRequestsCostPositioning) {
  Scenario scenario = small_scenario(20, 50);
  scenario.congestion = FixedCredits{1};
  const auto result = run(scenario);
  EXPECT_GT(static_cast<double>(result.targets[0].positionings), 0.99 * static_cast<double>(result.requests) - 20);
  EXPECT_NEAR(seconds(result.end), 1000 * 0.010, 0.3);
}

TEST(Simulation, ACacheThatIsFullHoldsTheProcessBack) {
  Scenario scenario = small_scenario(1, 8);
  scenario.machine.client.cache = Bytes::mib(2);
  scenario.congestion = FixedCredits{8};
  EXPECT_EQ(run(scenario).deepest, 2U);
}

TEST(Simulation, TheProcessMayBeTheSlowest) {
  Scenario scenario = small_scenario(1, 100);
  scenario.machine.client.process_rate = {10 * 1048576.0};
  EXPECT_NEAR(seconds(run(scenario).end), 10.0, 0.01);
}

TEST(Simulation, TheNetworkOfTheServerMayBeTheSlowest) {
  Scenario scenario = small_scenario(4, 50);
  scenario.machine.servers[0].server.nic_rate = {100 * 1048576.0};
  EXPECT_NEAR(seconds(run(scenario).end), 2.0, 0.05);
}

TEST(Simulation, TheCoresOfTheServerMayBeTheSlowest) {
  Scenario scenario = small_scenario(4, 50);
  scenario.machine.servers[0].server.cores = 2;
  scenario.machine.servers[0].server.cpu_per_rpc = std::chrono::milliseconds(40);
  EXPECT_NEAR(seconds(run(scenario).end), 200 * 0.020, 0.1);
}

TEST(Simulation, TheConnectionMayBeTheSlowest) {
  Scenario scenario = small_scenario(1, 100);
  scenario.machine.client.import_rate = {50 * 1048576.0};
  EXPECT_NEAR(seconds(run(scenario).end), 2.0, 0.03);
}

TEST(Simulation, TheNodeMayBeTheSlowest) {
  Scenario scenario = small_scenario(1, 100);
  scenario.machine.client.nic_rate = {50 * 1048576.0};
  EXPECT_NEAR(seconds(run(scenario).end), 2.0, 0.03);
}

TEST(Simulation, CreatingFilesTakesTurns) {
  Scenario scenario = small_scenario(10, 1);
  scenario.machine.metadata = {.create = std::chrono::seconds(4), .threads = 4};
  EXPECT_NEAR(seconds(run(scenario).end), 10.0, 0.1);
}

TEST(Simulation, ReadingHasARateOfItsOwn) {
  Scenario scenario = small_scenario(1, 100);
  scenario.jobs[0].pattern.access = Access::read;
  scenario.machine.servers[0].target.read_rate = {500 * 1048576.0};
  EXPECT_NEAR(seconds(run(scenario).end), 0.2, 0.005);
}

TEST(Simulation, SharingAnObjectCostsLocks) {
  Scenario scenario = small_scenario(4, 20);
  scenario.jobs[0].pattern.mode = FileMode::shared;
  scenario.congestion = FixedCredits{1};
  const auto without = run(scenario);
  scenario.machine.locks = {.enqueue = std::chrono::milliseconds(30), .revocation = std::chrono::seconds(1)};
  const auto with = run(scenario);
  EXPECT_GT(seconds(with.end), seconds(without.end) + 0.5);
  EXPECT_EQ(with.bytes, without.bytes);
}

TEST(Simulation, LocksCostNothingWhereFilesAreNotShared) {
  Scenario scenario = small_scenario(4, 20);
  const auto without = run(scenario);
  scenario.machine.locks = {.enqueue = std::chrono::milliseconds(30), .revocation = std::chrono::seconds(1)};
  EXPECT_EQ(run(scenario).end, without.end);
}

TEST(Simulation, AStripedFileUsesAllItsTargets) {
  Scenario scenario = small_scenario(1, 100);
  scenario.machine.servers[0].count = 4;
  scenario.jobs[0].striping.count = 4;
  const auto result = run(scenario);
  for (const TargetResult& target : result.targets) EXPECT_EQ(target.bytes, Bytes::mib(25));
  EXPECT_NEAR(seconds(result.end), 0.1, 0.01);
}

// Two processes, one with a target to itself that is ten times as fast: with a barrier it waits for the other after each file.
TEST(Simulation, ABarrierMakesAllWaitForTheSlowest) {
  Scenario scenario = small_scenario(2, 8);
  scenario.machine.servers[0].targets = 2;
  scenario.jobs[0].pattern.files = 4;
  scenario.incidents = {{.where = Incident::Where::target, .index = 0, .at = Duration(0), .speed = 0.1}};
  const auto free = simulate(scenario);
  scenario.jobs[0].pattern.barrier = true;
  const auto together = simulate(scenario);
  ASSERT_TRUE(free && together);
  EXPECT_EQ(together->bytes, free->bytes);
  // Each step has a file on the slow target: four of them, one after the other.
  const double step = 8 * 0.004 / 0.1;
  EXPECT_GT(std::chrono::duration<double>(together->end).count(), 4 * step);
  EXPECT_GE(together->end, free->end);
}

TEST(Simulation, WritersWriteForAll) {
  Scenario scenario = small_scenario(16, 4);
  scenario.machine.servers[0].count = 4;
  Job& job = scenario.jobs[0];
  job.pattern.mode = FileMode::shared;
  job.striping.count = 4;
  job.collective.writers = 4;
  const auto result = run(scenario);
  EXPECT_EQ(result.bytes, Bytes::mib(64));
  // Each writer has one object for itself, and writes it in order.
  for (const TargetResult& target : result.targets) {
    EXPECT_EQ(target.bytes, Bytes::mib(16));
    EXPECT_EQ(target.positionings, 0U);
  }
}

TEST(Simulation, ATargetThatStandsStillGoesOnLater) {
  Scenario scenario = small_scenario(1, 100);
  scenario.incidents = {{.at = std::chrono::milliseconds(100), .speed = 0}, {.at = std::chrono::seconds(5), .speed = 1}};
  EXPECT_NEAR(seconds(run(scenario).end), 5.3, 0.01);
}

TEST(Simulation, AServerThatIsSlowSlowsItsTargets) {
  Scenario scenario = small_scenario(2, 100);
  scenario.machine.servers[0].targets = 2;
  scenario.incidents = {{.where = Incident::Where::server, .at = Duration::zero(), .speed = 0.5}};
  EXPECT_NEAR(seconds(run(scenario).end), 0.8, 0.01);
}

TEST(Simulation, OthersTakeTheirShareOfATarget) {
  Scenario scenario = small_scenario(1, 1000);
  scenario.machine.servers[0].target.patience = std::chrono::milliseconds(20);
  const auto alone = run(scenario);
  scenario.background = {.requests_per_second = 50};
  const auto shared = run(scenario);
  EXPECT_GT(seconds(shared.end), 1.5 * seconds(alone.end));
  EXPECT_EQ(shared.bytes, alone.bytes);
}

TEST(Simulation, ARequestThatIsLateIsSentAgain) {
  Scenario scenario = small_scenario(1, 10);
  scenario.congestion = FixedCredits{1};
  scenario.machine.timeout = std::chrono::seconds(1);
  scenario.incidents = {{.at = std::chrono::milliseconds(20), .speed = 0}, {.at = std::chrono::milliseconds(2500), .speed = 1}};
  const auto result = run(scenario);
  EXPECT_EQ(result.timeouts, 2U);
  EXPECT_EQ(result.useless, 2U);
  EXPECT_EQ(result.bytes, Bytes::mib(10));
  EXPECT_EQ(result.requests, 12U);
}

TEST(Simulation, EndsWhenToldTo) {
  Scenario scenario = small_scenario(1, 1000);
  scenario.until = std::chrono::seconds(1);
  const auto result = run(scenario);
  EXPECT_EQ(result.end, std::chrono::seconds(1));
  EXPECT_FALSE(result.jobs[0].finished);
  EXPECT_NEAR(static_cast<double>(result.bytes.count), 250.0 * 1048576, 3 * 1048576);
}

TEST(Simulation, TellsOfItsProgress) {
  const Scenario scenario = small_scenario(100, 500);
  double last = 0;
  int calls = 0;
  const auto result = simulate(scenario, [&](Duration, double done) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, 1);
    last = done;
    ++calls;
  });
  ASSERT_TRUE(result);
  EXPECT_GT(calls, 1);
}

TEST(Simulation, LatencyIsDepthOverThroughput) {
  for (const unsigned credits : {2U, 8U, 20U}) {
    SCOPED_TRACE(credits);
    Scenario scenario = small_scenario(100, 200);
    scenario.congestion = FixedCredits{credits};
    scenario.machine.network.turnaround = std::chrono::milliseconds(100);
    const auto result = run(scenario);
    ASSERT_TRUE(result.stable);
    double depth = 0;
    double count = 0;
    double finished = 0;
    for (const Sample& sample : result.samples) {
      if (sample.at < result.stable->from + std::chrono::seconds(20) || sample.at > result.stable->to) continue;
      depth += static_cast<double>(sample.depth);
      finished += static_cast<double>(sample.finished);
      count += 1;
    }
    ASSERT_GT(count, 30);
    EXPECT_NEAR(result.stable->latency.mean, depth / finished, 0.02 * depth / finished);
  }
}

// Bytes and requests are kept, all finish, times make sense; and the same again is the same.
TEST(Simulation, KeepsItsBooksOnAnyMachine) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    const Scenario scenario = random_scenario(seed);
    const auto result = run(scenario);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
      const Bytes bytes = total_bytes(scenario.jobs[i]);
      expected += bytes.count;
      ASSERT_EQ(result.jobs[i].bytes, bytes) << i;
      ASSERT_TRUE(result.jobs[i].finished) << i;
      EXPECT_GE(*result.jobs[i].finished, result.jobs[i].started);
      EXPECT_LE(*result.jobs[i].finished, result.end);
    }
    EXPECT_EQ(result.bytes.count, expected);
    EXPECT_EQ(result.timeouts, 0U);
    EXPECT_EQ(result.useless, 0U);
    std::uint64_t sampled = 0;
    std::uint64_t finished = 0;
    Duration last{};
    for (const Sample& sample : result.samples) {
      EXPECT_GE(sample.at, last);
      last = sample.at;
      sampled += sample.bytes.count;
      finished += sample.finished;
      EXPECT_LE(sample.latency, sample.latency_max + 1e-12);
    }
    EXPECT_EQ(last, result.end);
    EXPECT_EQ(sampled, expected);
    EXPECT_EQ(finished, result.requests);
    if (scenario.background.requests_per_second == 0) {
      std::uint64_t moved = 0;
      std::uint64_t requests = 0;
      for (const TargetResult& target : result.targets) {
        moved += target.bytes.count;
        requests += target.requests;
        EXPECT_LE(target.positionings, target.requests);
        EXPECT_LE(target.busy, result.end);
      }
      EXPECT_EQ(moved, expected);
      EXPECT_EQ(requests, result.requests);
      EXPECT_EQ(result.samples.back().depth, 0U);
    }
    EXPECT_EQ(everything(result), everything(run(scenario)));
  }
}

// With time-outs, too, every byte is acknowledged once; what was sent twice is known.
TEST(Simulation, KeepsItsBooksWhenRequestsAreSentAgain) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario = random_scenario(seed);
    Rng rng(seed);
    scenario.machine.timeout = std::chrono::milliseconds(rng.between(200, 3000));
    scenario.until = std::chrono::minutes(2);
    const auto result = run(scenario);
    std::uint64_t done = 0;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
      const std::uint64_t bytes = total_bytes(scenario.jobs[i]).count;
      if (result.jobs[i].finished) {
        EXPECT_EQ(result.jobs[i].bytes.count, bytes) << i;
      }
      EXPECT_LE(result.jobs[i].bytes.count, bytes) << i;
      done += result.jobs[i].bytes.count;
      most += bytes;
    }
    EXPECT_EQ(result.bytes.count, done);
    EXPECT_LE(done, most);
    EXPECT_LE(result.useless, result.timeouts);
  }
}

TEST(Simulation, CreditsBoundWhatIsUnderWay) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario = random_scenario(seed);
    Rng rng(seed);
    const auto credits = static_cast<unsigned>(rng.between(1, 6));
    scenario.congestion = FixedCredits{credits};
    scenario.background = {};
    const auto result = run(scenario);
    for (const TargetResult& target : result.targets) {
      EXPECT_LE(target.deepest, std::uint64_t{credits} * scenario.machine.nodes);
    }
  }
}

TEST(Simulation, OtherSeedsGiveOtherRuns) {
  Scenario scenario = small_scenario(20, 50);
  scenario.machine.network.turnaround = std::chrono::milliseconds(100);
  const auto first = run(scenario);
  scenario.seed = 2;
  EXPECT_NE(everything(first), everything(run(scenario)));
}

}  // namespace
}  // namespace iez::sim
