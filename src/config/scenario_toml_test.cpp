#include "config/scenario_toml.hpp"

#include <chrono>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kMachine =
    "name = \"small\"\n"
    "nodes = 16\n"
    "client = {processes_per_node = 4, process_rate = \"100MB/s\"}\n"
    "[[server]]\n"
    "count = 2\n"
    "targets = 3\n"
    "target = {write_rate = \"200MB/s\", positioning = \"5ms\"}\n"
    "[[server]]\n"
    "targets = 4\n"
    "threads = 8\n"
    "target = {write_rate = \"400MB/s\"}\n";

constexpr std::string_view kScenario = "machine = \"small\"\n[[job]]\nprocesses = 4\n";

// Files by name; "small" is a shipped machine.
using Files = std::map<std::string, std::string, std::less<>>;

ScenarioSources sources(Files files = {}) {
  files.emplace("small", kMachine);
  ScenarioSources out;
  out.machines = {"small", "large"};
  out.load = [files](std::string_view name, std::string_view from) -> Result<std::string> {
    const auto found = files.find(name);
    if (found == files.end()) return fail(Errc::not_found, fmt::format("no file {} for {}", name, from));
    return found->second;
  };
  return out;
}

sim::Scenario accepted(std::string_view text, const std::vector<Override>& overrides = {}, const Files& files = {}) {
  auto scenario = parse_scenario(text, "s.toml", sources(files), overrides);
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().message);
  return scenario ? *std::move(scenario) : sim::Scenario{.machine = {.servers = {{}, {}}}, .jobs = {{}}};
}

std::string refusal(std::string_view text, const std::vector<Override>& overrides = {}, const Files& files = {}) {
  const auto scenario = parse_scenario(text, "s.toml", sources(files), overrides);
  return scenario ? "accepted" : scenario.error().message;
}

// Lines behind those of kScenario: in the job, or with a header in a table of their own. They start in line 4.
std::string with(std::string_view lines) { return std::string(kScenario) + std::string(lines); }
std::string at_top(std::string_view lines) { return std::string(lines) + std::string(kScenario); }

sim::Job job(std::string_view lines) { return accepted(with(lines)).jobs[0]; }

TEST(Scenario, Defaults) {
  const sim::Scenario scenario = accepted(kScenario);
  EXPECT_EQ(scenario.name, "scenario");
  EXPECT_EQ(scenario.machine.name, "small");
  ASSERT_EQ(scenario.jobs.size(), 1U);
  EXPECT_EQ(scenario.jobs[0].name, "ior");
  EXPECT_EQ(scenario.jobs[0].processes, 4U);
  EXPECT_EQ(scenario.jobs[0].pattern.block, Bytes::mib(1));
  EXPECT_EQ(scenario.placement, "lustre-rr");
  EXPECT_EQ(std::get<sim::FixedCredits>(scenario.congestion).credits, 8U);
  EXPECT_FALSE(scenario.machine.timeout);
  EXPECT_FALSE(scenario.until);
  EXPECT_EQ(scenario.interval, seconds(1));
  EXPECT_EQ(scenario.seed, 1U);
}

