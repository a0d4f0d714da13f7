#include "congestion/active_clients.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "base/rng.hpp"

namespace iez::congestion {
namespace {

using std::chrono::seconds;

TEST(ActiveClients, ComeWithTheirFirstRequest) {
  ActiveClients clients(seconds(60));
  EXPECT_EQ(clients.count(), 0U);
  clients.arrive(3);
  EXPECT_EQ(clients.count(), 1U);
  EXPECT_TRUE(clients.is_active(3));
  EXPECT_FALSE(clients.is_active(2));
  EXPECT_FALSE(clients.is_active(99));
  clients.arrive(3);
  EXPECT_EQ(clients.count(), 1U);
  clients.arrive(0);
  EXPECT_EQ(clients.count(), 2U);
}

TEST(ActiveClients, StayWhenTheyAreIdle) {
  ActiveClients clients(seconds(60));
  clients.arrive(0);
  EXPECT_TRUE(clients.finish(seconds(10), 0));
  EXPECT_EQ(clients.count(), 1U);
  clients.ping(seconds(30), 0);
  EXPECT_EQ(clients.count(), 1U);
  clients.ping(seconds(70), 0);  // idle for STL: not longer
  EXPECT_EQ(clients.count(), 1U);
}

TEST(ActiveClients, LeaveOnAPingAfterStl) {
  ActiveClients clients(seconds(60));
  clients.arrive(0);
  clients.arrive(1);
  EXPECT_TRUE(clients.finish(seconds(10), 0));
  EXPECT_TRUE(clients.finish(seconds(10), 1));
  clients.ping(seconds(71), 0);
  EXPECT_EQ(clients.count(), 1U);  // the other has not pinged
  EXPECT_FALSE(clients.is_active(0));
  EXPECT_TRUE(clients.is_active(1));
  clients.ping(seconds(72), 0);  // it is gone: nothing more to take away
  EXPECT_EQ(clients.count(), 1U);
  clients.arrive(0);
  EXPECT_EQ(clients.count(), 2U);
}

TEST(ActiveClients, PendingRequestsKeepThem) {
  ActiveClients clients(seconds(60));
  clients.arrive(0);
  clients.arrive(0);
  EXPECT_TRUE(clients.finish(seconds(1), 0));
  clients.ping(seconds(1000), 0);
  EXPECT_EQ(clients.count(), 1U);
  EXPECT_TRUE(clients.finish(seconds(1000), 0));
  clients.ping(seconds(1050), 0);
  EXPECT_EQ(clients.count(), 1U);
  clients.ping(seconds(1061), 0);
  EXPECT_EQ(clients.count(), 0U);
}

TEST(ActiveClients, UnknownFinishesAndPingsChangeNothing) {
  ActiveClients clients(seconds(60));
  EXPECT_FALSE(clients.finish(seconds(1), 7));
  clients.ping(seconds(1), 7);
  EXPECT_EQ(clients.count(), 0U);
  clients.arrive(7);
  EXPECT_TRUE(clients.finish(seconds(2), 7));
  EXPECT_FALSE(clients.finish(seconds(3), 7));
  clients.ping(seconds(63), 7);  // idle since 2 s, not since 3 s
  EXPECT_EQ(clients.count(), 0U);
}

TEST(ActiveClients, AgreesWithAPlainReading) {
  struct Plain {
    int pending = 0;
    Duration idle_since{};
    bool active = false;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    ActiveClients clients(seconds(60));
    std::map<std::uint32_t, Plain> plain;
    Duration now{};
    for (int i = 0; i < 3000; ++i) {
      now += seconds(rng.below(10));
      const auto client = static_cast<std::uint32_t>(rng.below(12));
      Plain& p = plain[client];
      switch (rng.below(3)) {
        case 0:
          clients.arrive(client);
          ++p.pending;
          p.active = true;
          break;
        case 1:
          EXPECT_EQ(clients.finish(now, client), p.pending > 0);
          if (p.pending == 1) p.idle_since = now;
          if (p.pending > 0) --p.pending;
          break;
        default:
          clients.ping(now, client);
          if (p.pending == 0 && now - p.idle_since > seconds(60)) p.active = false;
      }
      std::uint32_t active = 0;
      for (const auto& [number, row] : plain) active += row.active ? 1 : 0;
      ASSERT_EQ(clients.count(), active);
    }
  }
}

}  // namespace
}  // namespace iez::congestion
