#include "sim/elevator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.hpp"

namespace iez::sim {
namespace {

constexpr Duration kPatience = std::chrono::seconds(5);

TEST(Elevator, GoesUpwardsFromTheHeadThenFromTheLowest) {
  Elevator elevator(kPatience);
  for (const std::uint64_t place : {50U, 10U, 90U, 30U}) elevator.add({.place = place});
  EXPECT_EQ(elevator.take(40, {}).place, 50U);
  EXPECT_EQ(elevator.take(51, {}).place, 90U);
  EXPECT_EQ(elevator.take(91, {}).place, 10U);
  EXPECT_EQ(elevator.take(11, {}).place, 30U);
  EXPECT_TRUE(elevator.empty());
}

TEST(Elevator, TakesWhatContinuesFirst) {
  Elevator elevator(kPatience);
  elevator.add({.place = 20, .request = 1});
  elevator.add({.place = 10, .request = 2});
  EXPECT_EQ(elevator.take(10, {}).request, 2U);
  EXPECT_EQ(elevator.take(20, {}).request, 1U);
}

TEST(Elevator, KeepsTheOrderOfEqualPlaces) {
  Elevator elevator(kPatience);
  for (std::uint32_t i = 0; i < 5; ++i) elevator.add({.place = 7, .request = i});
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(elevator.take(0, {}).request, i);
}

TEST(Elevator, AStreamWithoutEndStarvesNobody) {
  Elevator elevator(std::chrono::seconds(5));
  elevator.add({.place = 1'000'000, .request = 1});
  std::uint64_t head = 0;
  Duration now{};
  int served = 0;
  for (bool other = false; !other; ++served) {
    ASSERT_LT(served, 1000);
    elevator.add({.place = head, .request = 2, .since = now});
    const auto entry = elevator.take(head, now);
    other = entry.request == 1;
    head = entry.place + 1;
    now += std::chrono::milliseconds(100);
  }
  EXPECT_GE(now, std::chrono::seconds(5));
  EXPECT_LE(now, std::chrono::milliseconds(5100 + 100 * int{Elevator::kBatch}));
}

TEST(Elevator, AgreesWithAScanOfAll) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Elevator elevator(kPatience);
    std::vector<std::uint64_t> all;
    std::uint64_t head = 0;
    for (int step = 0; step < 500; ++step) {
      if (all.empty() || rng.chance(0.55)) {
        const std::uint64_t place = rng.below(1000);
        all.push_back(place);
        elevator.add({.place = place});
        continue;
      }
      std::sort(all.begin(), all.end());
      auto next = std::find_if(all.begin(), all.end(), [head](std::uint64_t place) { return place >= head; });
      if (next == all.end()) next = all.begin();
      const std::uint64_t taken = elevator.take(head, {}).place;
      ASSERT_EQ(taken, *next);
      all.erase(next);
      head = taken + 1;
      ASSERT_EQ(elevator.size(), all.size());
    }
  }
}

}  // namespace
}  // namespace iez::sim
