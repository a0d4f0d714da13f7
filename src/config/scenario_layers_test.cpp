// What lies over what: files that extend one another, machines, overrides.
#include "config/scenario_layers.hpp"

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "config/scenario_toml.hpp"

namespace iez::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using Files = std::map<std::string, std::string, std::less<>>;

// Files by the path that a loader would resolve: names are looked up beside the file that gives them.
ScenarioSources sources(Files files) {
  files.emplace("small",
                "name = \"small\"\nnodes = 8\n[network]\nlatency = \"1ms\"\nturnaround = \"2ms\"\n"
                "[[server]]\ncount = 2\ntargets = 3\ntarget = {write_rate = \"200MB/s\", positioning = \"5ms\"}\n"
                "[[server]]\ntargets = 4\ntarget = {write_rate = \"400MB/s\"}\n");
  files.emplace("twin", "extends = \"small\"\nname = \"twin\"\nnodes = 16\n[network]\nlatency = \"9ms\"\n");
  ScenarioSources out;
  out.machines = {"small", "twin"};
  out.load = [files](std::string_view name, std::string_view from) -> Result<std::string> {
    std::string path(name);
    if (const std::size_t slash = from.rfind('/'); name.ends_with(".toml") && slash != std::string_view::npos) {
      path = fmt::format("{}/{}", from.substr(0, slash), name);
    }
    const auto found = files.find(path);
    if (found == files.end()) return fail(Errc::not_found, fmt::format("no file {}", path));
    return found->second;
  };
  return out;
}

const Files& base_files() {
  static const Files kFiles{{"base.toml",
                             "name = \"base\"\nmachine = \"small\"\nseed = 3\n[[job]]\nprocesses = 4\nsegments = 2\n"
                             "[congestion]\nl_max = \"60s\"\nrcc_max = 16\n[network]\nlatency = \"4ms\"\n"},
                            {"dir/far.toml", "extends = \"../base.toml\"\n"},
                            {"dir/../base.toml", "machine = \"twin\"\n[[job]]\n"}};
  return kFiles;
}

sim::Scenario accepted(std::string_view text, const std::vector<Override>& overrides = {}) {
  auto scenario = parse_scenario(text, "s.toml", sources(base_files()), overrides);
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().message);
  return scenario ? *std::move(scenario) : sim::Scenario{.machine = {.servers = {{}, {}}}, .jobs = {{}, {}}};
}

std::string refusal(std::string_view text, const std::vector<Override>& overrides = {}, const Files& files = base_files()) {
  const auto scenario = parse_scenario(text, "s.toml", sources(files), overrides);
  return scenario ? "accepted" : scenario.error().message;
}

sim::Scenario changed(const std::vector<Override>& overrides) { return accepted("extends = \"base.toml\"", overrides); }
std::string refused_change(const std::string& key, const std::string& value) {
  return refusal("extends = \"base.toml\"", {{.key = key, .value = value}});
}

TEST(ScenarioLayers, KeysWin) {
  const sim::Scenario scenario = accepted("extends = \"base.toml\"\nname = \"own\"\n[network]\nturnaround = \"7ms\"\n");
  EXPECT_EQ(scenario.name, "own");
  EXPECT_EQ(scenario.seed, 3U);
  EXPECT_EQ(scenario.machine.nodes, 8U);
  EXPECT_EQ(scenario.machine.network.latency, milliseconds(4));
  EXPECT_EQ(scenario.machine.network.turnaround, milliseconds(7));
  EXPECT_EQ(std::get<congestion::RccParameters>(scenario.congestion).rcc_max, 16U);
}

TEST(ScenarioLayers, ListsAreReplaced) {
  const sim::Scenario scenario = accepted("extends = \"base.toml\"\n[[job]]\nname = \"x\"\n[[job]]\nname = \"y\"\n");
  ASSERT_EQ(scenario.jobs.size(), 2U);
  EXPECT_EQ(scenario.jobs[0].processes, 1U);
  EXPECT_EQ(scenario.jobs[0].pattern.segments, 1U);
}

