// The collector against a simple model that keeps everything: samples are lost, doubled, delayed, and agents restart, with clocks
// that are off.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/rng.hpp"
#include "telemetry/collector.hpp"

namespace iez::telemetry {
namespace {

using lustre::SpaceSource;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

constexpr std::uint32_t kOsts = 6;
constexpr std::array<Duration, 3> kIntervals{1s, 5s, 60s};

struct Flying {
  Sample sample;
  Duration arrives{0};
};

struct Node {
  std::string name;
  SpaceSource by{};
  std::uint64_t instance = 1;
  std::uint64_t sequence = 0;
  Duration interval{0};
  Duration next{0};
  Duration skew{0};
};

// What the model knows of an agent: every number that arrived, by instance.
struct Known {
  std::vector<std::uint64_t> instances;  // in the order they were taken up
  std::map<std::uint64_t, std::set<std::uint64_t>> numbers;
  std::uint64_t first_of_first = 0;
  std::uint64_t duplicates = 0;
  Duration received{0};
  Duration interval{0};
};

struct ModelClaim {
  Duration received{0};
  Duration interval{0};
  std::string agent;
  std::uint64_t free = 0;
};

Duration overdue(Duration interval) { return interval * 5 / 2 + 1s; }

class ModelRun {
 public:
  explicit ModelRun(std::uint64_t seed) : rng_(seed) {
    for (int i = 0; i < 5; ++i) {
      nodes_.push_back({.name = "n" + std::to_string(i),
                        .by = static_cast<SpaceSource>(i % 3),
                        .interval = kIntervals[rng_.below(kIntervals.size())],
                        .skew = std::chrono::milliseconds{static_cast<std::int64_t>(rng_.below(100'000)) - 50'000}});
    }
  }

  void run() {
    for (Duration now{0}; now < 600s; now += 500ms) {
      for (Node& node : nodes_) step(node, now);
      // In the order of arrival; what was made in one step may still overtake.
      std::sort(flying_.begin(), flying_.end(), [](const Flying& a, const Flying& b) {
        return std::pair(a.arrives, a.sample.sequence) < std::pair(b.arrives, b.sample.sequence);
      });
      std::size_t done = 0;
      for (; done < flying_.size() && flying_[done].arrives <= now; ++done) arrive(flying_[done].sample, now);
      flying_.erase(flying_.begin(), flying_.begin() + static_cast<std::ptrdiff_t>(done));
      if (rng_.chance(0.05)) compare(now);
    }
    compare(600s);
  }

 private:
  static Moment moment(Duration now) { return {.monotonic = now, .wall = WallTime{now + 1'000'000s}}; }

  void step(Node& node, Duration now) {
    if (rng_.chance(0.001)) {  // killed; it comes back after a while
      ++node.instance;
      node.sequence = 0;
      node.next = now + std::chrono::seconds{rng_.between(4, 200)};
    }
    if (now < node.next) return;
    node.next = now + node.interval;
    Sample sample{.agent = node.name,
                  .instance = node.instance,
                  .sequence = ++node.sequence,
                  .sent = moment(now).wall + node.skew,
                  .interval = node.interval};
    FileSystemSample fs{.name = "fs", .servers = {{.name = "s-" + node.name}}};
    for (std::uint32_t i = 0; i < kOsts; ++i) {
      if (rng_.chance(0.2)) continue;
      const std::uint64_t free = rng_.below(1000);
      fs.osts.push_back(
          {.index = OstIndex{i}, .total = Bytes{1000}, .free = Bytes{free}, .available = Bytes{free}, .seen_by = node.by});
    }
    sample.file_systems.push_back(std::move(fs));
    if (rng_.chance(0.1)) return;  // lost
    const auto delay = [this] { return rng_.chance(0.2) ? std::chrono::milliseconds{rng_.below(3000)} : 0ms; };
    if (rng_.chance(0.1)) flying_.push_back({.sample = sample, .arrives = now + delay()});
    flying_.push_back({.sample = std::move(sample), .arrives = now + delay()});
  }

  void arrive(const Sample& sample, Duration now) {
    const Outcome outcome = collector_.feed(encode(sample), moment(now));
    Known& known = known_[sample.agent];
    if (known.instances.empty()) {
      known.instances.push_back(sample.instance);
      known.first_of_first = sample.sequence;
    } else if (known.instances.back() != sample.instance) {
      const bool before = std::ranges::find(known.instances, sample.instance) != known.instances.end();
      // A delay is at most 3 s, and a restart takes at least 4: nothing of an old instance comes after the new one.
      ASSERT_FALSE(before);
      known.instances.push_back(sample.instance);
    }
    auto& numbers = known.numbers[sample.instance];
    const bool newest = numbers.empty() || sample.sequence > *numbers.rbegin();
    const bool fresh = numbers.insert(sample.sequence).second;
    if (known.instances.size() == 1) known.first_of_first = std::min(known.first_of_first, sample.sequence);
    if (!fresh) {
      ++known.duplicates;
      EXPECT_EQ(outcome, Outcome::duplicate);
      return;
    }
    EXPECT_EQ(outcome, newest ? Outcome::taken : Outcome::reordered);
    if (!newest) return;
    known.received = now;
    known.interval = sample.interval;
    for (const OstSample& ost : sample.file_systems[0].osts) {
      claims_[{ost.index.value, ost.seen_by}] = {
          .received = now, .interval = sample.interval, .agent = sample.agent, .free = ost.free.count};
    }
  }

  void compare(Duration now) {
    const auto agents = collector_.agents(moment(now));
    ASSERT_EQ(agents.size(), known_.size());
    for (const AgentInfo& agent : agents) {
      const Known& known = known_.at(agent.name);
      std::uint64_t arrived = 0;
      std::uint64_t missing = 0;
      for (std::size_t i = 0; i < known.instances.size(); ++i) {
        const auto& numbers = known.numbers.at(known.instances[i]);
        arrived += numbers.size();
        missing += *numbers.rbegin() - (i == 0 ? known.first_of_first : 1) + 1 - numbers.size();
      }
      EXPECT_EQ(agent.samples, arrived);
      EXPECT_EQ(agent.missing, missing);
      EXPECT_EQ(agent.duplicates, known.duplicates);
      EXPECT_EQ(agent.restarts, known.instances.size() - 1);
      EXPECT_EQ(agent.age, now - known.received);
      const Duration age = now - known.received;
      const AgentState expected = age > std::max<Duration>(known.interval * 10, 10min) ? AgentState::dead
                                  : age > overdue(known.interval)                      ? AgentState::late
                                                                                       : AgentState::live;
      EXPECT_EQ(agent.state, expected);
      for (const Node& node : nodes_) {
        if (node.name != agent.name) continue;
        ASSERT_TRUE(agent.skew);
        // Received minus sent: the time on the way is at most 3 s and a step.
        EXPECT_GE(*agent.skew, -node.skew);
        EXPECT_LE(*agent.skew, -node.skew + 3500ms);
      }
    }
    const View view = collector_.view(moment(now));
    std::map<std::uint32_t, std::pair<SpaceSource, ModelClaim>> expected;
    std::set<std::uint32_t> fresh;
    for (const auto& [key, claim] : claims_) {  // ascending by OST, the most trusted kind first
      const bool is_fresh = now - claim.received <= overdue(claim.interval);
      const auto [held, first] = expected.try_emplace(key.first, key.second, claim);
      const bool better = !fresh.contains(key.first) && (is_fresh || claim.received > held->second.second.received);
      if (first || better) held->second = {key.second, claim};
      if (is_fresh) fresh.insert(key.first);
    }
    if (expected.empty()) return;
    ASSERT_EQ(view.file_systems.size(), 1U);
    const FileSystemView& fs = view.file_systems[0];
    ASSERT_EQ(fs.osts.size(), expected.size());
    for (std::size_t i = 0; i < fs.osts.size(); ++i) {
      const std::uint32_t index = fs.cluster.osts[i].index.value;
      const auto& [by, claim] = expected.at(index);
      EXPECT_EQ(fs.osts[i].seen_by, by);
      EXPECT_EQ(fs.osts[i].agent, claim.agent);
      EXPECT_EQ(fs.osts[i].age, now - claim.received);
      EXPECT_EQ(fs.cluster.osts[i].free, Bytes{claim.free});
      EXPECT_EQ(fs.osts[i].stale, !fresh.contains(index));
    }
    EXPECT_EQ(fs.stale.size(), expected.size() - fresh.size());
  }

  Rng rng_;
  std::vector<Node> nodes_;
  std::vector<Flying> flying_;
  Collector collector_;
  std::map<std::string, Known> known_;
  std::map<std::pair<std::uint32_t, SpaceSource>, ModelClaim> claims_;
};

TEST(CollectorModel, AgreesWhateverHappensOnTheWay) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ModelRun(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace iez::telemetry