TEST(Scenario, Everything) {
  const sim::Scenario scenario = accepted(R"(
name = "all"
description = "of it"
machine = "small"
seed = 7
until = "1h"
interval = 0.5
timeout = "100s"
[[job]]
name = "one"
processes = 64
kind = "ior"
mode = "shared"
access = "read"
block = "4MiB"
transfer = 1048576
segments = 100
files = 3
stripe_count = 10
stripe_size = "128MiB"
start = "1s"
start_spread = "450s"
writers = 8
exchange = "280MB/s"
[[job]]
stripe_count = "all"
[congestion]
goal = "20s"
most_credits = 64
loss = 0.02
safety = 0.5
inequality = 2
brief = "2s"
window = "3s"
[placement]
policy = "balanced"
[[incident]]
target = 9
at = "100s"
speed = 0.5
[[incident]]
server = 2
at = 0
speed = 0
[background]
requests_per_second = 2.5
size = "64KiB"
)");
  EXPECT_EQ(scenario.name, "all");
  EXPECT_EQ(scenario.seed, 7U);
  EXPECT_EQ(scenario.until, Duration(seconds(3600)));
  EXPECT_EQ(scenario.interval, milliseconds(500));
  EXPECT_EQ(scenario.machine.timeout, Duration(seconds(100)));
  ASSERT_EQ(scenario.jobs.size(), 2U);
  const sim::Job& one = scenario.jobs[0];
  EXPECT_EQ(one.name, "one");
  EXPECT_EQ(one.processes, 64U);
  EXPECT_EQ(one.pattern.mode, sim::FileMode::shared);
  EXPECT_EQ(one.pattern.access, sim::Access::read);
  EXPECT_EQ(one.pattern.block, Bytes::mib(4));
  EXPECT_EQ(one.pattern.transfer, Bytes::mib(1));
  EXPECT_EQ(one.pattern.segments, 100U);
  EXPECT_EQ(one.pattern.files, 3U);
  EXPECT_EQ(one.striping.count, 10U);
  EXPECT_EQ(one.striping.size, Bytes::mib(128));
  EXPECT_EQ(one.start, seconds(1));
  EXPECT_EQ(one.start_spread, seconds(450));
  EXPECT_EQ(one.collective.writers, 8U);
  EXPECT_EQ(one.collective.exchange.value, 280e6);
  EXPECT_EQ(scenario.jobs[1].striping.count, 10U);
  const auto& goal = std::get<congestion::LatencyGoal>(scenario.congestion);
  EXPECT_EQ(goal.goal, Duration(seconds(20)));
  EXPECT_EQ(goal.most_credits, 64U);
  EXPECT_EQ(goal.loss, 0.02);
  EXPECT_EQ(goal.safety, 0.5);
  EXPECT_EQ(goal.inequality, 2);
  EXPECT_EQ(goal.brief, seconds(2));
  EXPECT_EQ(goal.window, seconds(3));
  EXPECT_EQ(scenario.placement, "balanced");
  ASSERT_EQ(scenario.incidents.size(), 2U);
  EXPECT_EQ(scenario.incidents[0].where, sim::Incident::Where::target);
  EXPECT_EQ(scenario.incidents[0].index, 9U);
  EXPECT_EQ(scenario.incidents[0].at, seconds(100));
  EXPECT_EQ(scenario.incidents[0].speed, 0.5);
  EXPECT_EQ(scenario.incidents[1].where, sim::Incident::Where::server);
  EXPECT_EQ(scenario.incidents[1].index, 2U);
  EXPECT_EQ(scenario.background.requests_per_second, 2.5);
  EXPECT_EQ(scenario.background.size, Bytes::kib(64));
}

TEST(Scenario, UnknownKeys) {
  EXPECT_EQ(refusal(with("barrier = 1")), "s.toml:4: barrier of [[job]]: found 1, expected true or false");
  EXPECT_THAT(refusal(with("proceses = 3")),
              AllOf(StartsWith("s.toml:4: unknown key 'proceses' of [[job]]: expected name, processes, "),
                    EndsWith("; did you mean 'processes'?")));
  EXPECT_THAT(refusal(at_top("untill = 3\n")),
              AllOf(StartsWith("s.toml:1: unknown key 'untill': expected name, machine, "), EndsWith("; did you mean 'until'?")));
  EXPECT_THAT(refusal(with("[network]\nlatancy = 1")), EndsWith("unknown key 'latancy' of [network]: expected latency, "
                                                                "turnaround; did you mean 'latency'?"));
  EXPECT_THAT(refusal(with("[server]\nthread = 1")), StartsWith("s.toml:5: unknown key 'thread' of [[server]]: "));
  EXPECT_THAT(refusal(with("[target]\nwrite_rat = 1")), StartsWith("s.toml:5: unknown key 'write_rat' of [server.target]: "));
  EXPECT_THAT(refusal(with("[congestion]\nl_max = 60\nrcc_mni = 1")), EndsWith("did you mean 'rcc_min'?"));
  EXPECT_THAT(refusal(with("[placement]\npolicy = \"balancd\"")),
              AllOf(StartsWith("s.toml:5: policy of [placement]: found 'balancd', expected balanced, "),
                    EndsWith("; did you mean 'balanced'?")));
}

