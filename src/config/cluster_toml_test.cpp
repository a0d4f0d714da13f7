#include "config/cluster_toml.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::config {
namespace {

using model::Cluster;
using testing::EndsWith;
using testing::StartsWith;

constexpr std::string_view kServer = "[[server]]\nosts = 3\nost_size = 100\n";

std::string refusal(std::string_view text) {
  const auto cluster = parse_cluster(text, "c.toml");
  return cluster ? "accepted" : cluster.error().message;
}

std::string refused_server(std::string_view line) {
  return refusal("[[server]]\n" + std::string(line) + "\nosts = 1\nost_size = 1\n");
}
std::string refused_ost(std::string_view lines) { return refusal(std::string(kServer) + "[[ost]]\n" + std::string(lines)); }
std::string refused_pool(std::string_view line) { return refusal(std::string(kServer) + "[pools]\n" + std::string(line)); }

Cluster accepted(std::string_view text) {
  auto cluster = parse_cluster(text, "c.toml");
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().message);
  return cluster ? *std::move(cluster) : Cluster{};
}

std::vector<std::uint32_t> indices(const std::vector<OstIndex>& osts) {
  std::vector<std::uint32_t> out;
  out.reserve(osts.size());
  for (const OstIndex ost : osts) out.push_back(ost.value);
  return out;
}

void expect_equal(const Cluster& a, const Cluster& b) {
  EXPECT_EQ(a.name, b.name);
  ASSERT_EQ(a.servers.size(), b.servers.size());
  for (std::size_t i = 0; i < a.servers.size(); ++i) {
    const model::Oss& x = a.servers[i];
    const model::Oss& y = b.servers[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.cpu, y.cpu);
    EXPECT_EQ(x.memory, y.memory);
    EXPECT_EQ(x.load_1min, y.load_1min);
    EXPECT_EQ(x.cores, y.cores);
    EXPECT_EQ(x.bandwidth.has_value(), y.bandwidth.has_value());
    EXPECT_EQ(x.bandwidth.value_or(BytesPerSecond{}).value, y.bandwidth.value_or(BytesPerSecond{}).value);
  }
  ASSERT_EQ(a.osts.size(), b.osts.size());
  for (std::size_t i = 0; i < a.osts.size(); ++i) {
    const model::Ost& x = a.osts[i];
    const model::Ost& y = b.osts[i];
    EXPECT_EQ(x.index, y.index);
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.oss, y.oss);
    EXPECT_EQ(x.total, y.total);
    EXPECT_EQ(x.free, y.free);
    EXPECT_EQ(x.available, y.available);
    EXPECT_EQ(x.state, y.state);
  }
  ASSERT_EQ(a.pools.size(), b.pools.size());
  for (std::size_t i = 0; i < a.pools.size(); ++i) {
    EXPECT_EQ(a.pools[i].name, b.pools[i].name);
    EXPECT_EQ(a.pools[i].osts, b.pools[i].osts);
  }
}

TEST(ClusterToml, ServersThatAreAlike) {
  const Cluster cluster = accepted("name = \"testbed\"\n[[server]]\ncount = 3\nosts = 5\nost_size = \"10GiB\"\n");
  EXPECT_EQ(cluster.name, "testbed");
  ASSERT_EQ(cluster.servers.size(), 3U);
  EXPECT_EQ(cluster.servers[2].name, "oss2");
  EXPECT_FALSE(cluster.servers[2].cpu || cluster.servers[2].bandwidth);
  ASSERT_EQ(cluster.osts.size(), 15U);
  for (std::uint32_t i = 0; i < 15; ++i) {
    EXPECT_EQ(cluster.osts[i].index.value, i);
    EXPECT_EQ(cluster.osts[i].oss, i / 5);
    EXPECT_EQ(cluster.osts[i].total, Bytes::gib(10));
    EXPECT_EQ(cluster.osts[i].free, Bytes::gib(10));
    EXPECT_EQ(cluster.osts[i].available, Bytes::gib(10));
    EXPECT_EQ(cluster.osts[i].state, model::OstState{});
  }
  EXPECT_EQ(cluster.osts[10].name, "testbed-OST000a");
  EXPECT_TRUE(cluster.pools.empty());
}

