#include "telemetry/collector.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace iez::telemetry {
namespace {

using lustre::SpaceSource;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

Moment at(Duration time) { return {.monotonic = time, .wall = WallTime{time + 1'000'000s}}; }

struct Said {
  std::uint32_t ost = 0;
  SpaceSource by = SpaceSource::obdfilter;
  std::uint64_t free = 50;
  std::string server = {};  // empty: the agent
};

Sample sample(const std::string& agent, std::uint64_t sequence, const std::vector<Said>& said, Duration interval = 10s,
              std::uint64_t instance = 1) {
  Sample out{.agent = agent, .instance = instance, .sequence = sequence, .interval = interval};
  FileSystemSample fs{.name = "fs"};
  for (const Said& one : said) {
    const std::string server = one.server.empty() ? agent : one.server;
    std::uint32_t number = 0;
    while (number < fs.servers.size() && fs.servers[number].name != server) ++number;
    if (number == fs.servers.size()) fs.servers.push_back({.name = server, .load = {.cpu = 0.5}});
    fs.osts.push_back({.index = OstIndex{one.ost},
                       .server = number,
                       .total = Bytes{100},
                       .free = Bytes{one.free},
                       .available = Bytes{one.free},
                       .seen_by = one.by});
  }
  out.file_systems.push_back(std::move(fs));
  return out;
}

const OstInfo& info(const FileSystemView& view, std::size_t i) { return view.osts.at(i); }

TEST(Collector, CountsGapsDuplicatesAndLateOnes) {
  Collector collector;
  EXPECT_EQ(collector.feed(sample("a", 5, {{0}}), at(1s)), Outcome::taken);  // 1 to 4 were before our time
  EXPECT_EQ(collector.feed(sample("a", 8, {{.ost = 0, .free = 8}}), at(2s)), Outcome::taken);
  EXPECT_EQ(collector.agents(at(2s)).at(0).missing, 2U);
  EXPECT_EQ(collector.feed(sample("a", 6, {{.ost = 0, .free = 6}}), at(3s)), Outcome::reordered);
  EXPECT_EQ(collector.feed(sample("a", 6, {{0}}), at(3s)), Outcome::duplicate);
  EXPECT_EQ(collector.feed(sample("a", 8, {{0}}), at(3s)), Outcome::duplicate);
  const AgentInfo agent = collector.agents(at(3s)).at(0);
  EXPECT_EQ(agent.samples, 3U);
  EXPECT_EQ(agent.missing, 1U);
  EXPECT_EQ(agent.reordered, 1U);
  EXPECT_EQ(agent.duplicates, 2U);
  EXPECT_EQ(agent.sequence, 8U);
  // What came late does not undo what is newer.
  EXPECT_EQ(collector.view(at(3s)).file_systems.at(0).cluster.osts.at(0).free, Bytes{8});
  EXPECT_EQ(collector.feed(sample("a", 100, {{0}}), at(4s)), Outcome::taken);
  EXPECT_EQ(collector.feed(sample("a", 36, {{0}}), at(4s)), Outcome::stale);
  EXPECT_EQ(collector.feed(sample("a", 37, {{0}}), at(4s)), Outcome::reordered);
}

TEST(Collector, LiveLateDead) {
  Collector collector;
  collector.feed(sample("a", 1, {}, 10s), at(0s));
  collector.feed(sample("slow", 1, {}, 120s), at(0s));
  const auto state = [&](Duration time, std::size_t which) { return collector.agents(at(time)).at(which).state; };
  EXPECT_EQ(state(26s, 0), AgentState::live);  // 2.5 intervals and a second
  EXPECT_EQ(state(26s + 1ns, 0), AgentState::late);
  EXPECT_EQ(state(600s, 0), AgentState::late);  // ten intervals are less than ten minutes
  EXPECT_EQ(state(600s + 1ns, 0), AgentState::dead);
  EXPECT_EQ(state(1200s, 1), AgentState::late);
  EXPECT_EQ(state(1200s + 1ns, 1), AgentState::dead);
  Sample last = sample("a", 2, {});
  last.last = true;
  collector.feed(last, at(700s));
  EXPECT_EQ(state(700s, 0), AgentState::left);
  collector.feed(sample("a", 1, {}, 10s, 2), at(701s));
  EXPECT_EQ(state(701s, 0), AgentState::live);
}

TEST(Collector, ARestartStartsAnewAndTheOldInstanceIsNotHeard) {
  Collector collector;
  collector.feed(sample("a", 1, {{0}}, 10s, 11), at(0s));
  collector.feed(sample("a", 4, {{0}}, 10s, 11), at(1s));
  EXPECT_EQ(collector.feed(sample("a", 2, {{.ost = 0, .free = 22}}, 10s, 12), at(2s)), Outcome::taken);
  EXPECT_EQ(collector.feed(sample("a", 5, {{.ost = 0, .free = 11}}, 10s, 11), at(3s)), Outcome::retired);
  AgentInfo agent = collector.agents(at(3s)).at(0);
  EXPECT_EQ(agent.restarts, 1U);
  EXPECT_EQ(agent.refused, 1U);
  EXPECT_EQ(agent.missing, 3U);  // 2 and 3 of the first, 1 of the second
  EXPECT_EQ(collector.view(at(3s)).file_systems.at(0).cluster.osts.at(0).free, Bytes{22});
  // Two agents of one name, and the second one has gone: the first is heard again.
  EXPECT_EQ(collector.feed(sample("a", 9, {{.ost = 0, .free = 33}}, 10s, 11), at(40s)), Outcome::taken);
  agent = collector.agents(at(40s)).at(0);
  EXPECT_EQ(agent.restarts, 2U);
  EXPECT_EQ(agent.missing, 3U);
}

TEST(Collector, ClockSkewIsAMedian) {
  Collector collector;
  for (std::uint64_t i = 1; i <= 15; ++i) {
    Sample one = sample("a", i, {});
    one.sent = at(Duration{0}).wall + std::chrono::seconds{i} + (i == 3 ? 500s : 30s);  // its clock runs ahead; once it jumps
    collector.feed(one, at(std::chrono::seconds{i}));
  }
  EXPECT_EQ(collector.agents(at(15s)).at(0).skew, Duration{-30s});
  Sample hostile = sample("b", 1, {});
  hostile.sent = WallTime{Duration{std::numeric_limits<std::int64_t>::min()}};
  collector.feed(hostile, at(15s));
  EXPECT_EQ(collector.agents(at(15s)).at(1).skew, Duration{std::numeric_limits<std::int64_t>::max()});
}

TEST(Collector, TrustDecidesWhileItIsFresh) {
  Collector collector;
  collector.feed(sample("client", 1, {{.ost = 0, .by = SpaceSource::osc, .free = 1, .server = "n1"}}), at(0s));
  EXPECT_EQ(info(collector.view(at(0s)).file_systems.at(0), 0).seen_by, SpaceSource::osc);
  collector.feed(sample("oss", 1, {{.ost = 0, .free = 3}}), at(1s));
  collector.feed(sample("mds", 1, {{.ost = 0, .by = SpaceSource::osp, .free = 2, .server = "n1"}}), at(2s));
  collector.feed(sample("client", 2, {{.ost = 0, .by = SpaceSource::osc, .free = 1, .server = "n1"}}), at(3s));
  auto view = collector.view(at(3s)).file_systems.at(0);
  EXPECT_EQ(view.cluster.osts.at(0).free, Bytes{3});
  EXPECT_EQ(info(view, 0).agent, "oss");
  // The server falls silent: the MDS is the next best, and the server is still known by name.
  collector.feed(sample("mds", 2, {{.ost = 0, .by = SpaceSource::osp, .free = 2, .server = "n1"}}), at(25s));
  view = collector.view(at(28s)).file_systems.at(0);
  EXPECT_EQ(view.cluster.osts.at(0).free, Bytes{2});
  EXPECT_EQ(view.cluster.servers.at(view.cluster.osts.at(0).oss).name, "oss");
  EXPECT_FALSE(view.cluster.servers.at(0).cpu);  // that was said too long ago
  EXPECT_TRUE(view.stale.empty());
  // All are silent: the last word stays, and is marked.
  view = collector.view(at(100s)).file_systems.at(0);
  EXPECT_EQ(view.cluster.osts.at(0).free, Bytes{2});
  EXPECT_EQ(view.stale, std::vector{OstIndex{0}});
  EXPECT_TRUE(info(view, 0).stale);
  EXPECT_EQ(info(view, 0).age, Duration{75s});
  // A week later it is forgotten.
  EXPECT_TRUE(collector.view(at(25s + 168h + 1ns)).file_systems.empty());
}

TEST(Collector, ServersBehindNids) {
  Collector collector;
  collector.feed(sample("oss1", 1, {{0}}), at(0s));
  collector.feed(sample("mds", 1,
                        {{.ost = 0, .by = SpaceSource::osp, .server = "n1"},
                         {.ost = 1, .by = SpaceSource::osp, .server = "n1"},
                         {.ost = 2, .by = SpaceSource::osp, .server = "n2"}}),
                 at(0s));
  const auto view = collector.view(at(1s)).file_systems.at(0);
  const auto server = [&view](std::size_t ost) { return view.cluster.servers.at(view.cluster.osts.at(ost).oss).name; };
  EXPECT_EQ(server(0), "oss1");
  EXPECT_EQ(server(1), "oss1");
  EXPECT_EQ(server(2), "n2");
  EXPECT_EQ(view.cluster.osts.at(2).name, "fs-OST0002");
  EXPECT_EQ(view.cluster.servers.at(0).cpu, 0.5);
  EXPECT_FALSE(view.cluster.servers.at(1).cpu);  // an MDS cannot know
  EXPECT_TRUE(view.servers_known);
}

TEST(Collector, TheMdsKnowsWhatIsSwitchedOff) {
  Collector collector;
  collector.feed(sample("oss", 1, {{0}}), at(0s));
  Sample mds = sample("mds", 1, {{.ost = 0, .by = SpaceSource::osp, .server = "n1"}});
  mds.file_systems[0].osts[0].state = {.active = false, .no_create = true};
  collector.feed(mds, at(0s));
  const auto state = [&](Duration time) { return collector.view(at(time)).file_systems.at(0).cluster.osts.at(0).state; };
  EXPECT_EQ(state(1s), (model::OstState{.active = false, .no_create = true}));
  collector.feed(sample("oss", 2, {{0}}), at(60s));
  EXPECT_EQ(state(61s), model::OstState{});
}

TEST(Collector, AFailoverIsCounted) {
  Collector collector;
  collector.feed(sample("oss1", 1, {{.ost = 0, .free = 1}}), at(0s));
  collector.feed(sample("oss2", 1, {{.ost = 0, .free = 2}}), at(1s));
  const auto view = collector.view(at(1s)).file_systems.at(0);
  EXPECT_EQ(view.cluster.osts.at(0).free, Bytes{2});
  EXPECT_EQ(view.cluster.servers.at(0).name, "oss2");
  EXPECT_EQ(info(view, 0).takeovers, 1U);
  EXPECT_EQ(collector.counters().takeovers, 1U);
}

TEST(Collector, NobodySpeaksForAnother) {
  Collector collector;
  EXPECT_EQ(collector.feed(sample("a", 1, {}), at(0s), "b"), Outcome::forged);
  EXPECT_TRUE(collector.agents(at(0s)).empty());
  EXPECT_EQ(collector.feed(sample("a", 1, {}), at(0s), ""), Outcome::taken);
  EXPECT_EQ(collector.feed(sample("a", 2, {}), at(0s), "a"), Outcome::taken);
  EXPECT_EQ(collector.feed(sample("a", 3, {}), at(0s), ""), Outcome::forged);  // the shared key, after its own
  EXPECT_EQ(collector.counters().of(Outcome::forged), 2U);
}

TEST(Collector, MemoryIsBounded) {
  Collector::Options options;
  options.max_agents = 3;
  options.max_osts = 4;
  options.max_servers = 2;
  options.max_file_systems = 1;
  Collector collector(options);
  for (const char* const name : {"a", "b", "c"}) EXPECT_EQ(collector.feed(sample(name, 1, {}), at(0s)), Outcome::taken);
  EXPECT_EQ(collector.feed(sample("d", 1, {}), at(1s)), Outcome::refused);
  collector.feed(sample("b", 2, {}), at(599s));
  collector.feed(sample("c", 2, {}), at(599s));
  EXPECT_EQ(collector.feed(sample("d", 1, {}), at(601s)), Outcome::taken);  // a is dead
  EXPECT_EQ(collector.counters().evicted, 1U);
  EXPECT_EQ(collector.agents(at(601s)).size(), 3U);
  collector.feed(sample("d", 2, {{0}, {1}, {2}, {3}, {4}, {5}}), at(602s));
  EXPECT_EQ(collector.view(at(602s)).file_systems.at(0).cluster.osts.size(), 4U);
  EXPECT_EQ(collector.counters().targets_refused, 2U);
  Sample other = sample("d", 3, {{0}});
  other.file_systems[0].name = "other";
  collector.feed(other, at(603s));
  EXPECT_EQ(collector.view(at(603s)).file_systems.size(), 1U);
}

TEST(Collector, NamesThatNobodyNeedsMakeRoom) {
  Collector::Options options;
  options.max_agents = 3;
  options.max_servers = 2;
  Collector collector(options);
  // Clients come, tell of a NID each, and leave; what they said of OST 1 is replaced every time.
  for (int i = 1; i <= 100; ++i) {
    const std::string name = "client" + std::to_string(i);
    Sample one = sample(name, 1, {{.ost = 1, .by = SpaceSource::osc, .server = "nid" + std::to_string(i)}});
    one.last = true;
    collector.feed(sample("oss", static_cast<std::uint64_t>(i), {{0}}), at(std::chrono::seconds{2 * i}));
    ASSERT_EQ(collector.feed(one, at(std::chrono::seconds{2 * i})), Outcome::taken);
    const auto view = collector.view(at(std::chrono::seconds{2 * i})).file_systems.at(0);
    ASSERT_EQ(info(view, 0).agent, "oss");
    ASSERT_EQ(info(view, 1).agent, name);
    ASSERT_EQ(view.cluster.servers.at(view.cluster.osts.at(1).oss).name, "nid" + std::to_string(i));
    ASSERT_EQ(view.cluster.servers.at(view.cluster.osts.at(0).oss).cpu, 0.5);
  }
}

TEST(Collector, MalformedBytesAreCounted) {
  Collector collector;
  const std::byte one{0x42};
  EXPECT_EQ(collector.feed(std::span(&one, 1), at(0s)), Outcome::malformed);
  EXPECT_EQ(collector.counters().of(Outcome::malformed), 1U);
  EXPECT_EQ(collector.feed(encode(sample("a", 1, {{0}})), at(0s)), Outcome::taken);
  EXPECT_EQ(collector.revision(), 1U);
}

}  // namespace
}  // namespace iez::telemetry
