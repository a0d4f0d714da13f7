#include "lab/client_gate.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/rng.hpp"
#include "lab/extent_set.hpp"

namespace iez::lab {
namespace {

constexpr Bytes kRpc{1000};

TEST(ClientGate, CutsLargeWritesAndJoinsSmallOnes) {
  ClientGate gate(kRpc, 1);
  gate.write(5, 0, 2500, 0, {});
  EXPECT_EQ(gate.waiting(), 3U);
  auto first = gate.send();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->end, 1000U);
  EXPECT_FALSE(gate.send());  // the limit
  gate.write(5, 2500, 2600, 0, {});
  gate.write(5, 2600, 3200, 0, {});  // fills the third up to 3000, then a new one
  EXPECT_EQ(gate.waiting(), 3U);
  EXPECT_EQ(gate.brought(), 3200U);
  gate.write(5, 2000, 3000, 0, {});  // dirty already: nothing new
  EXPECT_EQ(gate.brought(), 3200U);
  gate.write(5, 0, 100, 0, {});  // that one is under way: it must be written again
  EXPECT_EQ(gate.brought(), 3300U);
  gate.finish(*first);
  EXPECT_EQ(gate.finished(), 1000U);
  std::vector<std::uint64_t> starts;
  while (const auto rpc = gate.send()) {
    starts.push_back(rpc->start);
    gate.finish(*rpc);
  }
  EXPECT_EQ(starts, (std::vector<std::uint64_t>{1000, 2000, 3000, 0}));
  EXPECT_TRUE(gate.idle());
  EXPECT_EQ(gate.finished(), gate.brought());
}

TEST(ClientGate, DoesNotJoinAcrossObjects) {
  ClientGate gate(kRpc, 1);
  gate.write(5, 0, 100, 0, {});
  gate.write(6, 100, 200, 0, {});
  gate.write(4, 100, 200, 0, {});
  EXPECT_EQ(gate.waiting(), 3U);
}

TEST(ClientGate, ReadsAndWritesTakeTurns) {
  ClientGate gate(kRpc, 2);
  gate.write(1, 0, 3000, 0, {});
  EXPECT_EQ(gate.read(2, 0, 2100, 77, 0, {}), 3U);
  std::vector<bool> kinds;
  std::vector<ClientGate::Rpc> sent;
  while (gate.waiting() > 0) {
    while (const auto rpc = gate.send()) {
      kinds.push_back(rpc->is_write);
      sent.push_back(*rpc);
      if (!rpc->is_write) {
        EXPECT_EQ(rpc->tag, 77U);
      }
    }
    EXPECT_EQ(gate.in_flight(), 2U);
    for (const ClientGate::Rpc& rpc : sent) gate.finish(rpc);
    sent.clear();
  }
  EXPECT_EQ(kinds, (std::vector<bool>{false, true, false, true, false, true}));
}

TEST(ClientGate, ALimitOfZeroIsOneAndALowerOneWaits) {
  ClientGate gate(kRpc, 3);
  gate.write(1, 0, 5000, 0, {});
  const auto a = gate.send();
  const auto b = gate.send();
  const auto c = gate.send();
  ASSERT_TRUE(a && b && c);
  gate.set_limit(0);
  gate.finish(*a);
  EXPECT_FALSE(gate.send());
  gate.finish(*b);
  EXPECT_FALSE(gate.send());
  gate.finish(*c);
  EXPECT_TRUE(gate.send());
  EXPECT_FALSE(gate.send());
}

TEST(ClientGate, HoldsWhatIsDirtyOnly) {
  ClientGate gate(kRpc, 1);
  gate.write(1, 0, 1500, 0, {});
  EXPECT_TRUE(gate.holds(1, 0, 1500));
  EXPECT_TRUE(gate.holds(1, 900, 1100));
  EXPECT_FALSE(gate.holds(1, 900, 1600));
  EXPECT_FALSE(gate.holds(2, 0, 1));
  const auto first = gate.send();
  ASSERT_TRUE(first);
  EXPECT_TRUE(gate.holds(1, 0, 1000));  // under way, but in memory
  gate.finish(*first);
  EXPECT_FALSE(gate.holds(1, 0, 1000));
  EXPECT_TRUE(gate.holds(1, 1000, 1500));
}

TEST(ClientGate, AnObjectThatIsGoneTakesItsWaitingWritesAlong) {
  ClientGate gate(kRpc, 1);
  gate.write(1, 0, 2500, 0, {});
  gate.write(2, 0, 100, 0, {});
  const auto first = gate.send();
  ASSERT_TRUE(first);
  gate.discard(1);
  gate.discard(7);
  EXPECT_EQ(gate.waiting(), 1U);
  EXPECT_EQ(gate.finished(), 1500U);
  EXPECT_FALSE(gate.is_clean(1, gate.mark()));  // one is under way
  gate.finish(*first);
  EXPECT_TRUE(gate.is_clean(1, gate.mark()));
  const auto other = gate.send();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->object, 2U);
  gate.finish(*other);
  EXPECT_TRUE(gate.idle());
  EXPECT_EQ(gate.finished(), gate.brought());
}

