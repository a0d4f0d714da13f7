#include "lab/extent_locks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/rng.hpp"

namespace iez::lab {
namespace {

using Lock = ExtentLocks::Lock;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kRead = LockMode::read;
constexpr auto kWrite = LockMode::write;
constexpr std::uint64_t kAll = ExtentLocks::kEverything;

std::vector<Lock> locks(const std::vector<ExtentLocks::Granted>& granted) {
  std::vector<Lock> result;
  result.reserve(granted.size());
  for (const auto& each : granted) result.push_back(each.lock);
  return result;
}

Lock lock(std::uint64_t owner, LockMode mode, std::uint64_t start, std::uint64_t end) {
  return {.owner = owner, .mode = mode, .start = start, .end = end};
}

TEST(ExtentLocks, TheFirstGetsEverything) {
  ExtentLocks table;
  table.request(1, lock(7, kWrite, 100, 200));
  EXPECT_THAT(locks(table.take_granted()), ElementsAre(lock(7, kWrite, 0, kAll)));
  EXPECT_THAT(table.in_the_way(), IsEmpty());
  table.request(2, lock(7, kRead, 100, 200));  // not in its own way
  EXPECT_EQ(table.take_granted().size(), 1U);
}

TEST(ExtentLocks, ReadersShareAndAWriterWaits) {
  ExtentLocks table;
  table.request(1, lock(1, kRead, 0, 10));
  table.request(2, lock(2, kRead, 0, 10));
  EXPECT_EQ(table.take_granted().size(), 2U);
  table.request(3, lock(3, kWrite, 5, 6));
  EXPECT_THAT(table.take_granted(), IsEmpty());
  EXPECT_THAT(table.in_the_way(), ElementsAre(lock(1, kRead, 0, kAll), lock(2, kRead, 0, kAll)));
  // A reader that comes later does not overtake the writer.
  table.request(4, lock(4, kRead, 5, 6));
  EXPECT_THAT(table.take_granted(), IsEmpty());
  table.release(lock(1, kRead, 0, kAll));
  EXPECT_THAT(table.take_granted(), IsEmpty());
  table.release(lock(2, kRead, 0, kAll));
  // The writer grows, but not into what the reader behind it waits for: and that is its own range.
  const auto granted = table.take_granted();
  ASSERT_EQ(granted.size(), 1U);
  EXPECT_EQ(granted[0].ticket, 3U);
  EXPECT_EQ(granted[0].lock, lock(3, kWrite, 5, 6));
  table.release(lock(3, kWrite, 0, kAll));
  EXPECT_THAT(locks(table.take_granted()), ElementsAre(lock(4, kRead, 0, kAll)));
}

TEST(ExtentLocks, GrowsToTheNextHolder) {
  ExtentLocks table;
  table.request(1, lock(1, kWrite, 0, 100));
  table.release(lock(1, kWrite, 100, kAll));  // keeps the first 100
  table.request(2, lock(2, kWrite, 1000, 1100));
  table.release(lock(2, kWrite, 1100, kAll));
  table.take_granted();
  EXPECT_THAT(table.held(), ElementsAre(lock(1, kWrite, 0, 100), lock(2, kWrite, 100, 1100)));
  table.release(lock(2, kWrite, 100, 1000));
  table.request(3, lock(3, kRead, 500, 501));
  EXPECT_THAT(locks(table.take_granted()), ElementsAre(lock(3, kRead, 100, 1000)));
}

TEST(ExtentLocks, WhoWritesNoMoreMayGoOnReading) {
  ExtentLocks table;
  table.request(1, lock(1, kWrite, 0, 10));
  table.request(2, lock(2, kRead, 5, 6));
  table.request(3, lock(1, kRead, 0, 10));
  table.take_granted();
  EXPECT_THAT(table.in_the_way(), ElementsAre(lock(1, kWrite, 0, kAll)));
  table.release(lock(1, kWrite, 0, kAll));
  EXPECT_THAT(locks(table.take_granted()), ElementsAre(lock(2, kRead, 0, kAll)));
  EXPECT_THAT(table.held(), ElementsAre(lock(1, kRead, 0, kAll), lock(2, kRead, 0, kAll)));
}

TEST(ExtentLocks, ACrowdGrowsLittle) {
  ExtentLocks table;
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40U;
  for (std::uint64_t owner = 1; owner <= ExtentLocks::kCrowd + 1; ++owner) {
    table.request(owner, lock(owner, kWrite, owner * 100, owner * 100 + 10));
    const auto granted = table.take_granted();
    ASSERT_EQ(granted.size(), 1U);
    table.release(lock(owner, kWrite, 0, owner * 100));
    table.release(lock(owner, kWrite, owner * 100 + 10, kAll));
  }
  table.request(99, lock(99, kWrite, kFar, kFar + 10));
  EXPECT_THAT(locks(table.take_granted()), ElementsAre(lock(99, kWrite, kFar, kFar + 10 + ExtentLocks::kMostGrowth)));
}

TEST(ExtentLocks, AnEmptyRangeIsNothing) {
  ExtentLocks table;
  table.request(1, lock(1, kWrite, 5, 5));
  EXPECT_EQ(table.take_granted().size(), 1U);
  EXPECT_TRUE(table.empty());
}

TEST(ExtentLocks, WithdrawnAndEvictedOnesStandInNobodysWay) {
  ExtentLocks table;
  table.request(1, lock(1, kWrite, 0, 10));
  table.request(2, lock(2, kWrite, 0, 10));
  table.request(3, lock(3, kWrite, 0, 10));
  table.take_granted();
  table.withdraw(2);
  EXPECT_EQ(table.waiting(), 1U);
  table.evict(1);
  EXPECT_THAT(locks(table.take_granted()), ElementsAre(lock(3, kWrite, 0, kAll)));
  table.evict(3);
  EXPECT_TRUE(table.empty());
}

bool conflicts(const Lock& a, const Lock& b) {
  return a.owner != b.owner && (a.mode == kWrite || b.mode == kWrite) && a.start < b.end && b.start < a.end;
}

// Never two that conflict; nobody waits without a reason; who comes later and conflicts does not come first; and if what is asked
// back is given back, everybody is served.
TEST(ExtentLocks, HoldsItsPromisesForRandomRequests) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    ExtentLocks table;
    std::map<std::uint64_t, Lock> wanted;  // that wait, by ticket: in order
    std::uint64_t next_ticket = 1;
    const auto check = [&] {
      for (const auto& granted : table.take_granted()) {
        const auto found = wanted.find(granted.ticket);
        ASSERT_NE(found, wanted.end());
        ASSERT_EQ(granted.lock.owner, found->second.owner);
        ASSERT_EQ(granted.lock.mode, found->second.mode);
        ASSERT_LE(granted.lock.start, found->second.start);
        ASSERT_GE(granted.lock.end, found->second.end);
        for (auto before = wanted.begin(); before != found; ++before) ASSERT_FALSE(conflicts(before->second, granted.lock));
        wanted.erase(found);
      }
      ASSERT_EQ(table.waiting(), wanted.size());
      const std::vector<Lock>& held = table.held();
      for (std::size_t i = 0; i < held.size(); ++i) {
        ASSERT_LT(held[i].start, held[i].end);
        for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(conflicts(held[i], held[j]));
      }
      const std::vector<Lock> asked = table.in_the_way();
      for (auto waits = wanted.begin(); waits != wanted.end(); ++waits) {
        bool has_reason = false;
        for (const Lock& each : held) has_reason = has_reason || conflicts(each, waits->second);
        for (auto before = wanted.begin(); before != waits; ++before) {
          has_reason = has_reason || conflicts(before->second, waits->second);
        }
        ASSERT_TRUE(has_reason);
      }
      for (const Lock& each : held) {
        bool is_in_the_way = false;
        for (const auto& [ticket, waits] : wanted) is_in_the_way = is_in_the_way || conflicts(each, waits);
        ASSERT_EQ(std::ranges::count(asked, each) > 0, is_in_the_way);
      }
    };
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t owner = rng.between(1, 5);
      const std::uint64_t start = rng.below(100);
      const std::uint64_t end = start + rng.between(1, 30);
      switch (rng.below(10)) {
        case 0:
          table.evict(owner);
          std::erase_if(wanted, [owner](const auto& each) { return each.second.owner == owner; });
          break;
        case 1:
        case 2:
          table.release(lock(owner, rng.chance(0.5) ? kRead : kWrite, start, rng.chance(0.5) ? end : kAll));
          break;
        case 3:
          if (!wanted.empty()) {
            table.withdraw(wanted.begin()->first);
            wanted.erase(wanted.begin());
          }
          break;
        default: {
          const Lock request = lock(owner, rng.chance(0.5) ? kRead : kWrite, start, end);
          wanted.emplace(next_ticket, request);
          table.request(next_ticket++, request);
        }
      }
      check();
      if (HasFatalFailure()) return;
    }
    // Everybody gives back what is asked for, one lock at a time.
    for (int rounds = 0; !wanted.empty(); ++rounds) {
      ASSERT_LT(rounds, 10000);
      const std::vector<Lock> asked = table.in_the_way();
      ASSERT_FALSE(asked.empty());
      const Lock& given = asked[rng.below(asked.size())];
      table.release(given);
      check();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace iez::lab