TEST(Scenario, WrongValues) {
  EXPECT_EQ(refusal(with("start = \"-1s\"")),
            "s.toml:4: start of [[job]]: found '-1s', expected a time of 0 or more such as \"60s\" or \"4.09ms\", or a number of "
            "seconds, up to a year");
  EXPECT_THAT(refusal(with("start = -1")), StartsWith("s.toml:4: start of [[job]]: found -1, expected a time of 0 or more"));
  EXPECT_THAT(refusal(with("start = nan")), StartsWith("s.toml:4: start of [[job]]: found nan, expected"));
  EXPECT_THAT(refusal(with("start = \"20000 d\"")), HasSubstr("up to a year"));
  EXPECT_EQ(refusal(with("files = 0")), "s.toml:4: files of [[job]]: found 0, expected a whole number from 1 to 1000000");
  EXPECT_THAT(refusal(with("block = 0")), HasSubstr("block of [[job]]: found 0, expected a size above 0"));
  EXPECT_THAT(refusal(with("block = \"16EiB\"")), HasSubstr("found '16EiB', expected a size above 0"));
  EXPECT_THAT(refusal(with("block = 3\ntransfer = 2")),
              EndsWith("transfer of [[job]]: found 2, expected a block (3 bytes) that is a multiple of the transfer (2 bytes)"));
  EXPECT_THAT(refusal(with("block = 1000001")), HasSubstr("accepted"));  // the transfer is made to fit
  EXPECT_THAT(refusal(with("stripe_count = 11")), EndsWith("found 11, expected a whole number from 1 to 10"));
  EXPECT_THAT(refusal(with("stripe_count = \"most\"")), EndsWith("expected a whole number from 1 to 10, or \"all\""));
  EXPECT_THAT(refusal(with("stripe_size = 1000")), EndsWith("expected a multiple of 64 KiB, as Lustre has it"));
  EXPECT_THAT(refusal(with("mode = \"fpp\"")), EndsWith("found 'fpp', expected file-per-process, shared"));
  EXPECT_THAT(refusal(with("kind = 3")), HasSubstr("kind of [[job]]: found 3, expected ior, hacc-io"));
  EXPECT_THAT(refusal(with("writers = 2")), HasSubstr("writers of [[job]]: found 2, expected none, or mode = \"shared\""));
  EXPECT_THAT(refusal(with("mode = \"shared\"\nwriters = 5")), EndsWith("found 5, expected a whole number from 0 to 4"));
  EXPECT_THAT(refusal(with("exchange = 3000")), EndsWith("expected it together with writers"));
  EXPECT_THAT(refusal("machine = \"small\"\n[[job]]\nprocesses = 65"), EndsWith("found 65, expected at most 64: 16 nodes of 4 "
                                                                                "processes"));
  EXPECT_EQ(refusal(with("block = \"4EiB\"\ntransfer = \"1EiB\"")),
            "s.toml:2: block, segments, files and processes of [[job]]: found 4611686018427387904 x 1 x 1 x 4 bytes, expected at "
            "most 2^62");
  EXPECT_THAT(refusal("machine = \"small\"\n[job]\nprocesses = 3"),
              EndsWith("job: found a table, expected tables that start with "
                       "[[job]], in two pairs of brackets"));
  EXPECT_THAT(refusal("machine = \"small\"\njob = [3]"), StartsWith("s.toml:2: job: found 3, expected a table"));
  EXPECT_EQ(refusal("machine = \"small\""), "s.toml: job: missing, expected at least one [[job]]");
  EXPECT_THAT(refusal(at_top("seed = -1\n")), StartsWith("s.toml:1: seed: found -1, expected a whole number from 0"));
  EXPECT_THAT(refusal(at_top("until = 0\n")), StartsWith("s.toml:1: until: found 0, expected a time above 0"));
  EXPECT_THAT(refusal(at_top("interval = \"1us\"\n")), EndsWith("expected at least \"1ms\""));
  EXPECT_THAT(refusal(at_top("interval = \"1ms\"\nuntil = \"1d\"\n")), EndsWith("at most 10000000 intervals in the whole run"));
  EXPECT_THAT(refusal(at_top("name = \"\"\n")),
              EndsWith("found '', expected a name of 1 to 255 bytes without control characters"));
  EXPECT_THAT(refusal(with("[background]\nsize = 0")), HasSubstr("size of [background]: found 0"));
  EXPECT_THAT(refusal(with("[background]\nrequests_per_second = -1")), HasSubstr("a number from 0 to 1000000"));
  EXPECT_THAT(refusal("x = [[["), StartsWith("s.toml:1: "));
}