TEST(ClusterToml, EveryKey) {
  const Cluster cluster = accepted(R"(
[[server]]
name = "a{n}"
cpu = "35 %"
memory = 0.5
load = 3
cores = 64
bandwidth = "5GB/s"
osts = "8-9,2"
ost_size = "1KiB"
used = "50 %"

[[server]]
name = "b{n}"
count = 2
bandwidth = 1e9
osts = 1
ost_size = 2000
used = 300

[[server]]
osts = [0]

[[ost]]
index = 0
size = "1 kB"
name = "other"

[[ost]]
index = 9
used = "1 %"
available = 7
state = ["degraded", "read-only", "inactive", "no-create"]

[[ost]]
index = 8
size = 1001
state = "degraded"

[pools]
flash = "9, 0"
archive = [10, 2, 8]
"none.yet" = []
)");
  EXPECT_EQ(cluster.name, "lustre");
  ASSERT_EQ(cluster.servers.size(), 4U);
  const model::Oss& first = cluster.servers[0];
  EXPECT_EQ(first.name, "a{n}") << "no count, no number";
  EXPECT_EQ(first.cpu, 0.35);
  EXPECT_EQ(first.memory, 0.5);
  EXPECT_EQ(first.load_1min, 3.0);
  EXPECT_EQ(first.cores, 64U);
  EXPECT_EQ(first.bandwidth->value, 5e9);
  EXPECT_EQ(cluster.servers[1].name, "b1");
  EXPECT_EQ(cluster.servers[2].name, "b2");
  EXPECT_EQ(cluster.servers[2].bandwidth->value, 1e9);
  EXPECT_EQ(cluster.servers[3].name, "oss3");

  ASSERT_EQ(cluster.osts.size(), 6U);
  const auto expect = [&](std::size_t at, std::uint32_t index, std::size_t oss, std::uint64_t total, std::uint64_t free,
                          std::uint64_t available) {
    const model::Ost& ost = cluster.osts[at];
    EXPECT_EQ(ost.index.value, index);
    EXPECT_EQ(ost.oss, oss) << index;
    EXPECT_EQ(ost.total.count, total) << index;
    EXPECT_EQ(ost.free.count, free) << index;
    EXPECT_EQ(ost.available.count, available) << index;
  };
  expect(0, 0, 3, 1000, 1000, 1000);
  expect(1, 2, 0, 1024, 512, 512);
  expect(2, 8, 0, 1001, 500, 500);  // half of 1001 is 500.5 used, rounded to 501
  expect(3, 9, 0, 1024, 1014, 7);   // 1 % of 1024 is 10.24
  expect(4, 10, 1, 2000, 1700, 1700);
  expect(5, 11, 2, 2000, 1700, 1700);
  EXPECT_EQ(cluster.osts[0].name, "other");
  EXPECT_EQ(cluster.osts[3].state, (model::OstState{.active = false, .degraded = true, .read_only = true, .no_create = true}));
  EXPECT_EQ(cluster.osts[2].state, model::OstState{.degraded = true});

  ASSERT_EQ(cluster.pools.size(), 3U);
  EXPECT_EQ(cluster.pools[0].name, "archive");
  EXPECT_EQ(indices(cluster.pools[0].osts), (std::vector<std::uint32_t>{2, 8, 10}));
  EXPECT_EQ(indices(cluster.pools[1].osts), (std::vector<std::uint32_t>{0, 9}));
  EXPECT_EQ(cluster.pools[2].name, "none.yet");
  EXPECT_TRUE(cluster.pools[2].osts.empty());
  expect_equal(accepted(to_toml(cluster)), cluster);
}