TEST(ScenarioLayers, AnotherLawReplacesTheOther) {
  const auto law = [](std::string_view lines) {
    return accepted(fmt::format("extends = \"base.toml\"\n[congestion]\n{}", lines)).congestion;
  };
  EXPECT_EQ(std::get<sim::FixedCredits>(law("fixed = 3")).credits, 3U);
  EXPECT_EQ(std::get<congestion::LatencyGoal>(law("goal = 5")).goal, Duration(seconds(5)));
  EXPECT_EQ(std::get<congestion::RccParameters>(law("l_max = 5")).rcc_max, 16U);
  EXPECT_EQ(std::get<congestion::RccParameters>(law("stl = 5")).l_max, seconds(60));
}

TEST(ScenarioLayers, Machines) {
  const sim::Machine twin = accepted("machine = \"twin\"\n[[job]]").machine;
  EXPECT_EQ(twin.name, "twin");
  EXPECT_EQ(twin.nodes, 16U);
  EXPECT_EQ(twin.network.latency, milliseconds(9));
  EXPECT_EQ(twin.network.turnaround, milliseconds(2));
  EXPECT_EQ(target_count(twin), 10U);
  // A machine of its own takes the place of the machine that the base has, its changes included.
  EXPECT_EQ(accepted("extends = \"base.toml\"\nmachine = \"twin\"").machine.network.latency, milliseconds(9));
  // A table changes it ...
  EXPECT_EQ(accepted("extends = \"base.toml\"\n[machine]\nnodes = 99").machine.nodes, 99U);
  EXPECT_EQ(accepted("extends = \"base.toml\"\n[machine]\nnodes = 99").machine.network.latency, milliseconds(4));
  // ... or starts from another.
  const sim::Machine mixed = accepted("[machine]\nextends = \"small\"\nnodes = 5\nnetwork.latency = \"3ms\"\n[[job]]").machine;
  EXPECT_EQ(mixed.nodes, 5U);
  EXPECT_EQ(mixed.network.latency, milliseconds(3));
  EXPECT_EQ(mixed.network.turnaround, milliseconds(2));
  // Or is all there is.
  const sim::Machine own =
      accepted("[machine]\nnodes = 2\n[[machine.server]]\ncount = 7\n[machine.server.target]\nwrite_rate = 1e6\n[[job]]").machine;
  EXPECT_EQ(target_count(own), 7U);
}

TEST(ScenarioLayers, TablesChangeEveryServer) {
  const sim::Machine machine = accepted(
                                   "machine = \"small\"\n[server]\nthreads = 5\n[target]\nwrite_rate = \"1GB/s\"\npatience = "
                                   "9\n[locks]\nenqueue = 1\n[client]\nimport_rate = 4000\n[[job]]")
                                   .machine;
  ASSERT_EQ(machine.servers.size(), 2U);
  for (const sim::ServerGroup& group : machine.servers) {
    EXPECT_EQ(group.server.threads, 5U);
    EXPECT_EQ(group.target.write_rate.value, 1e9);
  }
  EXPECT_EQ(machine.servers[0].target.positioning, milliseconds(5));
  EXPECT_EQ(machine.servers[0].targets, 3U);
  EXPECT_EQ(machine.servers[1].target.patience, seconds(9));
  EXPECT_EQ(machine.client.import_rate.value, 4000);
  EXPECT_EQ(machine.locks.enqueue, seconds(1));
  EXPECT_EQ(target_count(accepted("machine = \"small\"\n[server]\ntargets = 10\n[[job]]").machine), 30U);
  EXPECT_THAT(refusal("server = 3\nmachine = \"small\"\n[[job]]"), EndsWith("server: found 3, expected a table that starts with "
                                                                            "[server]"));
}

