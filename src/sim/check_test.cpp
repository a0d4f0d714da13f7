#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/sim_test_support.hpp"
#include "sim/simulation.hpp"

namespace iez::sim {
namespace {

TEST(Check, TakesWhatMakesSense) {
  EXPECT_TRUE(check(small_scenario(2, 3)));
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto result = check(random_scenario(seed));
    EXPECT_TRUE(result) << seed << ' ' << (result ? "" : result.error().message);
  }
}

TEST(Check, NamesWhatDoesNot) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::function<void(Scenario&)>, std::string>> cases = {
      {[](Scenario& s) { s.machine.nodes = 0; }, "machine.nodes is 0"},
      {[](Scenario& s) { s.machine.client.processes_per_node = 0; }, "client.processes_per_node"},
      {[](Scenario& s) { s.machine.client.rpc_size = {}; }, "client.rpc_size"},
      {[](Scenario& s) { s.machine.client.process_rate = {-1}; }, "[client]"},
      {[nan](Scenario& s) { s.machine.client.import_rate = {nan}; }, "[client]"},
      {[](Scenario& s) { s.machine.network.latency = Duration(-1); }, "network.latency"},
      {[](Scenario& s) { s.machine.network.turnaround = Duration(-1); }, "network.turnaround"},
      {[](Scenario& s) { s.machine.locks.enqueue = Duration(-1); }, "[locks]"},
      {[](Scenario& s) { s.machine.metadata.create = Duration(-1); }, "[metadata]"},
      {[](Scenario& s) { s.machine.timeout = Duration::zero(); }, "timeout"},
      {[](Scenario& s) { s.machine.servers.clear(); }, "no targets"},
      {[](Scenario& s) { s.machine.servers[0].targets = 0; }, "no targets"},
      {[](Scenario& s) { s.machine.servers[0].count = 2'000'000; }, "targets; at most"},
      {[](Scenario& s) { s.machine.servers[0].server.threads = 0; }, "server.threads"},
      {[](Scenario& s) { s.machine.servers[0].server.cores = 0; }, "server.cores"},
      {[](Scenario& s) { s.machine.servers[0].server.cpu_per_rpc = Duration(-1); }, "server.cpu_per_rpc"},
      {[](Scenario& s) { s.machine.servers[0].server.nic_rate = {-1}; }, "[[server]]"},
      {[](Scenario& s) { s.machine.servers[0].target.write_rate = {}; }, "target.write_rate is less than"},
      {[](Scenario& s) { s.machine.servers[0].target.write_rate = {1e-9}; }, "target.write_rate is less than"},
      {[](Scenario& s) { s.jobs[0].start_spread = Duration::max(); }, "start_spread"},
      {[](Scenario& s) { s.incidents = {{.speed = 1e-300}}; }, "speed"},
      {[](Scenario& s) { s.machine.servers[0].target.positioning = Duration(-1); }, "target.positioning"},
      {[](Scenario& s) { s.machine.servers[0].target.patience = Duration(-1); }, "target.patience"},
      {[](Scenario& s) { s.jobs.clear(); }, "no jobs"},
      {[](Scenario& s) { s.jobs[0].processes = 0; }, "job 'job': processes is 0"},
      {[](Scenario& s) { s.jobs[0].processes = 20'000'000; }, "processes; at most"},
      {[](Scenario& s) { s.jobs[0].pattern.block = {}; }, "at least 1"},
      {[](Scenario& s) { s.jobs[0].pattern.segments = std::uint64_t{1} << 60U; }, "more than 4 EiB"},
      {[](Scenario& s) { s.jobs[0].striping.count = 0; }, "stripe_count and stripe_size"},
      {[](Scenario& s) { s.jobs[0].striping.count = 2; }, "stripe_count is 2, but the machine has 1 targets"},
      {[](Scenario& s) { s.jobs[0].start = Duration(-1); }, "start"},
      {[](Scenario& s) { s.jobs[0].collective.writers = 1; }, "shared file"},
      {[](Scenario& s) {
         s.jobs[0].pattern.mode = FileMode::shared;
         s.jobs[0].collective.writers = 3;
       },
       "more writers than processes"},
      {[](Scenario& s) { s.congestion = FixedCredits{0}; }, "congestion.fixed is 0"},
      {[](Scenario& s) { s.congestion = congestion::RccParameters{.rcc_min = 0}; }, "rcc_min"},
      {[](Scenario& s) { s.congestion = congestion::LatencyGoal{.most_credits = 0}; }, "most_credits"},
      {[](Scenario& s) { s.incidents = {{.index = 1}}; }, "names target 1, but the machine has 1"},
      {[](Scenario& s) { s.incidents = {{.where = Incident::Where::server, .index = 9}}; }, "names server 9"},
      {[](Scenario& s) { s.incidents = {{.speed = -1}}; }, "speed"},
      {[](Scenario& s) { s.incidents = {{.at = Duration(-1)}}; }, "negative time"},
      {[](Scenario& s) { s.background.requests_per_second = -1; }, "background.requests_per_second"},
      {[](Scenario& s) { s.background = {.requests_per_second = 1, .size = {}}; }, "background.size"},
      {[](Scenario& s) { s.interval = Duration::zero(); }, "interval"},
      {[](Scenario& s) { s.until = Duration(-1); }, "until"},
      {[](Scenario& s) {
         s.until = std::chrono::hours(1000);
         s.interval = Duration(1);
       },
       "samples"},
  };
  for (const auto& [change, words] : cases) {
    Scenario scenario = small_scenario(2, 3);
    change(scenario);
    const auto result = check(scenario);
    ASSERT_FALSE(result) << words;
    EXPECT_EQ(result.error().code, Errc::invalid_argument) << words;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
    EXPECT_FALSE(simulate(scenario)) << words;
  }
}

