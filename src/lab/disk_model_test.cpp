#include "lab/disk_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/rng.hpp"

namespace iez::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr BytesPerSecond kRate{1'000'000};  // 1000 bytes take 1 ms

std::vector<std::uint64_t> tickets(DiskModel& disk, Duration now) {
  std::vector<std::uint64_t> done;
  while (const auto next = disk.pop(now)) done.push_back(next->ticket);
  return done;
}

TEST(DiskModel, OneRequestTakesItsBytes) {
  DiskModel disk({.rate = kRate, .seek = milliseconds(4)});
  EXPECT_FALSE(disk.pop(seconds(1)));
  EXPECT_FALSE(disk.next());
  disk.add(7, 0, Bytes{5000}, seconds(1));
  EXPECT_FALSE(disk.pop(seconds(1)));
  EXPECT_EQ(disk.next(), seconds(1) + milliseconds(5));
  EXPECT_EQ(disk.depth(), 1U);
  EXPECT_FALSE(disk.pop(seconds(1) + milliseconds(5) - Duration(1)));
  const auto done = disk.pop(seconds(1) + milliseconds(5));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->ticket, 7U);
  EXPECT_EQ(done->start, seconds(1));
  EXPECT_EQ(disk.depth(), 0U);
  EXPECT_EQ(disk.busy(), milliseconds(5));
}