TEST(ScenarioLayers, MachineErrors) {
  EXPECT_EQ(refusal("machine = \"smal\"\n[[job]]"),
            "s.toml:1: machine: found 'smal', expected a path that ends in .toml, a table, or one of small, twin; did you mean "
            "'small'?");
  EXPECT_EQ(refusal("machine = \"other.toml\"\n[[job]]"), "s.toml:1: machine: no file other.toml");
  EXPECT_EQ(refusal("[[job]]"), "s.toml: machine: missing, expected a name, a path that ends in .toml, or a table [machine]");
  EXPECT_EQ(refusal("machine = 3\n[[job]]"), "s.toml:1: machine: found 3, expected a name or a table");
  EXPECT_EQ(refusal("[machine]\nextends = 3\n[[job]]"), "s.toml:2: extends: found 3, expected the name of a machine");
  const auto machine = [](const std::string& text) { return refusal("machine = \"m.toml\"\n[[job]]", {}, {{"m.toml", text}}); };
  EXPECT_EQ(machine("nodes = 1"), "m.toml: server of [machine]: missing, expected at least one [[server]] with targets");
  EXPECT_EQ(machine("[[server]]\ncount = 2"),
            "m.toml:1: target of [[server]]: missing, expected a table [server.target] with write_rate = \"200MB/s\"");
  EXPECT_EQ(machine("[[server]]\n[server.target]\ncapacity = 3"),
            "m.toml:2: write_rate of [server.target]: missing, expected a rate above 0 such as \"200MB/s\"");
  EXPECT_THAT(machine("[[server]]\n[server.target]\nwrite_rate = 0"),
              StartsWith("m.toml:3: write_rate of [server.target]: found 0, expected a rate of at least 1 KiB/s"));
  EXPECT_THAT(machine("[[server]]\n[server.target]\nwrite_rate = \"unlimited\""), EndsWith("expected a rate above 0 such as "
                                                                                           "\"200MB/s\""));
  EXPECT_THAT(machine("[[server]]\n[server.target]\nwrite_rate = \"-3MB/s\""), HasSubstr("found '-3MB/s'"));
  EXPECT_THAT(machine("[[server]]\n[server.target]\nwrite_rate = inf"), HasSubstr("found inf"));
  EXPECT_THAT(machine("[[server]]\nthreads = 0"), EndsWith("found 0, expected a whole number from 1 to 1000000"));
  EXPECT_THAT(machine("[[server]]\ncount = 1000\ntargets = 1001\ntarget = {write_rate = 1e6}"),
              EndsWith("found 1001000 targets up to here, expected at most 999999"));
  EXPECT_THAT(machine("nodes = 0"),
              EndsWith("m.toml:1: nodes of [machine]: found 0, expected a whole number from 1 to 10000000"));
  EXPECT_THAT(machine("node = 0"), EndsWith("did you mean 'nodes'?"));
  EXPECT_THAT(machine("[client]\nrpc_size = \"2GiB\""), EndsWith("expected at most 1 GiB"));
  EXPECT_THAT(machine("x ="), StartsWith("m.toml:1: "));
}

TEST(ScenarioLayers, MachineByItself) {
  const auto machine = parse_machine("extends = \"small\"\nname = \"one\"\n[client]\ncache = \"1GiB\"", "m.toml", sources({}));
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->name, "one");
  EXPECT_EQ(machine->client.cache, Bytes::gib(1));
  EXPECT_EQ(server_count(*machine), 3U);
  const auto wrong = parse_machine("[client]\ncash = 1", "m.toml", {});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, StartsWith("m.toml:2: unknown key 'cash' of [client]"));
  const auto alone = parse_machine("extends = \"m2.toml\"", "m.toml", {});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Errc::unsupported);
}

TEST(ScenarioLayers, PathsAreBesideTheFile) { EXPECT_EQ(accepted("extends = \"dir/far.toml\"").machine.name, "twin"); }

