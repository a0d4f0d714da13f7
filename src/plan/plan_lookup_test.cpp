#include "plan/plan_lookup.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/layout_spec.hpp"
#include "plan/plan_reader.hpp"
#include "plan/plan_test_support.hpp"

namespace iez::plan {
namespace {

// Names of all kinds: short, long, not UTF-8, with newlines, alike.
std::string random_name(Rng& rng) {
  std::string name = "/";
  const std::uint64_t kind = rng.below(10);
  const std::size_t size = kind == 0 ? 4095 : kind < 3 ? 200 + rng.below(300) : rng.below(40);
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t byte = 'a' + rng.below(3);
    if (kind == 1) byte = 1 + rng.below(255);
    if (kind == 2) byte = '\n';
    name += static_cast<char>(byte);
  }
  return name;
}

Request random_request(Rng& rng) {
  switch (rng.below(8)) {
    case 0:
      return request_of({.stripe_size = Bytes::mib(4), .stripe_count = model::Component::kAllOsts});
    case 1:
      return request_of({.stripe_count = 3, .pool = "flash"});
    case 2: {
      std::vector<std::uint32_t> osts(1 + rng.below(2000));
      for (auto& ost : osts) ost = static_cast<std::uint32_t>(rng.below(60'000));
      return on_osts(osts, true);
    }
    case 3:
      return on_osts({static_cast<std::uint32_t>(rng.below(65'535)), 70'000});
    default: {
      std::vector<std::uint32_t> osts(1 + rng.below(4));
      for (std::size_t i = 0; i < osts.size(); ++i) osts[i] = static_cast<std::uint32_t>(100 * i + rng.below(100));
      return on_osts(osts);
    }
  }
}

TEST(PlanLookup, AgreesWithAMap) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::map<std::string, Request> model;
    const std::size_t count = rng.below(seed % 50 == 0 ? 300 : 12);
    for (std::size_t i = 0; i < count; ++i) model[random_name(rng)] = random_request(rng);
    PlanWriter::Options options = test_options();
    options.id = seed;
    // One bucket for all, two, or as many as are good.
    const bool tiny = count <= 12 && seed % 3 != 0;
    if (tiny) options.bucket_count = seed % 3;
    PlanWriter writer(folder.path("plan"), options);
    std::uint64_t names = 0;
    for (const auto& [name, request] : model) {
      ASSERT_TRUE(writer.add(PlannedFile{.name = name, .created_as = {}, .request = request}));
      names += name.size();
    }
    const auto summary = writer.finish();
    if (!summary) {
      // Long names, and no more than two buckets.
      ASSERT_TRUE(tiny && names > 30'000) << summary.error().message;
      continue;
    }
    ASSERT_EQ(summary->files, model.size());
    ASSERT_EQ(summary->name_bytes, names);
    LookedUp plan(read_file(folder.path("plan")));
    ASSERT_EQ(plan.state, PlanState::ready);
    for (const auto& [name, request] : model) {
      const Answer answer = plan.find(name);
      ASSERT_EQ(answer.found, Found::file);
      ASSERT_EQ(answer.request, request);
    }
    for (int i = 0; i < 20; ++i) {
      const std::string name = random_name(rng);
      if (!model.contains(name)) {
        ASSERT_EQ(plan.find(name).found, Found::nothing);
      }
    }
    const auto reader = PlanReader::open(folder.path("plan"));
    ASSERT_TRUE(reader);
    const auto checked = reader->check();
    ASSERT_TRUE(checked) << checked.error().message;
    std::map<std::string, Request> read;
    ASSERT_TRUE(reader->visit_files([&read](const ReadFile& file) -> Result<void> {
      read.emplace(file.name, Request(file.request.begin(), file.request.end()));
      return {};
    }));
    ASSERT_EQ(read, model);
  }
}

TEST(PlanLookup, TwoReadsAmongManyFiles) {
  const TemporaryFolder folder;
  PlanWriter writer(folder.path("plan"), test_options());
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(writer.add(
        PlannedFile{.name = "/scratch/file." + std::to_string(i), .created_as = {}, .request = on_osts({i % 100, 100 + i % 7})}));
  }
  const auto summary = writer.finish();
  ASSERT_TRUE(summary);
  EXPECT_LT(static_cast<double>(summary->bytes - summary->name_bytes) / static_cast<double>(summary->files), 32.0);
  LookedUp plan(read_file(folder.path("plan")));
  for (std::uint32_t i = 0; i < 100'000; i += 97) {
    plan.file().reads = 0;
    ASSERT_EQ(plan.find("/scratch/file." + std::to_string(i)).request, on_osts({i % 100, 100 + i % 7}));
    ASSERT_EQ(plan.file().reads, 2U);
  }
  plan.file().reads = 0;
  EXPECT_EQ(plan.find("/scratch/file.x").found, Found::nothing);
  EXPECT_EQ(plan.file().reads, 2U);
}

TEST(PlanLookup, LeavesErrnoAlone) {
  LookedUp plan("");
  errno = 77;
  EXPECT_EQ(open_plan({.pread = [](int, void*, std::size_t, off_t) -> ssize_t {
                        errno = EIO;
                        return -1;
                      }},
                      3, plan.plan),
            PlanState::unreadable);
  EXPECT_EQ(errno, 77);
}

class Rules : public testing::Test {
 protected:
  void pattern(std::string text, std::vector<Request> requests, std::string turn = "", std::string created_as = "") {
    add({.type = RuleType::pattern,
         .text = std::move(text),
         .created_as = std::move(created_as),
         .turn = std::move(turn),
         .requests = std::move(requests)});
  }
  void spread(std::string text, std::vector<Request> requests) {
    add({.type = RuleType::spread, .text = std::move(text), .requests = std::move(requests)});
  }
  void leave(std::string text) { add({.type = RuleType::leave, .text = std::move(text)}); }
  void add(const PlannedRule& rule) {
    const auto added = writer_.add(rule);
    EXPECT_TRUE(added) << added.error().message;
  }
  void file(std::string_view name, const Request& request) {
    EXPECT_TRUE(writer_.add(PlannedFile{.name = name, .created_as = {}, .request = request}));
  }

  std::string finish() {
    const auto summary = writer_.finish();
    EXPECT_TRUE(summary) << summary.error().message;
    const auto reader = PlanReader::open(folder_.path("plan"));
    EXPECT_TRUE(reader && reader->check());
    return read_file(folder_.path("plan"));
  }

  static std::vector<Request> numbered(std::uint32_t count) {
    std::vector<Request> requests;
    requests.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) requests.push_back(on_osts({i}));
    return requests;
  }

  TemporaryFolder folder_;
  PlanWriter writer_{folder_.path("plan"), test_options()};
};

TEST_F(Rules, PatternsTakeTurns) {
  pattern("/s/ckpt.{step}.{rank}", numbered(5), "rank+3*step/10");
  pattern("/s/out.{step:5}", numbered(4), "step");
  LookedUp plan(finish());
  EXPECT_EQ(plan.find("/s/ckpt.0.0"), (Answer{Found::pattern, on_osts({0}), {}}));
  EXPECT_EQ(plan.find("/s/ckpt.0.7"), (Answer{Found::pattern, on_osts({2}), {}}));
  EXPECT_EQ(plan.find("/s/ckpt.29.7"), (Answer{Found::pattern, on_osts({3}), {}}));  // 7 + 3 * 2 = 13
  EXPECT_EQ(plan.find("/s/out.00006"), (Answer{Found::pattern, on_osts({2}), {}}));
  EXPECT_EQ(plan.find("/s/out.6").found, Found::nothing);
  EXPECT_EQ(plan.find("/s/ckpt.0.07").found, Found::nothing);
  EXPECT_EQ(plan.find("/s/ckpt.0.7x").found, Found::nothing);
  EXPECT_EQ(plan.find("/s/ckpt.0.").found, Found::nothing);
  EXPECT_EQ(plan.find("/s/ckpt").found, Found::nothing);
  EXPECT_EQ(plan.find("").found, Found::nothing);
}

TEST_F(Rules, WithoutATurnRanksFollowEachOther) {
  pattern("/s/ckpt.{step}.{rank}", numbered(7));
  LookedUp plan(finish());
  std::set<std::uint64_t> starts;
  for (int step = 0; step < 50; ++step) {
    const std::string name = "/s/ckpt." + std::to_string(step * 100) + '.';
    const std::uint64_t first = plan.find(name + "0").by.turn;
    starts.insert(first);
    for (std::uint64_t rank = 1; rank < 30; ++rank) {
      EXPECT_EQ(plan.find(name + std::to_string(rank)).by.turn, (first + rank) % 7);
    }
  }
  EXPECT_EQ(starts.size(), 7U);
}

TEST_F(Rules, SpecificBeforeGeneral) {
  file("/s/a/1", on_osts({1}));
  pattern("/s/a/{rank}", {on_osts({2})});
  pattern("/s/{dir}/{rank}", {on_osts({3})});
  pattern("/s/{dir*}/{rank:3}", {on_osts({4})});
  pattern("/s/{dir*}/{rank}", {on_osts({5})});
  spread("/s", {on_osts({6})});
  spread("/s/deep/", {on_osts({7})});
  leave("/s/private");
  leave("/");
  LookedUp plan(finish());
  const auto ost = [&](std::string_view name) -> int {
    const Answer answer = plan.find(name);
    EXPECT_NE(answer.found, Found::damaged);
    if (answer.request.empty()) return answer.by.left_alone ? -2 : -1;
    for (int i = 0; i < 10; ++i) {
      if (answer.request == on_osts({static_cast<std::uint32_t>(i)})) return i;
    }
    return 99;
  };
  EXPECT_EQ(ost("/s/a/1"), 1);
  EXPECT_EQ(ost("/s/a/2"), 2);
  EXPECT_EQ(ost("/s/b/2"), 3);
  EXPECT_EQ(ost("/s/b2/002"), 4);
  EXPECT_EQ(ost("/s/b2/2"), 5);
  EXPECT_EQ(ost("/s/b/x"), 6);
  EXPECT_EQ(ost("/s/"), 6);
  EXPECT_EQ(ost("/s/deep/er/x"), 7);
  EXPECT_EQ(ost("/s/deep/3"), 3);      // a pattern goes before a spread
  EXPECT_EQ(ost("/s/private/3"), -2);  // the directory is literal, the pattern's is a field
  EXPECT_EQ(ost("/s/private/x/y"), -2);
  EXPECT_EQ(ost("/s/privateer"), 6);
  EXPECT_EQ(ost("/s"), -2);
  EXPECT_EQ(ost("/other"), -2);
  EXPECT_EQ(ost("relative"), -1);
}

TEST_F(Rules, OpenFieldsTryEveryLength) {
  pattern("/s/{a*}.{b*}.h5", {on_osts({1})});
  pattern("/s/{run*}-{rank}/{date}_{rank:4}.dat", {on_osts({2})});
  LookedUp plan(finish());
  EXPECT_EQ(plan.find("/s/x.y.h5").found, Found::pattern);
  EXPECT_EQ(plan.find("/s/x.y.z.h5.h5").found, Found::pattern);
  EXPECT_EQ(plan.find("/s/x.h5").found, Found::nothing);
  EXPECT_EQ(plan.find("/s/a-b-12/20240131_0005.dat").request, on_osts({2}));
  EXPECT_EQ(plan.find("/s/a-b-12/20240131_000000_0005.dat").request, on_osts({2}));
  EXPECT_EQ(plan.find("/s/a-b/20240131_0005.dat").found, Found::nothing);
}

TEST_F(Rules, SpreadFollowsTheHash) {
  spread("/s/", numbered(10));
  LookedUp plan(finish());
  std::map<std::uint64_t, int> taken;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "/s/unplanned." + std::to_string(i);
    const Answer answer = plan.find(name);
    ASSERT_EQ(answer.found, Found::spread);
    ASSERT_EQ(answer.by.turn, abi::hash64(abi::kTurnSeed, name.data(), name.size()) % 10);
    ++taken[answer.by.turn];
  }
  for (const auto& [turn, count] : taken) EXPECT_NEAR(count, 1000, 150) << turn;
}

TEST_F(Rules, ManyPatternsCostNoMoreReads) {
  constexpr int kPatterns = 5000;
  for (int i = 0; i < kPatterns; ++i) {
    pattern("/s/{run*}/var" + std::to_string(i) + ".{step}." + std::to_string(i % 3), {on_osts({static_cast<std::uint32_t>(i)})});
  }
  LookedUp plan(finish());
  for (int i = 0; i < kPatterns; i += 13) {
    plan.file().reads = 0;
    const std::string name = "/s/run.7/var" + std::to_string(i) + ".99." + std::to_string(i % 3);
    ASSERT_EQ(plan.find(name).request, on_osts({static_cast<std::uint32_t>(i)})) << name;
    ASSERT_LE(plan.file().reads, 25U);
  }
}

TEST_F(Rules, TemporaryNames) {
  pattern("/s/out.{step}.dat", {on_osts({1})}, "", "/s/.tmp.{pid:number}.{step}");
  pattern("/s/final", {on_osts({2})}, "", "/s/tmp{x*}");
  EXPECT_TRUE(writer_.add(PlannedFile{.name = "/s/mesh", .created_as = "/s/mesh.part", .request = on_osts({3})}));
  EXPECT_FALSE(finish().empty());
  const auto reader = PlanReader::open(folder_.path("plan"));
  ASSERT_TRUE(reader);
  const auto explained = reader->explain("/s/.tmp.815.42");
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->found, Found::pattern);
  EXPECT_EQ(explained->rule, "/s/.tmp.{pid:number}.{step}");
  EXPECT_EQ(explained->final_name, "/s/out.42.dat");
  EXPECT_EQ(reader->explain("/s/tmpX")->final_name, "/s/final");
  EXPECT_EQ(reader->explain("/s/mesh.part")->final_name, "/s/mesh");
  EXPECT_EQ(reader->explain("/s/mesh.part")->request, on_osts({3}));
  EXPECT_EQ(reader->explain("/s/mesh")->found, Found::nothing);
  EXPECT_EQ(reader->explain("/s/out.42.dat")->found, Found::nothing);
}

TEST_F(Rules, LargeLayouts) {
  std::vector<std::uint32_t> osts(2000);
  for (std::uint32_t i = 0; i < 2000; ++i) osts[i] = i + 100'000 * (i % 2);
  std::vector<std::string> specs{"4M:count=1", "1G:count=4", "eof:count=-1,size=16M"};
  const auto layout = model::parse_components(specs);
  ASSERT_TRUE(layout);
  const auto composite = lustre::encode_request(*layout);
  ASSERT_TRUE(composite);
  file("/s/wide", on_osts(osts));
  file("/s/pfl", *composite);
  file("/s/pfl2", *composite);
  pattern("/s/wide.{rank}", {on_osts(osts), *composite}, "rank");
  LookedUp plan(finish());
  EXPECT_EQ(plan.find("/s/wide").request, on_osts(osts));
  EXPECT_EQ(plan.find("/s/wide.0").request, on_osts(osts));
  EXPECT_EQ(plan.find("/s/wide.1").request, *composite);
  EXPECT_EQ(plan.find("/s/pfl").request, *composite);
  EXPECT_EQ(plan.find("/s/pfl2").request, *composite);
}

}  // namespace
}  // namespace iez::plan