TEST(Scenario, Incidents) {
  EXPECT_THAT(refusal(with("[[incident]]\nat = 1\nspeed = 1")), EndsWith("[[incident]]: found neither, expected target = 3 or "
                                                                         "server = 1"));
  EXPECT_THAT(refusal(with("[[incident]]\ntarget = 1\nserver = 1\nat = 1\nspeed = 1")), HasSubstr("found both"));
  EXPECT_THAT(refusal(with("[[incident]]\ntarget = 10\nat = 1\nspeed = 1")), EndsWith("a whole number from 0 to 9"));
  EXPECT_THAT(refusal(with("[[incident]]\nserver = 3\nat = 1\nspeed = 1")), EndsWith("a whole number from 0 to 2"));
  EXPECT_THAT(refusal(with("[[incident]]\nserver = 1\nspeed = 1")), StartsWith("s.toml:4: at of [[incident]]: missing"));
  EXPECT_THAT(refusal(with("[[incident]]\nserver = 1\nat = 1")), StartsWith("s.toml:4: speed of [[incident]]: missing"));
  EXPECT_THAT(refusal(with("[[incident]]\nserver = 1\nat = 1\nspeed = -0.5")), EndsWith("found -0.5, expected a number from 0 to "
                                                                                        "1000"));
}

TEST(Scenario, Laws) {
  const auto law = [](std::string_view lines) { return accepted(with(fmt::format("[congestion]\n{}", lines))).congestion; };
  EXPECT_EQ(std::get<sim::FixedCredits>(law("fixed = 32")).credits, 32U);
  EXPECT_EQ(std::get<sim::FixedCredits>(law("law = \"fixed\"")).credits, 8U);
  const auto rcc =
      std::get<congestion::RccParameters>(law("l_max = \"25s\"\nrcc_min = 2\nrcc_max = 64\nd_low = 16\nstl = 0\n"
                                              "ping = \"5s\"\nwindow = 2\nlambda = 2\nl_net = \"1s\""));
  EXPECT_EQ(rcc.l_max, seconds(25));
  EXPECT_EQ(rcc.rcc_min, 2U);
  EXPECT_EQ(rcc.rcc_max, 64U);
  EXPECT_EQ(rcc.d_low, 16U);
  EXPECT_EQ(rcc.stl, seconds(0));
  EXPECT_EQ(rcc.ping, seconds(5));
  EXPECT_EQ(rcc.window, seconds(2));
  EXPECT_EQ(rcc.lambda, 2);
  EXPECT_EQ(rcc.l_net, seconds(1));
  EXPECT_EQ(std::get<congestion::RccParameters>(law("law = \"rcc\"")).l_max, seconds(60));
  EXPECT_FALSE(std::get<congestion::LatencyGoal>(law("law = \"goal\"")).goal);
  const auto refused = [](std::string_view lines) { return refusal(with(fmt::format("[congestion]\n{}", lines))); };
  EXPECT_THAT(refused("fixed = 8\nl_max = 60"),
              AllOf(StartsWith("s.toml:6: l_max of [congestion]: found 60, expected it with the "
                               "law \"rcc\" only, and the law here is \"fixed\""),
                    HasSubstr("exactly one of")));
  EXPECT_THAT(refused("law = \"rcc\"\nfixed = 8"), HasSubstr("fixed of [congestion]"));
  EXPECT_THAT(refused("fixed = 8\nstl = 3"), HasSubstr("unknown key 'stl' of [congestion]: expected law, fixed"));
  EXPECT_THAT(refused("fixd = 4"),
              AllOf(StartsWith("s.toml:5: unknown key 'fixd' of [congestion]"), EndsWith("did you mean 'fixed'?")));
  EXPECT_THAT(refused("stl = 3"), StartsWith("s.toml:4: law of [congestion]: missing, expected one of fixed = 8"));
  EXPECT_THAT(refused(""), StartsWith("s.toml:4: law of [congestion]: missing"));
  EXPECT_THAT(refused("law = \"goat\""), EndsWith("found 'goat', expected fixed, rcc, goal; did you mean 'goal'?"));
  EXPECT_THAT(refused("law = 3"), EndsWith("found 3, expected fixed, rcc, goal"));
  EXPECT_THAT(refused("fixed = 0"), EndsWith("found 0, expected a whole number from 1 to 65536"));
  EXPECT_THAT(refused("l_max = \"0s\""), HasSubstr("found '0s', expected a time above 0"));
  EXPECT_THAT(refused("l_max = 60\nrcc_min = 33"), EndsWith("rcc_min of [congestion]: found 33, expected rcc_min (33) to be at "
                                                            "most rcc_max (32)"));
  EXPECT_THAT(refused("l_max = 60\nlambda = 0.5"), EndsWith("found 0.5, expected a number from 1 to 10"));
  EXPECT_THAT(refused("goal = 60\nloss = 1"), HasSubstr("loss of [congestion]: found 1, expected a number from 0.0001 to 0.5"));
}