TEST(ScenarioLayers, CyclesAndDepth) {
  const auto namesake = parse_machine("extends = \"small\"\nnodes = 3", "small.toml", sources({}));
  ASSERT_TRUE(namesake) << namesake.error().message;
  EXPECT_EQ(namesake->nodes, 3U);
  const Files cycle{
      {"a.toml", "extends = \"b.toml\""}, {"b.toml", "extends = \"./a.toml\""}, {"./a.toml", "extends = \"b.toml\""}};
  EXPECT_EQ(refusal("extends = \"a.toml\"", {}, cycle),
            "b.toml:1: extends: found a cycle, s.toml -> a.toml -> b.toml -> a.toml; expected an end");
  EXPECT_THAT(refusal("extends = \"s.toml\"", {}, {{"s.toml", "extends = \"s.toml\""}}), HasSubstr("a cycle, s.toml -> s.toml;"));
  const Files machines{{"m.toml", "extends = \"n.toml\""}, {"n.toml", "extends = \"m.toml\""}};
  EXPECT_THAT(refusal("machine = \"m.toml\"", {}, machines), HasSubstr("a cycle, s.toml -> m.toml -> n.toml -> m.toml;"));
  const auto chain = [](int length) {
    Files files;
    for (int i = 1; i < length; ++i) files.emplace(fmt::format("f{}.toml", i), fmt::format("extends = \"f{}.toml\"", i + 1));
    files.emplace(fmt::format("f{}.toml", length), "[[job]]");
    return files;
  };
  EXPECT_THAT(refusal("extends = \"f1.toml\"\nmachine = \"small\"", {}, chain(8)), "accepted");
  EXPECT_THAT(refusal("extends = \"f1.toml\"\nmachine = \"small\"", {}, chain(9)),
              EndsWith("f8.toml -> f9.toml, expected at most 8 files that extend one another"));
  EXPECT_EQ(refusal("extends = \"base\""),
            "s.toml:1: extends: found 'base', expected the path of a scenario, which ends in .toml");
  EXPECT_EQ(refusal("\nextends = \"none.toml\""), "s.toml:2: extends: no file none.toml");
}

TEST(ScenarioOverride, Values) {
  EXPECT_EQ(std::get<sim::FixedCredits>(changed({{"congestion.fixed", "4"}}).congestion).credits, 4U);
  EXPECT_EQ(std::get<congestion::RccParameters>(changed({{"congestion.l_max", "30s"}}).congestion).l_max, seconds(30));
  EXPECT_EQ(std::get<congestion::RccParameters>(changed({{"congestion.l_max", "30s"}}).congestion).rcc_max, 16U);
  EXPECT_EQ(std::get<congestion::LatencyGoal>(
                changed({{"congestion.goal", "9"}, {"congestion.most_credits", "5"}, {"congestion.law", "goal"}}).congestion)
                .most_credits,
            5U);
  EXPECT_EQ(changed({{"job.0.processes", "7"}}).jobs[0].processes, 7U);
  EXPECT_EQ(changed({{"job.0.block", "3MiB"}}).jobs[0].pattern.block, Bytes::mib(3));
  EXPECT_EQ(changed({{"machine.nodes", "2048"}}).machine.nodes, 2048U);
  EXPECT_EQ(changed({{"target.write_rate", "\"250MB/s\""}}).machine.servers[1].target.write_rate.value, 250e6);
  EXPECT_EQ(changed({{"machine.server.1.target.write_rate", "250MB/s"}}).machine.servers[0].target.write_rate.value, 200e6);
  EXPECT_EQ(changed({{"machine", "twin"}, {"machine.nodes", "17"}}).machine.nodes, 17U);
  EXPECT_EQ(changed({{"machine", "twin"}}).machine.network.latency, milliseconds(9));
  EXPECT_EQ(changed({{"job", "[{name = \"x\"}, {name = \"y\"}]"}, {"job.*.segments", "6"}}).jobs[1].pattern.segments, 6U);
  EXPECT_EQ(changed({{"name", "CC(60, 1024)"}}).name, "CC(60, 1024)");
  EXPECT_EQ(changed({{"placement.policy", "random"}}).placement, "random");
  // The later one wins, whichever way it names the value.
  EXPECT_EQ(changed({{"network.latency", "1s"}, {"machine.network.latency", "2s"}}).machine.network.latency, seconds(2));
  EXPECT_EQ(changed({{"machine.network.latency", "2s"}, {"network.latency", "1s"}}).machine.network.latency, seconds(1));
}