TEST(ClusterToml, LargestSizes) {
  const Cluster cluster =
      accepted("[[server]]\nosts = 2\nost_size = 9223372036854775807\nused = \"100 %\"\n[[ost]]\nindex=1\nused=\"0 %\"");
  EXPECT_EQ(cluster.osts[0].total.count, (std::uint64_t{1} << 63U) - 1);
  EXPECT_EQ(cluster.osts[0].free.count, 0U);
  EXPECT_EQ(cluster.osts[1].free, cluster.osts[1].total);
  expect_equal(accepted(to_toml(cluster)), cluster);
}

TEST(ClusterToml, BrokenToml) {
  EXPECT_THAT(refusal("name = \"a\"\n[[server]\n"), StartsWith("c.toml:2: "));
  EXPECT_EQ(refusal("[[$]]\n"),
            "c.toml:1: Error while parsing key: expected bare key starting character or string delimiter, saw '$'");
  EXPECT_THAT(refusal("\xC3\xA4 = 1\n"), StartsWith("c.toml:1: "));
  EXPECT_THAT(refusal("name = \xEF\xBB\xA6\n"), StartsWith("c.toml:1: "));
  EXPECT_THAT(refusal("name = \"a\"\nname = \"b\"\n"), StartsWith("c.toml:2: "));
  EXPECT_THAT(refusal("name = \"\xFF\"\n"), StartsWith("c.toml:1: "));
  EXPECT_THAT(refusal("name = \"\x1b\"\n"), testing::Not(testing::HasSubstr("\x1b")));
  EXPECT_THAT(parse_cluster("=", "a\nb").error().message, StartsWith("a\\x0ab:1: "));
}

TEST(ClusterToml, NothingInIt) {
  constexpr std::string_view kNone = "c.toml: found no OSTs, expected a [[server]] with osts = 5 and ost_size = \"10GiB\"";
  EXPECT_EQ(refusal(""), kNone);
  EXPECT_EQ(refusal("name = \"x\"\n# nothing\n"), kNone);
  EXPECT_EQ(refusal("[[server]]\nosts = 0\n"), kNone);
}

TEST(ClusterToml, UnknownKeys) {
  EXPECT_EQ(refusal("\nnmae = \"a\"\n"), "c.toml:2: unknown key 'nmae': expected name, server, ost, pools; did you mean 'name'?");
  EXPECT_EQ(refused_server("bandwith = 5"),
            "c.toml:2: unknown key 'bandwith' of [[server]]: expected name, count, cpu, memory, load, cores, bandwidth, osts, "
            "ost_size, used; did you mean 'bandwidth'?");
  EXPECT_EQ(
      refused_ost("index = 0\nstatus = \"x\"\n"),
      "c.toml:6: unknown key 'status' of [[ost]]: expected index, name, size, used, available, state; did you mean 'state'?");
  EXPECT_EQ(refused_ost("index = 0\n\"\\u001b\" = 1\n"),
            "c.toml:6: unknown key '\\x1b' of [[ost]]: expected index, name, size, used, available, state");
}

TEST(ClusterToml, WrongShapes) {
  EXPECT_EQ(refusal("[server]\nosts = 1\n"),
            "c.toml:1: server: found a table, expected tables that start with [[server]], in two pairs of brackets");
  EXPECT_EQ(refusal("server = 3\n"),
            "c.toml:1: server: found 3, expected tables that start with [[server]], in two pairs of brackets");
  EXPECT_EQ(refusal("server = [\n3.5]\n"), "c.toml:2: server: found 3.5, expected a table that starts with [[server]]");
  EXPECT_EQ(refusal(std::string("ost = true\n") + std::string(kServer)),
            "c.toml:1: ost: found true, expected tables that start with [[ost]], in two pairs of brackets");
  EXPECT_EQ(refusal("pools = 1979-05-27\n" + std::string(kServer)),
            "c.toml:1: pools: found a date or time, expected a table: [pools], then lines such as flash = \"0-3,7\"");
}