TEST(DiskModel, SeeksOnlyBetweenStreams) {
  DiskModel disk({.rate = kRate, .seek = milliseconds(4)});
  for (std::uint64_t i = 0; i < 10; ++i) disk.add(i, i * 1000, Bytes{1000}, Duration{});
  EXPECT_EQ(tickets(disk, seconds(1)).size(), 10U);
  EXPECT_EQ(disk.busy(), milliseconds(10));  // from where the head was: no pause at all
  EXPECT_EQ(disk.seeks(), 0U);
  disk.add(10, 500'000, Bytes{1000}, seconds(1));
  disk.add(11, 501'000, Bytes{1000}, seconds(1));
  disk.add(12, 10'000, Bytes{1000}, seconds(1));
  EXPECT_THAT(tickets(disk, seconds(2)), ElementsAre(12, 10, 11));  // upwards from the head
  EXPECT_EQ(disk.seeks(), 1U);
  EXPECT_EQ(disk.busy(), milliseconds(10 + 3 + 4));
}

TEST(DiskModel, OneThreadKeepsTheOrderOfArrival) {
  DiskModel disk({.rate = kRate, .seek = milliseconds(1), .threads = 1});
  for (const std::uint64_t place : {900'000U, 100'000U, 901'000U, 101'000U}) disk.add(place, place, Bytes{1000}, Duration{});
  EXPECT_THAT(tickets(disk, seconds(1)), ElementsAre(900'000U, 100'000U, 901'000U, 101'000U));
  EXPECT_EQ(disk.seeks(), 4U);
}

TEST(DiskModel, MoreThreadsKeepStreamsTogether) {
  DiskModel disk({.rate = kRate, .seek = milliseconds(1), .threads = 4});
  for (const std::uint64_t place : {900'000U, 100'000U, 901'000U, 101'000U}) disk.add(place, place, Bytes{1000}, Duration{});
  EXPECT_THAT(tickets(disk, seconds(1)), ElementsAre(100'000U, 101'000U, 900'000U, 901'000U));
  EXPECT_EQ(disk.seeks(), 2U);
}

TEST(DiskModel, LatenessDoesNotAddUp) {
  DiskModel disk({.rate = kRate});
  for (std::uint64_t i = 0; i < 100; ++i) disk.add(i, i * 1000, Bytes{1000}, Duration{});
  // Looked at every 7.3 ms: 100 requests of 1 ms are done by 100 ms all the same.
  std::size_t done = 0;
  for (Duration now{}; done < 100; now += std::chrono::microseconds(7300)) {
    ASSERT_LT(now, milliseconds(108));
    while (const auto next = disk.pop(now)) {
      ++done;
      EXPECT_EQ(next->end, milliseconds(done));
    }
  }
}

TEST(DiskModel, OnlySoMuchIsCaughtUp) {
  DiskModel disk({.rate = kRate, .catch_up = milliseconds(10)});
  for (std::uint64_t i = 0; i < 100; ++i) disk.add(i, i * 1000, Bytes{1000}, Duration{});
  EXPECT_FALSE(disk.pop(Duration{}));
  // Asleep for an hour: the first is done, then as much as fits into 10 ms.
  EXPECT_EQ(tickets(disk, std::chrono::hours(1)).size(), 11U);
  EXPECT_EQ(disk.next(), std::chrono::hours(1) + milliseconds(1));
}

TEST(DiskModel, SpeedCountsFromTheNextStart) {
  DiskModel disk({.rate = kRate});
  disk.add(1, 0, Bytes{1000}, Duration{});
  disk.add(2, 1000, Bytes{1000}, Duration{});
  EXPECT_FALSE(disk.pop(Duration{}));
  disk.set_speed(0.1);
  EXPECT_EQ(disk.pop(milliseconds(1))->end, milliseconds(1));
  EXPECT_FALSE(disk.pop(milliseconds(1)));
  EXPECT_EQ(disk.next(), milliseconds(11));
  disk.set_speed(1e-300);  // hopeless, and no overflow
  disk.add(3, 2000, Bytes{1000}, milliseconds(1));
  EXPECT_TRUE(disk.pop(milliseconds(11)));
  EXPECT_FALSE(disk.pop(milliseconds(11)));
  EXPECT_GT(*disk.next(), std::chrono::hours(24));
}

// Every request is served once, no two at a time, none before it came; the rate holds over every span; and what happens does not
// depend on how often one looks.
TEST(DiskModel, HoldsItsPromisesForRandomArrivals) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const DiskOptions options{.rate = kRate,
                              .seek = milliseconds(rng.below(5)),
                              .threads = static_cast<std::uint32_t>(rng.between(1, 8)),
                              .patience = milliseconds(rng.below(100)),
                              .catch_up = std::chrono::hours(1)};
    struct Arrival {
      Duration when{};
      std::uint64_t place = 0;
      std::uint64_t size = 0;
    };
    std::vector<Arrival> arrivals(rng.between(1, 80));
    Duration when{};
    for (Arrival& arrival : arrivals) {
      if (rng.chance(0.5)) when += std::chrono::microseconds(rng.below(6000));
      arrival = {.when = when, .place = rng.below(5) * 1'000'000 + rng.below(20) * 1000, .size = rng.between(1, 4) * 1000};
    }
    std::vector<std::vector<DiskModel::Done>> runs;
    std::vector<std::uint64_t> seeks;
    for (const bool is_eager : {true, false}) {
      DiskModel disk(options);
      std::vector<DiskModel::Done> done;
      const auto look = [&](Duration now) {
        while (const auto next = disk.pop(now)) done.push_back(*next);
      };
      for (std::size_t i = 0; i < arrivals.size(); ++i) {
        look(arrivals[i].when);
        disk.add(i, arrivals[i].place, Bytes{arrivals[i].size}, arrivals[i].when);
        // Those of one instant come together, or the disks would begin with the first.
        if (i + 1 < arrivals.size() && arrivals[i + 1].when == arrivals[i].when) continue;
        look(arrivals[i].when);
        if (!is_eager) continue;
        const Duration until = i + 1 < arrivals.size() ? arrivals[i + 1].when : arrivals[i].when + seconds(10);
        while (const auto next = disk.next()) {
          if (*next >= until) break;
          look(*next);
        }
      }
      look(when + seconds(10));
      ASSERT_EQ(disk.depth(), 0U);
      runs.push_back(std::move(done));
      seeks.push_back(disk.seeks());
    }
    ASSERT_EQ(runs[0].size(), arrivals.size());
    ASSERT_EQ(runs[1].size(), arrivals.size());
    Duration last{};
    Duration busy{};
    std::uint64_t bytes = 0;
    std::map<std::uint64_t, int> seen;
    for (std::size_t i = 0; i < runs[0].size(); ++i) {
      const DiskModel::Done& done = runs[0][i];
      ASSERT_EQ(done.ticket, runs[1][i].ticket);
      ASSERT_EQ(done.end, runs[1][i].end);
      ASSERT_EQ(++seen[done.ticket], 1);
      ASSERT_GE(done.start, arrivals[done.ticket].when);
      ASSERT_GE(done.start, last);
      ASSERT_GE(done.end - done.start, std::chrono::microseconds(arrivals[done.ticket].size));
      last = done.end;
      busy += done.end - done.start;
      bytes += arrivals[done.ticket].size;
    }
    EXPECT_EQ(busy, std::chrono::microseconds(bytes) + options.seek * seeks[0]);
  }
}

}  // namespace
}  // namespace iez::lab
