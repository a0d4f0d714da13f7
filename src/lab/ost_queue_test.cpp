#include "lab/ost_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "congestion/rcc_policy.hpp"

namespace iez::lab {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr OstQueue::Options kOptions{.disk = {.rate = {1'000'000}}, .rpc_size = Bytes{1000}, .rpcs_in_flight = 2};

TEST(OstQueue, RequestsOfOneClientFollowEachOtherWithoutAGap) {
  // One request in flight at a time, and the caller looks late: the disks lose nothing.
  OstQueue queue(kOptions, nullptr);
  queue.set_limit(0, 1);
  queue.write(0, 1, 0, 100'000, 0, Duration{});
  std::size_t done = 0;
  for (Duration now{}; done < 100; now += microseconds(9700)) {
    ASSERT_LT(now, milliseconds(110));
    for (const OstQueue::Finished& finished : queue.advance(now)) {
      EXPECT_EQ(finished.end, milliseconds(++done));
      EXPECT_TRUE(finished.rpc.is_write);
    }
  }
  EXPECT_FALSE(queue.next());
  EXPECT_EQ(queue.gate(0).finished(), 100'000U);
}

TEST(OstQueue, ClientsShareTheRateByTheirRequestsInFlight) {
  OstQueue::Options options = kOptions;
  options.disk.threads = 1;  // in order of arrival
  OstQueue queue(options, nullptr);
  queue.set_limit(0, 3);
  queue.set_limit(1, 1);
  queue.write(0, 1, 0, 1'000'000, 0, Duration{});
  queue.write(1, 2, 0, 1'000'000, 0, Duration{});
  (void)queue.advance(milliseconds(400));
  EXPECT_NEAR(static_cast<double>(queue.gate(0).finished()), 300'000, 3000);
  EXPECT_NEAR(static_cast<double>(queue.gate(1).finished()), 100'000, 3000);
}

TEST(OstQueue, ReadsOfWhatIsOnItsWayAreHeldByAnyClient) {
  OstQueue queue(kOptions, nullptr);
  queue.write(0, 1, 0, 5000, 0, Duration{});
  EXPECT_TRUE(queue.holds(1, 4000, 5000));
  EXPECT_FALSE(queue.holds(1, 4000, 5001));
  EXPECT_EQ(queue.read(1, 1, 5000, 7500, 9, 0, Duration{}), 3U);
  std::map<std::uint64_t, int> reads;
  for (const OstQueue::Finished& finished : queue.advance(seconds(1))) {
    if (!finished.rpc.is_write) ++reads[finished.rpc.tag];
  }
  EXPECT_EQ(reads, (std::map<std::uint64_t, int>{{9, 3}}));
  EXPECT_FALSE(queue.holds(1, 4000, 5000));
}

TEST(OstQueue, ALawsCreditsTakeThePlaceOfTheClientsLimit) {
  congestion::RccParameters parameters;
  parameters.d_low = 4;
  parameters.rcc_min = 1;
  parameters.rcc_max = 7;
  OstQueue queue(kOptions, std::make_unique<congestion::RccPolicy>(parameters));
  queue.set_limit(0, 200);
  queue.write(0, 1, 0, 1'000'000, 0, Duration{});
  EXPECT_EQ(queue.gate(0).in_flight(), 1U);
  (void)queue.advance(milliseconds(500));
  EXPECT_GT(queue.gate(0).limit(), 1U);
  EXPECT_LE(queue.gate(0).limit(), 7U);
}

// All bytes come out once, at no more than the rate.
TEST(OstQueue, ConservesBytesAndKeepsTheRate) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    OstQueue queue(kOptions, nullptr);
    Duration now{};
    std::uint64_t read = 0;
    std::uint64_t wanted = 0;
    std::uint64_t bytes = 0;
    Duration last{};
    const auto look = [&] {
      for (const OstQueue::Finished& finished : queue.advance(now)) {
        ASSERT_GE(finished.start, last);
        ASSERT_GE(finished.end - finished.start, microseconds(finished.rpc.end - finished.rpc.start));
        last = finished.end;
        bytes += finished.rpc.end - finished.rpc.start;
        if (!finished.rpc.is_write) read += finished.rpc.end - finished.rpc.start;
      }
    };
    for (int step = 0; step < 100; ++step) {
      now += microseconds(rng.below(3000));
      const auto client = static_cast<std::uint32_t>(rng.below(3));
      const std::uint64_t start = rng.below(50) * 100;
      const std::uint64_t end = start + rng.between(1, 3000);
      if (rng.chance(0.7)) {
        queue.write(client, rng.below(3), start, end, 0, now);
      } else {
        queue.read(client, rng.below(3), start, end, 1, 0, now);
        wanted += end - start;
      }
      if (rng.chance(0.3)) look();
    }
    now += seconds(30);
    look();
    EXPECT_FALSE(queue.next());
    EXPECT_EQ(read, wanted);
    std::uint64_t written = 0;
    for (std::uint32_t client = 0; client < 3; ++client) {
      EXPECT_TRUE(queue.gate(client).idle());
      EXPECT_EQ(queue.gate(client).brought(), queue.gate(client).finished());
      written += queue.gate(client).finished();
    }
    EXPECT_EQ(bytes, read + written);
  }
}

}  // namespace
}  // namespace iez::lab