TEST(ClusterToml, BadNames) {
  for (const std::string& value : std::vector<std::string>{"", "a\\nb", "\\u0085", std::string(256, 'x')}) {
    EXPECT_THAT(refusal("name = \"" + value + "\"\n"),
                EndsWith("', expected a name of 1 to 255 bytes without control characters"));
  }
  EXPECT_EQ(refusal("name = 7\n"), "c.toml:1: name: found 7, expected a name of 1 to 255 bytes without control characters");
  EXPECT_EQ(refused_server("name = []"),
            "c.toml:2: name of [[server]]: found a list, expected a name of 1 to 255 bytes without control characters");
  EXPECT_EQ(refused_server("name = \"oss\"\ncount = 2"),
            "c.toml:2: name of [[server]]: found 'oss', expected {n} in it, for the number of each server: \"oss{n}\"");
  EXPECT_EQ(refusal(std::string(kServer) + "\n[[server]]\nname = \"oss0\"\nosts = 1\n"),
            "c.toml:5: name of [[server]]: found 'oss0' a second time, expected another name");
  EXPECT_EQ(refused_server("name = \"" + std::string(252, 'x') + "{n}\"\ncount = 1001"),
            "c.toml:1: name of [[server]]: found '" + std::string(60, 'x') + "...' with its number, expected at most 255 bytes");
}

TEST(ClusterToml, BadNumbers) {
  for (const auto* value : {"1.5", "-0.1", "nan", "inf", "2", "\"35\"", "\"101 %\"", "true"}) {
    EXPECT_THAT(refused_server(fmt::format("cpu = {}", value)), StartsWith("c.toml:2: cpu of [[server]]: found "));
    EXPECT_THAT(refused_server(fmt::format("memory = {}", value)),
                EndsWith("expected a share from 0 to 1, or a text such as \"35 %\""));
  }
  EXPECT_EQ(refused_server("cpu = 1"), "accepted");
  EXPECT_EQ(refused_server("load = -1"),
            "c.toml:2: load of [[server]]: found -1, expected the length of the run queue, such as 3.5");
  EXPECT_EQ(refused_server("cores = 0"), "c.toml:2: cores of [[server]]: found 0, expected a whole number from 1 to 1000000");
  EXPECT_EQ(refused_server("count = 0"), "c.toml:2: count of [[server]]: found 0, expected a whole number from 1 to 100000");
  EXPECT_EQ(refused_server("count = 1.0"), "c.toml:2: count of [[server]]: found 1.0, expected a whole number from 1 to 100000");
  for (const auto* value : {"0", "-5", "\"5GB\"", "\"0B/s\"", "inf", "[]"}) {
    EXPECT_THAT(refused_server(fmt::format("bandwidth = {}", value)),
                EndsWith("expected a rate above 0 such as \"5GB/s\", or a number of bytes per second"))
        << value;
  }
}

TEST(ClusterToml, BadSizes) {
  for (const auto* value : {"-1", "1.5", "\"big\"", "\"8EiB\"", "\"\"", "[1]"}) {
    EXPECT_THAT(refusal(fmt::format("[[server]]\nosts = 1\nost_size = {}\n", value)),
                EndsWith("expected a size such as \"10GiB\", or a number of bytes up to 2^63-1"))
        << value;
    EXPECT_THAT(refused_server(fmt::format("used = {}", value)),
                EndsWith("expected a size such as \"3GiB\", a number of bytes, or a text such as \"35 %\""))
        << value;
  }
  EXPECT_THAT(refusal("[[server]]\nosts = 1\nost_size = 9223372036854775808\n"), StartsWith("c.toml:3: ")) << "toml++ says it";
  EXPECT_EQ(refusal("\n[[server]]\nosts = 1\n"),
            "c.toml:2: ost_size of [[server]]: missing, and OST 0 has no size of its own: add ost_size = \"10GiB\"");
  EXPECT_EQ(refused_server("used = 2"), "c.toml:2: used of [[server]]: found 2, expected at most the 1 bytes that OST 0 has");
  EXPECT_EQ(refused_ost("index = 1\nused = \"1KiB\"\n"),
            "c.toml:6: used of [[ost]]: found '1KiB', expected at most the 100 bytes that OST 1 has");
  EXPECT_EQ(refused_ost("index = 1\navailable = 101\n"),
            "c.toml:6: available of [[ost]]: found 101, expected at most the 100 bytes that OST 1 has");
  EXPECT_EQ(refused_ost("index = 1\navailable = \"1 %\"\n"),
            "c.toml:6: available of [[ost]]: found '1 %', expected a size such as \"10GiB\", or a number of bytes up to 2^63-1");
}