TEST(Check, FilesThatDoNotFitAreAnError) {
  Scenario scenario = small_scenario(4, 100);
  scenario.machine.servers[0].target.capacity = Bytes::mib(300);
  for (const std::string policy : {"lustre-rr", "balanced"}) {
    scenario.placement = policy;
    const auto result = simulate(scenario);
    ASSERT_FALSE(result) << policy;
    EXPECT_EQ(result.error().code, Errc::limit);
    EXPECT_NE(result.error().message.find("capacity"), std::string::npos) << result.error().message;
  }
  scenario.placement = "balancd";
  const auto result = simulate(scenario);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("balanced"), std::string::npos) << result.error().message;
}

TEST(Check, NamesTheRecordedFileThatCannotBe) {
  const std::vector<std::pair<std::function<void(ReplayedFile&)>, std::string>> cases = {
      {[](ReplayedFile& f) { f.written.bytes = {}; }, "job 'job': file '/s/a': neither written nor read"},
      {[](ReplayedFile& f) { f.written.transfer = {}; }, "file '/s/a': its transfer is 0 bytes"},
      {[](ReplayedFile& f) { f.striping.count = 0; }, "file '/s/a': its stripe count"},
      {[](ReplayedFile& f) { f.striping.size = {}; }, "file '/s/a': its stripe count"},
      {[](ReplayedFile& f) { f.striping.size = {std::uint64_t{1} << 63U}; }, "file '/s/a': its stripes are larger than 4 EiB"},
      {[](ReplayedFile& f) { f.striping.count = 2; }, "file '/s/a': has 2 stripes, but the machine has 1 targets"},
      {[](ReplayedFile& f) { f.ranks = 0; }, "file '/s/a': no process uses it"},
      {[](ReplayedFile& f) { f.rank = 3; }, "file '/s/a': is used by rank 3, but the job has 3 processes"},
      {[](ReplayedFile& f) { f.ranks = ~std::uint32_t{0}; }, "file '/s/a': is used by rank 4294967296"},
      {[](ReplayedFile& f) { f.not_before = Duration(-1); }, "file '/s/a': begins before the job"},
      {[](ReplayedFile& f) { f.not_before = Duration::max(); }, "file '/s/a': begins before the job"},
      {[](ReplayedFile& f) { f.read.bytes = {std::uint64_t{1} << 62U}; }, "moves more than 4 EiB"},
  };
  Scenario good = small_scenario(3, 1);
  good.jobs[0].files = {{.name = "/s/b", .read = {.bytes = {1}}}, {.name = "/s/a", .written = {.bytes = {5}}, .rank = 2}};
  ASSERT_TRUE(check(good));
  for (const auto& [spoil, expected] : cases) {
    Scenario scenario = good;
    spoil(scenario.jobs[0].files[1]);
    const auto result = check(scenario);
    ASSERT_FALSE(result) << expected;
    EXPECT_EQ(result.error().code, Errc::invalid_argument);
    EXPECT_NE(result.error().message.find(expected), std::string::npos) << result.error().message;
  }
  good.jobs[0].collective.writers = 1;
  EXPECT_FALSE(check(good));
}

}  // namespace
}  // namespace iez::sim