TEST(Scenario, Timeout) {
  EXPECT_EQ(accepted(at_top("timeout = 42\n")).machine.timeout, Duration(seconds(42)));
  EXPECT_EQ(accepted(at_top("timeout = \"rcc\"\n") + "[congestion]\nl_max = 60").machine.timeout, Duration(seconds(95)));
  EXPECT_EQ(accepted(at_top("timeout = \"rcc\"\n") + "[congestion]\nl_max = 30\nlambda = 2\nl_net = 1").machine.timeout,
            Duration(seconds(61)));
  const Files files{{"m.toml", "timeout = \"7s\"\n[[server]]\n[server.target]\nwrite_rate = 1e6"}};
  EXPECT_EQ(accepted("machine = \"m.toml\"\n[[job]]", {}, files).machine.timeout, Duration(seconds(7)));
  EXPECT_FALSE(accepted("timeout = \"none\"\nmachine = \"m.toml\"\n[[job]]", {}, files).machine.timeout);
  EXPECT_THAT(refusal(at_top("timeout = \"rcc\"\n")),
              StartsWith("s.toml:1: timeout: found 'rcc', expected it with a law of l_max"));
  EXPECT_THAT(refusal(at_top("timeout = \"soon\"\n")),
              EndsWith("found 'soon', expected a time above 0 such as \"100s\", \"rcc\" or "
                       "\"none\""));
  EXPECT_THAT(refusal(at_top("timeout = 0\n")), HasSubstr("found 0, expected a time above 0"));
}