TEST(ClusterToml, BadOsts) {
  constexpr std::string_view kHint = "expected OSTs such as \"0-3,7\" or [0, 1, 2, 3, 7], each from 0 to 999999";
  EXPECT_EQ(refusal("[[server]]\nost_size = 1\n"),
            "c.toml:1: osts of [[server]]: missing, expected how many OSTs it has, or which: osts = 5, osts = \"0-4\"");
  for (const auto* value : {"\"3-1\"", "\"a\"", "\"1,\"", "\"0-1000000\"", "true", "\"0-99999999999999999999\""}) {
    EXPECT_THAT(refusal(fmt::format("[[server]]\nosts = {}\n", value)), EndsWith(kHint)) << value;
  }
  EXPECT_EQ(refusal("[[server]]\nosts = [0, -1]\n"),
            "c.toml:2: osts of [[server]]: found -1, expected a whole number from 0 to 999999");
  EXPECT_EQ(refusal("[[server]]\nosts = [0,\n\"1\"]\n"),
            "c.toml:3: osts of [[server]]: found '1', expected a whole number from 0 to 999999");
  EXPECT_EQ(refusal("[[server]]\nosts = \"0-3,2\"\n"), "c.toml:2: osts of [[server]]: found OST 2 twice, expected it once");
  EXPECT_EQ(refusal("[[server]]\ncount = 2\nosts = [0]\n"),
            "c.toml:3: osts of [[server]]: found a list, expected how many OSTs each of the 2 servers has, such as 5");
  EXPECT_EQ(refusal(std::string(kServer) + "[[server]]\nosts = [2]\n"),
            "c.toml:4: osts of [[server]]: found OST 2 a second time, expected it on one server: it is on 'oss0'");
  EXPECT_EQ(refused_ost("size = 1\n"), "c.toml:4: index of [[ost]]: missing, expected the number of an OST: index = 3");
  EXPECT_EQ(refused_ost("index = 3\n"),
            "c.toml:5: index of [[ost]]: found 3, expected an OST of one of the servers: add it to the osts of its [[server]]");
  EXPECT_EQ(refused_ost("index = \"1\"\n"), "c.toml:5: index of [[ost]]: found '1', expected a whole number from 0 to 999999");
  EXPECT_EQ(refused_ost("index = 1\n[[ost]]\nindex = 1\n"),
            "c.toml:7: index of [[ost]]: found 1, expected one [[ost]] for each OST: this one has another");
}

TEST(ClusterToml, BadStates) {
  EXPECT_EQ(refused_ost("index = 0\nstate = [\"degarded\"]\n"),
            "c.toml:6: state of [[ost]]: found 'degarded', expected degraded, read-only, inactive, no-create; did you mean "
            "'degraded'?");
  EXPECT_EQ(refused_ost("index = 0\nstate = 3\n"),
            "c.toml:6: state of [[ost]]: found 3, expected degraded, read-only, inactive, no-create");
  EXPECT_EQ(refused_ost("index = 0\nstate = [\"inactive\",\n\"inactive\"]\n"),
            "c.toml:7: state of [[ost]]: found 'inactive', expected each state once");
  EXPECT_EQ(refused_ost("index = 0\nstate = []\n"), "accepted");
}