TEST(ScenarioOverride, Errors) {
  EXPECT_EQ(refused_change("congestion.fixed", "0"),
            "override 'congestion.fixed=0': fixed of [congestion]: found 0, expected a whole number from 1 to 65536");
  EXPECT_THAT(
      refused_change("congestoin.fixed", "4"),
      AllOf(StartsWith("override 'congestoin.fixed=4': unknown key 'congestoin'"), EndsWith("did you mean 'congestion'?")));
  EXPECT_THAT(refused_change("job.1.processes", "4"),
              EndsWith("found '1' behind 'job', expected * or the number of one of its 1 items, from 0"));
  EXPECT_THAT(refused_change("job.processes", "4"), HasSubstr("found 'processes' behind 'job'"));
  EXPECT_THAT(refused_change("seed.x", "4"), EndsWith("'seed' is 3, expected a table that has 'x'"));
  EXPECT_THAT(refused_change("job.0.block", "[1"), HasSubstr("found '[1', expected a TOML value ("));
  EXPECT_THAT(refused_change("job.0.block", "\"x"), HasSubstr("expected a TOML value ("));
  EXPECT_THAT(refused_change("name", "a\nb = 3"), HasSubstr("expected a value in one line"));
  EXPECT_THAT(refused_change("name", "a\x01"), HasSubstr("without control characters"));
  EXPECT_THAT(refused_change("name", ""), HasSubstr("expected a value behind ="));
  EXPECT_THAT(refused_change("a..b", "1"), HasSubstr("expected key=value"));
  EXPECT_THAT(refused_change("extends", "x.toml"), HasSubstr("found extends, which has been followed already"));
  EXPECT_THAT(refused_change("machine.extends", "twin"), HasSubstr("found extends"));
  EXPECT_THAT(refused_change("machine", "twim"), HasSubstr("did you mean 'twin'?"));
  EXPECT_THAT(refused_change("machine", "4"), EndsWith("machine: found 4, expected a name or a table"));
  EXPECT_THAT(refused_change("server", "[" + std::string(200, '1') + "]"), HasSubstr("override 'server="));
}

TEST(ScenarioOverride, NeverCrash) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Rng rng(kSeed);
  constexpr std::array<std::string_view, 27> kParts{
      "machine", "job",     "congestion", "0",         "1",     "*",       "server",     "target",   "nodes",
      "fixed",   "l_max",   "law",        "processes", "block", "network", "seed",       "incident", "latency",
      "count",   "targets", "name",       "until",     "x",     "goal",    "write_rate", "locks",    "stripe_count"};
  constexpr std::array<std::string_view, 20> kValues{"0",     "1",   "-1",   "4",       "1e300",   "nan",       "60s",
                                                     "\"x\"", "[]",  "{}",   "[{}]",    "{a = 1}", "twin",      "true",
                                                     "small", "rcc", "goal", "200MB/s", "1EiB",    "1979-05-27"};
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Override> changes(1 + rng.below(3));
    for (Override& change : changes) {
      for (std::uint64_t i = 0, n = 1 + rng.below(4); i < n; ++i) {
        if (i > 0) change.key += '.';
        change.key += kParts[static_cast<std::size_t>(rng.below(kParts.size()))];
      }
      change.value = kValues[static_cast<std::size_t>(rng.below(kValues.size()))];
    }
    const auto scenario = parse_scenario("extends = \"base.toml\"", "s.toml", sources(base_files()), changes);
    if (scenario) {
      ++read;
      ASSERT_FALSE(scenario->jobs.empty());
      ASSERT_LE(scenario->jobs[0].striping.count, target_count(scenario->machine));
    } else {
      ASSERT_FALSE(scenario.error().message.empty());
    }
  }
  EXPECT_GT(read, 50);
}