TEST(Scenario, Kinds) {
  // The sample of the placement study: 803,405,824 bytes for each of its processes.
  EXPECT_EQ(bytes_per_process(job("kind = \"hacc-io\"\nparticles = 20480000")).count, 803'405'824U);
  EXPECT_EQ(bytes_per_process(job("kind = \"hacc-io\"")).count, 380'000'000U + (24U << 20U));
  EXPECT_EQ(bytes_per_process(job("kind = \"hacc-io\"\nheader = 0")).count, 380'000'000U);
  EXPECT_EQ(bytes_per_process(job("kind = \"hacc-io\"\nmode = \"shared\"")).count, 380'000'000U);
  EXPECT_EQ(bytes_per_process(job("kind = \"hacc-io\"\nheader = \"1MiB\"\nparticles = 1")).count, 38U + (1U << 20U));
  EXPECT_THAT(refusal(with("particles = 3")), EndsWith("found 3, expected it with kind = \"hacc-io\" only"));
  EXPECT_THAT(refusal(with("header = 3")), EndsWith("found 3, expected it with kind = \"hacc-io\" only"));

  const sim::Job flash = job("kind = \"flash-io\"");
  EXPECT_EQ(flash.name, "flash-io");
  EXPECT_EQ(flash.pattern.mode, sim::FileMode::shared);
  EXPECT_EQ(bytes_per_process(flash).count, 41'216U * 1024);
  EXPECT_EQ(flash.striping.size, Bytes::mib(1));

  const sim::Job chimera = job("kind = \"chimera\"");
  EXPECT_EQ(chimera.pattern.files, 8U);
  EXPECT_EQ(bytes_per_process(chimera), Bytes::mib(40));

  const sim::Job plfs = job("kind = \"plfs\"\nsegments = 10");
  EXPECT_EQ(plfs.pattern.mode, sim::FileMode::per_process);
  EXPECT_EQ(plfs.striping.count, 2U);
  EXPECT_EQ(bytes_per_process(plfs), Bytes::mib(40));
  EXPECT_THAT(refusal("machine = \"small\"\n[[job]]\nkind = \"plfs\"\n[server]\ncount = 1\ntargets = 1",
                      {{.key = "machine.server", .value = "[{target = {write_rate = 1e6}}]"}}),
              HasSubstr("stripe_count of [[job]]: missing, expected one of at most 1: plfs takes 2 stripes"));
}

TEST(Scenario, Traces) {
  EXPECT_THAT(refusal(with("kind = \"trace\"")), HasSubstr("trace of [[job]]: missing, expected the name of a trace file"));
  EXPECT_THAT(refusal(with("trace = \"a.csv\"")), HasSubstr("expected none, or kind = \"trace\" beside it"));
  EXPECT_THAT(refusal(with("kind = \"trace\"\ntrace = \"a.csv\"")), HasSubstr("no traces can be read here"));
  ScenarioSources with_traces = sources({{"dir/base.toml", with("kind = \"trace\"\ntrace = \"a.csv\"\nsegments = 5")}});
  std::string asked;
  with_traces.trace = [&asked](std::string_view name, std::string_view from) -> Result<sim::Job> {
    asked = fmt::format("{} of {}", name, from);
    if (name == "b.csv") return fail(Errc::parse, "not a trace");
    return sim::Job{.name = "recorded", .processes = 9, .pattern = {.block = Bytes::mib(7), .transfer = Bytes::mib(1)}};
  };
  auto scenario = parse_scenario("extends = \"dir/base.toml\"", "s.toml", with_traces);
  ASSERT_TRUE(scenario) << scenario.error().message;
  EXPECT_EQ(asked, "a.csv of dir/base.toml");
  EXPECT_EQ(scenario->jobs[0].name, "recorded");
  EXPECT_EQ(scenario->jobs[0].processes, 4U);
  EXPECT_EQ(scenario->jobs[0].pattern.segments, 5U);
  EXPECT_EQ(scenario->jobs[0].pattern.block, Bytes::mib(7));
  const std::vector<Override> other{{.key = "job.0.trace", .value = "b.csv"}};
  scenario = parse_scenario("extends = \"dir/base.toml\"", "s.toml", with_traces, other);
  ASSERT_FALSE(scenario);
  EXPECT_EQ(asked, "b.csv of s.toml");
  EXPECT_EQ(scenario.error().message, "override 'job.0.trace=b.csv': trace of [[job]]: not a trace");
}

TEST(Scenario, RecordedFilesKeepTheirStripingUnlessTheTableStatesOne) {
  ScenarioSources recorded = sources({});
  recorded.trace = [](std::string_view, std::string_view) -> Result<sim::Job> {
    return sim::Job{.name = "recorded",
                    .processes = 2,
                    .files = {{.name = "a", .written = {.bytes = {5}}, .striping = {.count = 2, .size = Bytes::mib(4)}},
                              {.name = "b", .read = {.bytes = {6}}, .rank = 1}}};
  };
  const auto files = [&](std::string_view lines) {
    const std::string text = fmt::format("machine = \"small\"\n[[job]]\nkind = \"trace\"\ntrace = \"a.csv\"\n{}", lines);
    return parse_scenario(text, "s.toml", recorded);
  };
  const auto as_recorded = files("start = \"2s\"");
  ASSERT_TRUE(as_recorded) << as_recorded.error().message;
  const sim::Job& job = as_recorded->jobs[0];
  EXPECT_EQ(job.start, std::chrono::seconds(2));
  EXPECT_EQ(job.processes, 2U);
  EXPECT_EQ(job.files[0].striping.count, 2U);
  EXPECT_EQ(job.files[0].striping.size, Bytes::mib(4));
  EXPECT_EQ(job.files[1].striping.count, 1U);
  const auto counted = files("stripe_count = 2");
  ASSERT_TRUE(counted) << counted.error().message;
  EXPECT_EQ(counted->jobs[0].files[1].striping.count, 2U);
  EXPECT_EQ(counted->jobs[0].files[0].striping.size, Bytes::mib(4)) << "only what is stated";
  const auto sized = files("stripe_size = \"64KiB\"");
  ASSERT_TRUE(sized) << sized.error().message;
  EXPECT_EQ(sized->jobs[0].files[0].striping.size, Bytes::kib(64));
  EXPECT_EQ(sized->jobs[0].files[0].striping.count, 2U);
  for (const std::string_view key : {"mode = \"shared\"", "access = \"read\"", "block = 1", "transfer = 1", "segments = 1",
                                     "files = 1", "particles = 1", "header = 1", "writers = 1", "exchange = \"1GB/s\""}) {
    const auto refused = files(key);
    ASSERT_FALSE(refused) << key;
    EXPECT_THAT(refused.error().message, HasSubstr("expected none: the files of the trace tell it")) << key;
  }
}

TEST(Scenario, Limits) {
  std::string many(kScenario);
  for (int i = 0; i < 300; ++i) many += fmt::format("key{} = 1\n", i);
  EXPECT_EQ(refusal(many), "s.toml:2: found a table with 301 keys, expected at most 256");
  EXPECT_THAT(refusal(std::string(kMaxScenarioText + 1, '\n')), EndsWith("found 1048577 bytes, expected at most 1048576"));
  EXPECT_THAT(refusal(std::string(300, '.')), HasSubstr("more than 256 dots in a line"));
  EXPECT_NE(refusal("x = " + std::string(2000, '[')), "accepted");
  EXPECT_THAT(
      refusal("machine = \"small\"\n[[job]]\nfiles = 1000000\n[[job]]\nfiles = 1000000\nprocesses = 64\nstripe_count = 10\n"
              "[[job]]\nfiles = 1000000\nprocesses = 64\nstripe_count = 10\n"),
      EndsWith("s.toml:4: [[job]]: found 641000000 objects (files x stripes) in all jobs up to here, expected at most "
               "100000000"));
  EXPECT_THAT(refusal(with("[machine]"), {}), StartsWith("s.toml:4: "));  // `machine` is a text already
}

TEST(Scenario, NeverCrashesOnChangedText) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Rng rng(kSeed);
  const std::string whole = with(
      "block = \"1GiB\"\n[congestion]\nl_max = \"60s\"\n[server]\ntargets = 3\n[[incident]]\nserver = 1\n"
      "at = 3\nspeed = 0.5\n[background]\nsize = 3\n");
  const std::string letters = "\n=[]{}\".,0123456789 -ax_#*";
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (std::uint64_t i = 0, n = 1 + rng.below(2); i < n; ++i) {
      const auto at = static_cast<std::size_t>(rng.below(text.size()));
      const char letter = letters[static_cast<std::size_t>(rng.below(letters.size()))];
      if (rng.below(2) == 0) {
        text[at] = letter;
      } else {
        text.insert(at, 1, letter);
      }
    }
    const auto scenario = parse_scenario(text, "s.toml", sources());
    if (scenario) {
      ++read;
      EXPECT_FALSE(scenario->jobs.empty());
    } else {
      EXPECT_THAT(scenario.error().message, AnyOf(StartsWith("s.toml:"), StartsWith("small.toml:"))) << text;
    }
  }
  EXPECT_GT(read, 50);
}

}  // namespace
}  // namespace iez::config