TEST(ClusterToml, BadPools) {
  EXPECT_EQ(refused_pool("flash = \"1-4\""),
            "c.toml:5: flash of [pools]: found OST 3, expected OSTs that one of the servers has");
  EXPECT_EQ(refused_pool("flash = [1, 1]"), "c.toml:5: flash of [pools]: found OST 1 twice, expected it once");
  EXPECT_EQ(refused_pool("flash = 1"),
            "c.toml:5: flash of [pools]: found 1, expected OSTs such as \"0-3,7\" or [0, 1, 2, 3, 7], each from 0 to 999999");
  EXPECT_EQ(refused_pool("\"a b\" = [1]"),
            "c.toml:5: name of a pool: found 'a b', expected 1 to 15 letters, digits, '_', '-' or '.'");
  EXPECT_EQ(refused_pool("a234567890123456 = [1]"),
            "c.toml:5: name of a pool: found 'a234567890123456', expected 1 to 15 letters, digits, '_', '-' or '.'");
  EXPECT_THAT(refused_pool("flash = [1]\nflash = [2]"), StartsWith("c.toml:6: "));
}

TEST(ClusterToml, Limits) {
  const std::string many = "[[server]]\ncount = 100000\nosts = 1\nost_size = 1\n";
  const Cluster cluster = accepted(many);
  EXPECT_EQ(cluster.servers.size(), kMaxServers);
  EXPECT_EQ(cluster.osts.size(), kMaxOsts);
  EXPECT_EQ(refusal(many + many), "c.toml:5: [[server]]: found more than 100000 servers in all, expected fewer");
  EXPECT_THAT(refusal("[[server]]\ncount = 100001\nosts = 1\n"), EndsWith("expected a whole number from 1 to 100000"));
  EXPECT_EQ(refusal("[[server]]\ncount = 1000\nosts = 101\nost_size = 1\n"),
            "c.toml:1: osts of [[server]]: found more than 100000 OSTs in all or an index above 999999, expected fewer");
  EXPECT_EQ(refusal("[[server]]\nosts = [999999]\nost_size = 1\n[[server]]\nosts = 1\nost_size = 1\n"),
            "c.toml:4: osts of [[server]]: found more than 100000 OSTs in all or an index above 999999, expected fewer");
  EXPECT_EQ(refusal("[[server]]\nosts = \"0-100000\"\n"),
            "c.toml:2: osts of [[server]]: found '0-100000', expected at most 100000 OSTs here");
  EXPECT_EQ(refusal(std::string(kMaxClusterText + 1, '\n')), "c.toml: found 67108865 bytes, expected at most 67108864");

  std::string pools = many + "[pools]\n";
  for (int i = 0; i < 101; ++i) pools += fmt::format("p{:03} = \"0-99999\"\n", i);
  EXPECT_EQ(refusal(pools), "c.toml:106: p100 of [pools]: found '0-99999', expected at most 0 OSTs here");
  pools = std::string(kServer) + "[pools]\n";
  for (int i = 0; i < 10'001; ++i) pools += fmt::format("p{} = []\n", i);
  EXPECT_EQ(refusal(pools), "c.toml:4: pools: found 10001, expected at most 10000");
}

TEST(ClusterToml, NestingDoesNotOverflowTheStack) {
  std::string dotted = "a";
  for (int i = 0; i < 500'000; ++i) dotted += ".a";
  EXPECT_EQ(refusal("\n" + dotted + " = 1\n"), "c.toml:2: found more than 256 dots in a line, expected fewer: break it up");
  EXPECT_EQ(refusal("[" + dotted + "]\n"), "c.toml:1: found more than 256 dots in a line, expected fewer: break it up");
  EXPECT_THAT(refusal("name = " + std::string(500'000, '[')), StartsWith("c.toml:1: "));
  std::string tables = "name = ";
  for (int i = 0; i < 100'000; ++i) tables += "{a=";
  EXPECT_THAT(refusal(tables), StartsWith("c.toml:1: "));
}

TEST(ClusterToml, WritesShortText) {
  const Cluster cluster = accepted(
      "name = \"x\"\n[[server]]\ncount = 2\nosts = 3\nost_size = \"10GiB\"\nused = \"1536MiB\"\n[[ost]]\nindex = 4\nsize = "
      "1\nused = 0\n"
      "[pools]\nflash = [0, 1, 2, 5]\n");
  EXPECT_EQ(to_toml(cluster), R"(name = "x"

[[server]]
name = "oss0"
osts = "0-2"
ost_size = "10GiB"
used = "1536MiB"

[[server]]
name = "oss1"
osts = "3-5"
ost_size = "10GiB"
used = "1536MiB"

[[ost]]
index = 4
size = 1
used = 0

[pools]
"flash" = "0-2,5"
)");
}

// What a file system may report, but the format does not take.
TEST(ClusterToml, OddClustersAreCutToFit) {
  Cluster odd{.name = "a\"b\\c"};
  odd.servers.push_back({.name = "o\x1b", .cpu = 1.5, .memory = -1, .load_1min = -2, .bandwidth = BytesPerSecond{0}});
  odd.osts.push_back({.index = {0}, .name = "n", .total = {10}, .free = {20}, .available = {30}});
  const Cluster read = accepted(to_toml(odd));
  EXPECT_EQ(read.name, odd.name);
  EXPECT_EQ(read.servers[0].name, "o\\x1b");
  EXPECT_FALSE(read.servers[0].cpu || read.servers[0].memory || read.servers[0].load_1min || read.servers[0].bandwidth);
  EXPECT_EQ(read.osts[0].free, Bytes{10});
  EXPECT_EQ(read.osts[0].available, Bytes{10});
}

Cluster random_cluster(Rng& rng) {
  Cluster cluster{.name = rng.chance(0.5) ? "fs" : "f\"\\ \xC3\xA4{n}"};
  const std::size_t servers = rng.between(1, 6);
  for (std::size_t i = 0; i < servers; ++i) {
    model::Oss oss{.name = fmt::format("{{n}} node{}@tcp", i)};
    if (rng.chance(0.5)) oss.cpu = rng.unit();
    if (rng.chance(0.5)) oss.memory = rng.chance(0.2) ? 1.0 : rng.unit() * 1e-9;
    if (rng.chance(0.5)) oss.load_1min = rng.unit() * 100;
    if (rng.chance(0.5)) oss.cores = static_cast<unsigned>(rng.between(1, 256));
    if (rng.chance(0.5)) oss.bandwidth = BytesPerSecond{(rng.unit() + 0.01) * (rng.chance(0.5) ? 1e10 : 1e300)};
    cluster.servers.push_back(oss);
  }
  std::uint32_t index = 0;
  for (std::uint64_t n = rng.between(1, 40); n > 0; --n) {
    index += static_cast<std::uint32_t>(rng.chance(0.8) ? 1 : rng.between(1, 10'000));
    model::Ost ost{.index = {index}, .oss = rng.below(servers)};
    ost.name = rng.chance(0.9) ? fmt::format("{}-OST{:04x}", cluster.name, index) : "other\\name";
    ost.total = rng.chance(0.5) ? Bytes::gib(10) : Bytes{rng.bits() >> rng.between(1, 63)};
    ost.free = rng.chance(0.5) ? ost.total : Bytes{ost.total.count == 0 ? 0 : rng.below(ost.total.count)};
    ost.available = rng.chance(0.5) ? ost.free : Bytes{ost.total.count == 0 ? 0 : rng.below(ost.total.count)};
    if (rng.chance(0.3)) ost.state = {rng.chance(0.5), rng.chance(0.5), rng.chance(0.5), rng.chance(0.5)};
    cluster.osts.push_back(ost);
  }
  for (std::uint64_t n = rng.below(4); n > 0; --n) {
    model::Pool pool{.name = fmt::format("p.{}", 9 - n)};
    for (const model::Ost& ost : cluster.osts) {
      if (rng.chance(0.6)) pool.osts.push_back(ost.index);
    }
    cluster.pools.push_back(pool);
  }
  return cluster;
}

TEST(ClusterToml, WhatIsWrittenIsRead) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Cluster cluster = random_cluster(rng);
    const std::string text = to_toml(cluster);
    const auto read = parse_cluster(text, "c.toml");
    ASSERT_TRUE(read) << read.error().message << "\n" << text;
    expect_equal(*read, cluster);
    EXPECT_EQ(to_toml(*read), text);
  }
}

}  // namespace
}  // namespace iez::config