TEST(ClientGate, IsCleanLooksAtWhatCameBefore) {
  ClientGate gate(kRpc, 1);
  gate.write(1, 0, 100, 0, {});
  const std::uint64_t mark = gate.mark();
  gate.write(1, 5000, 5100, 0, {});
  EXPECT_FALSE(gate.is_clean(1, mark));
  EXPECT_TRUE(gate.is_clean(2, mark));
  const auto first = gate.send();
  ASSERT_TRUE(first);
  EXPECT_FALSE(gate.is_clean(1, mark));
  gate.finish(*first);
  EXPECT_TRUE(gate.is_clean(1, mark));
  EXPECT_FALSE(gate.is_clean(1, gate.mark()));
}

// Every written byte is sent after it was written, in requests of at most rpc_size; what is dirty is what is unfinished.
TEST(ClientGate, SendsEveryByteForRandomWrites) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    ClientGate gate(Bytes{rng.between(1, 300)}, static_cast<unsigned>(rng.between(1, 4)));
    std::map<std::uint64_t, ExtentSet> unsent;  // by object
    std::map<std::uint64_t, ClientGate::Rpc> flying;
    std::set<std::uint64_t> ids;
    const auto fly = [&] {
      while (const auto rpc = gate.send()) {
        ASSERT_TRUE(rpc->is_write);
        ASSERT_LT(rpc->start, rpc->end);
        ASSERT_TRUE(ids.insert(rpc->id).second);
        unsent[rpc->object].remove(rpc->start, rpc->end);
        flying.emplace(rpc->id, *rpc);
        ASSERT_LE(flying.size(), gate.limit());
      }
    };
    for (int step = 0; step < 150; ++step) {
      if (rng.chance(0.6) || flying.empty()) {
        const std::uint64_t object = rng.below(2);
        const std::uint64_t start = rng.below(1000);
        const std::uint64_t end = start + rng.between(1, 500);
        unsent[object].add(start, end);
        gate.write(object, start, end, 0, {});
        ASSERT_TRUE(gate.holds(object, start, end));
      } else {
        const auto rpc = std::next(flying.begin(), static_cast<std::ptrdiff_t>(rng.below(flying.size())));
        gate.finish(rpc->second);
        flying.erase(rpc);
      }
      fly();
    }
    while (!flying.empty()) {
      gate.finish(flying.begin()->second);
      flying.erase(flying.begin());
      fly();
    }
    for (const auto& [object, set] : unsent) EXPECT_EQ(set.total(), 0U) << object;
    EXPECT_TRUE(gate.idle());
    EXPECT_EQ(gate.brought(), gate.finished());
    EXPECT_TRUE(gate.is_clean(0, gate.mark()) && gate.is_clean(1, gate.mark()));
  }
}

}  // namespace
}  // namespace iez::lab
