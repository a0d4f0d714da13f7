// The machines and scenarios of examples/ are what they claim to be.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "config/scenario_toml.hpp"
#include "sim/simulation.hpp"

namespace iez::config {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

fs::path examples() { return fs::path(IEZ_TEST_DATA) / ".." / ".." / "examples"; }

std::vector<std::string> names(const char* folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(examples() / folder)) {
    if (entry.path().extension() == ".toml") out.push_back(entry.path().stem().string());
  }
  std::ranges::sort(out);
  return out;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

ScenarioSources shipped() {
  ScenarioSources sources;
  sources.machines = names("machines");
  sources.load = [](std::string_view name, std::string_view from) -> Result<std::string> {
    if (!name.ends_with(".toml")) return read(examples() / "machines" / (std::string(name) + ".toml"));
    return read(fs::path(from).parent_path() / name);
  };
  return sources;
}

sim::Machine machine(const std::string& name) {
  const fs::path path = examples() / "machines" / (name + ".toml");
  auto parsed = parse_machine(read(path), path.string(), shipped());
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? *std::move(parsed) : sim::Machine{.servers = {{}}};
}

sim::Scenario scenario(const std::string& name, const std::vector<Override>& overrides = {}) {
  const fs::path path = examples() / "scenarios" / (name + ".toml");
  auto parsed = parse_scenario(read(path), path.string(), shipped(), overrides);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? *std::move(parsed) : sim::Scenario{.machine = {.servers = {{}}}, .jobs = {{}}};
}

double write_rate(const sim::Machine& machine) {
  double sum = 0;
  for (const sim::ServerGroup& group : machine.servers) sum += group.count * group.targets * group.target.write_rate.value;
  return sum;
}

TEST(ScenarioExamples, AllParse) {
  const auto machines = names("machines");
  for (const std::string& name : machines) {
    SCOPED_TRACE(name);
    EXPECT_EQ(machine(name).name, name);
  }
  EXPECT_GE(machines.size(), 8U);
  const auto scenarios = names("scenarios");
  for (const std::string& name : scenarios) {
    SCOPED_TRACE(name);
    const sim::Scenario parsed = scenario(name);
    EXPECT_GT(total_bytes(parsed.jobs[0]).count, 0U);
    const auto sound = sim::check(parsed);
    EXPECT_TRUE(sound) << (sound ? "" : sound.error().message);
  }
  EXPECT_GE(scenarios.size(), 10U);
}

TEST(ScenarioExamples, Machines) {
  const sim::Machine tianhe = machine("tianhe-1");
  EXPECT_EQ(tianhe.nodes, 1024U);
  EXPECT_EQ(target_count(tianhe), 1U);
  EXPECT_EQ(tianhe.servers[0].server.threads, 128U);
  // FIX(1,1): one request at a time, 178 MB/s. FIX(1,1024): a seek for each, 105 MB/s.
  const double transfer = 1048576 / tianhe.servers[0].target.write_rate.value;
  EXPECT_NEAR(transfer, 4.061e-3, 1e-9);
  const auto in_seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
  EXPECT_NEAR(1 / (transfer + 2 * in_seconds(tianhe.network.latency)), 178, 1);
  EXPECT_NEAR(1 / (transfer + in_seconds(tianhe.servers[0].target.positioning)), 105, 0.1);
  EXPECT_EQ(tianhe.network.turnaround, Duration(milliseconds(1500)));

  const sim::Machine large = machine("tianhe-1-32");
  EXPECT_EQ(server_count(large), 32U);
  EXPECT_EQ(target_count(large), 32U);
  EXPECT_EQ(large.network.latency, tianhe.network.latency);
  EXPECT_EQ(large.servers[0].target.positioning, tianhe.servers[0].target.positioning);

  EXPECT_EQ(target_count(machine("lscratchc")), 480U);
  EXPECT_EQ(server_count(machine("lscratchc")), 32U);
  EXPECT_EQ(machine("lscratchc").servers[0].server.nic_rate.value * 32, 30e9);
  EXPECT_EQ(target_count(machine("iez-testbed")), 15U);
  EXPECT_EQ(machine("iez-testbed").servers[0].target.capacity, Bytes::gib(10));
  EXPECT_EQ(target_count(machine("jaguar")), 72U);
  EXPECT_NEAR(write_rate(machine("orion-class")), 4.6e12, 0.01e12);
  EXPECT_NEAR(write_rate(machine("orion-class-flash")), 10e12, 0.05e12);
  EXPECT_EQ(target_count(machine("exascale")), 10'000U);
  EXPECT_EQ(machine("exascale").nodes, 100'000U);
}

TEST(ScenarioExamples, Laws) {
  const sim::Scenario fix = scenario("fix-8-1024");
  EXPECT_EQ(std::get<sim::FixedCredits>(fix.congestion).credits, 8U);
  EXPECT_EQ(total_bytes(fix.jobs[0]), Bytes::gib(512));
  EXPECT_EQ(fix.jobs[0].start_spread, seconds(450));
  EXPECT_FALSE(fix.machine.timeout);
  const sim::Scenario cc = scenario("cc-60-1024");
  EXPECT_EQ(std::get<congestion::RccParameters>(cc.congestion).l_max, seconds(60));
  EXPECT_EQ(cc.machine.timeout, Duration(seconds(95)));
  EXPECT_EQ(total_bytes(cc.jobs[0]), Bytes::gib(512));
  EXPECT_EQ(std::get<congestion::LatencyGoal>(scenario("goal-60-1024").congestion).goal, Duration(seconds(60)));
  const sim::Scenario collapse = scenario("collapse");
  EXPECT_EQ(std::get<sim::FixedCredits>(collapse.congestion).credits, 32U);
  EXPECT_EQ(collapse.machine.timeout, Duration(seconds(100)));
  EXPECT_EQ(collapse.until, Duration(seconds(3600)));
  const sim::Scenario saved = scenario("collapse-cc");
  EXPECT_EQ(std::get<congestion::RccParameters>(saved.congestion).rcc_max, 32U);
  EXPECT_EQ(saved.machine.timeout, Duration(seconds(95)));
  EXPECT_EQ(saved.until, Duration(seconds(3600)));
}

// What this is shipped for: the bytes of a run evenly spread are slower than round robin, and phases are not.
TEST(ScenarioExamples, FourSteps) {
  const auto seconds_by = [](const std::string& policy) {
    const auto result = sim::simulate(scenario("four-steps", {{.key = "placement.policy", .value = policy}}));
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? std::chrono::duration<double>(result->end).count() : 0;
  };
  const double round_robin = seconds_by("lustre-rr");
  EXPECT_GT(seconds_by("balanced"), 1.5 * round_robin);
  EXPECT_LT(seconds_by("phases"), 1.03 * round_robin);
  EXPECT_EQ(scenario("four-steps").placement, "phases");
  EXPECT_TRUE(scenario("four-steps").jobs[0].pattern.barrier);
}

TEST(ScenarioExamples, Jobs) {
  const sim::Scenario four = scenario("four-jobs");
  ASSERT_EQ(four.jobs.size(), 4U);
  for (const sim::Job& job : four.jobs) {
    EXPECT_EQ(job.striping.count, 160U);
    EXPECT_EQ(total_bytes(job), Bytes::gib(400));
  }
  EXPECT_EQ(four.placement, "random");
  for (const sim::Job& job : scenario("four-jobs", {{.key = "job.*.stripe_count", .value = "64"}}).jobs) {
    EXPECT_EQ(job.striping.count, 64U);
  }
  const sim::Scenario more = scenario("more-osts");
  EXPECT_EQ(target_count(more.machine), 576U);
  EXPECT_EQ(more.jobs.size(), 4U);
  EXPECT_EQ(total_bytes(scenario("testbed-ior8").jobs[0]), Bytes::gib(64));
  EXPECT_EQ(scenario("testbed-ior8").placement, "balanced");
  EXPECT_EQ(scenario("exascale-checkpoint").jobs[0].processes, 100'000U);
  EXPECT_EQ(scenario("exascale-checkpoint").machine.client.processes_per_node, 1U);
}

}  // namespace
}  // namespace iez::config