TEST(ScenarioOverride, Parse) {
  EXPECT_EQ(*parse_override(" a.b = c=d "), (Override{.key = "a.b", .value = "c=d"}));
  for (const std::string_view text : {"", "=", "a", "=1", "a=", "a b=1", ".a=1", "a.=1", "a.**=1", "1.2.3.4.5.6.7.8.9=1"}) {
    EXPECT_FALSE(parse_override(text)) << text;
  }
  EXPECT_FALSE(parse_override("a=" + std::string(kMaxOverrideText, 'x')));
}

std::string swept(const std::string& text) {
  const std::vector<std::string> texts{text};
  const auto sweeps = parse_sweeps(texts);
  return sweeps ? fmt::format("{}", fmt::join(sweeps->front().values, " ")) : sweeps.error().message;
}

TEST(ScenarioSweep, Values) {
  EXPECT_EQ(swept("k=1"), "1");
  EXPECT_EQ(swept("k=1, 4 ,60s"), "1 4 60s");
  EXPECT_EQ(swept("k=1..32*2"), "1 2 4 8 16 32");
  EXPECT_EQ(swept("k=1..33*2"), "1 2 4 8 16 32");
  EXPECT_EQ(swept("k=3..1000*3"), "3 9 27 81 243 729");
  EXPECT_EQ(swept("k=0..10+2"), "0 2 4 6 8 10");
  EXPECT_EQ(swept("k=1..4"), "1 2 3 4");
  EXPECT_EQ(swept("k=5..5"), "5");
  EXPECT_EQ(swept("k=0..0.5+0.1"), "0 0.1 0.2 0.3 0.4 0.5");
  EXPECT_EQ(swept("k=0.1..0.9*3"), "0.1 0.3 0.9");
  EXPECT_EQ(swept("k=1000000000000000..1000000000000002"), "1000000000000000 1000000000000001 1000000000000002");
  EXPECT_EQ(swept("k=\"a,b\",[1,2],c"), "\"a,b\" [1,2] c");
  EXPECT_EQ(swept("k=\"a..b\""), "\"a..b\"");
}

TEST(ScenarioSweep, Errors) {
  EXPECT_THAT(swept("k=1..x"), HasSubstr("a range of numbers such as 1..32*2"));
  EXPECT_THAT(swept("k=1,,2"), HasSubstr("found an empty value"));
  EXPECT_THAT(swept("k=9..1"), HasSubstr("a range that ascends"));
  EXPECT_THAT(swept("k=0..8*2"), HasSubstr("a start above 0 and a factor above 1"));
  EXPECT_THAT(swept("k=1..8*1"), HasSubstr("a factor above 1"));
  EXPECT_THAT(swept("k=1..8+0"), HasSubstr("a step above 0"));
  EXPECT_THAT(swept("k=1..10001"), EndsWith("found 10001 combinations, expected at most 10000"));
  EXPECT_THAT(swept("k=1..1e300"), HasSubstr("a range of numbers"));
  EXPECT_THAT(swept("k=1..9000000000000000+0.000001"), HasSubstr("expected at most 10000"));
  EXPECT_THAT(swept("k=1..1000000*1.0000001"), HasSubstr("expected at most 10000"));
  const std::vector<std::string> twice{"a=1,2", "a=3"};
  EXPECT_THAT(parse_sweeps(twice).error().message, HasSubstr("found the key 'a' twice"));
  const std::vector<std::string> many{"a=1..200", "b=1..101"};
  EXPECT_EQ(parse_sweeps(many).error().message, "sweeps: found 20200 combinations, expected at most 10000");
}

TEST(ScenarioSweep, Combinations) {
  EXPECT_EQ(combinations({}), (std::vector<std::vector<Override>>{{}}));
  const std::vector<std::string> texts{"a=1,2", "b=x,y,z"};
  const auto sweeps = parse_sweeps(texts);
  ASSERT_TRUE(sweeps);
  const auto all = combinations(*sweeps);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0], (std::vector<Override>{{"a", "1"}, {"b", "x"}}));
  EXPECT_EQ(all[1], (std::vector<Override>{{"a", "1"}, {"b", "y"}}));
  EXPECT_EQ(all[5], (std::vector<Override>{{"a", "2"}, {"b", "z"}}));
}

}  // namespace
}  // namespace iez::config
