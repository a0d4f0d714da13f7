#include "sim/event_queue.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::sim {

namespace {

enum class Kind : std::uint8_t { arrival, departure, last = 255 };

using Queue = EventQueue<Kind>;
using Parts = std::tuple<Duration, Kind, std::uint32_t, std::uint32_t>;

Parts parts(const Event<Kind>& event) { return {event.at, event.kind, event.subject, event.detail}; }

// What the queue must do: a multimap inserts behind its equals.
class Oracle {
 public:
  void put(Duration at, Kind kind, std::uint32_t subject, std::uint32_t detail) {
    events_.emplace(at, Parts{at, kind, subject, detail});
  }
  Parts take() {
    const Parts first = events_.begin()->second;
    events_.erase(events_.begin());
    return first;
  }
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }

 private:
  std::multimap<Duration, Parts> events_;
};

enum class Steps { exponential, uniform, bimodal, few_values, wide, zero, nearby, huge };

Duration step(Steps steps, Rng& rng) {
  const auto seconds = [](double value) { return Duration(static_cast<Duration::rep>(value * 1e9)); };
  switch (steps) {
    case Steps::exponential:
      return seconds(-std::log(1 - rng.unit()));
    case Steps::uniform:
      return seconds(2 * rng.unit());
    case Steps::bimodal:
      return rng.chance(0.5) ? std::chrono::microseconds(300) : std::chrono::seconds(1);
    case Steps::few_values:
      return std::chrono::milliseconds(rng.below(4));
    case Steps::wide:
      return Duration(static_cast<Duration::rep>(rng.bits() >> rng.between(8, 63)));  // any scale
    case Steps::zero:
      return Duration(0);
    case Steps::nearby:
      return Duration(static_cast<Duration::rep>(rng.below(100)));
    case Steps::huge:
      return Duration(static_cast<Duration::rep>(rng.bits() >> 9U));
  }
  return {};
}

// Puts and takes at random around `waiting` events, and compares every one.
void compare_with_oracle(Steps steps, std::size_t waiting, std::size_t operations, std::uint64_t seed, Duration origin = {}) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", steps " + std::to_string(static_cast<int>(steps)) + ", waiting " +
               std::to_string(waiting));
  Rng rng(seed);
  Queue queue;
  Oracle oracle;
  std::uint32_t number = 0;
  if (origin > Duration(0)) {
    queue.put(origin, Kind::arrival, number, 0);
    (void)queue.take();
    ++number;
  }
  const auto take = [&] {
    const Event<Kind> event = queue.take();
    ASSERT_EQ(parts(event), oracle.take());
    ASSERT_EQ(event.at, queue.now());
  };
  for (std::size_t i = 0; i < operations; ++i) {
    const bool grow = queue.size() < waiting ? rng.chance(0.75) : rng.chance(0.25);
    if (grow || queue.empty()) {
      const Duration at = queue.now() + step(steps, rng);
      const auto kind = rng.chance(0.5) ? Kind::arrival : Kind::last;
      queue.put(at, kind, number, ~number);
      oracle.put(at, kind, number, ~number);
      ++number;
    } else {
      ASSERT_NO_FATAL_FAILURE(take());
    }
    ASSERT_EQ(queue.size(), oracle.size());
  }
  while (!oracle.empty()) ASSERT_NO_FATAL_FAILURE(take());
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.taken(), number);
}

TEST(EventQueueTest, StartsEmptyAtZero) {
  const Queue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.now(), Duration(0));
  EXPECT_EQ(queue.taken(), 0U);
}

TEST(EventQueueTest, GivesBackWhatWasPut) {
  Queue queue;
  queue.put(Duration(7), Kind::last, 0xFFFFFFFFU, 0x12345678U);
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.now(), Duration(0));
  EXPECT_EQ(parts(queue.take()), (Parts{Duration(7), Kind::last, 0xFFFFFFFFU, 0x12345678U}));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.now(), Duration(7));
  EXPECT_EQ(queue.taken(), 1U);
}

TEST(EventQueueTest, TakesByTimeAndThenInOrder) {
  Queue queue;
  const std::vector<std::pair<int, std::uint32_t>> put{{5, 0}, {3, 1}, {5, 2}, {0, 3}, {3, 4}, {1'000'000, 5}, {0, 6}, {5, 7}};
  for (const auto& [at, subject] : put) queue.put(Duration(at), Kind::arrival, subject, 0);
  std::vector<std::uint32_t> taken;
  while (!queue.empty()) taken.push_back(queue.take().subject);
  EXPECT_EQ(taken, (std::vector<std::uint32_t>{3, 6, 1, 4, 0, 2, 7, 5}));
}

TEST(EventQueueTest, AnEventOfNowComesAfterThoseOfNowThatWait) {
  Queue queue;
  queue.put(Duration(10), Kind::arrival, 0, 0);
  queue.put(Duration(10), Kind::arrival, 1, 0);
  queue.put(Duration(11), Kind::arrival, 3, 0);
  EXPECT_EQ(queue.take().subject, 0U);
  queue.put(Duration(10), Kind::arrival, 2, 0);
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_EQ(queue.take().subject, i);
}

TEST(EventQueueTest, ManyEventsOfOneTimeKeepTheirOrder) {
  constexpr std::uint32_t kMany = 100'000;
  const Duration at = std::chrono::hours(1);
  Queue queue;
  for (std::uint32_t i = 0; i < kMany; ++i) queue.put(at, Kind::arrival, i, 0);
  // Half of them are put when the others are being taken.
  for (std::uint32_t i = 0; i < 2 * kMany; ++i) {
    const Event<Kind> event = queue.take();
    ASSERT_EQ(event.at, at);
    ASSERT_EQ(event.subject, i);
    if (i < kMany) queue.put(at, Kind::arrival, kMany + i, 0);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, ReachesTheEndOfTime) {
  constexpr Duration::rep kEnd = std::numeric_limits<Duration::rep>::max();
  Queue queue;
  std::vector<Duration::rep> times{kEnd, 0, kEnd - 1, 1, 63, 64, 4095, 4096};
  for (unsigned bit = 7; bit < 63; ++bit) {
    times.push_back(Duration::rep{1} << bit);
    times.push_back((Duration::rep{1} << bit) - 1);
  }
  times.push_back(kEnd);
  for (const Duration::rep time : times) queue.put(Duration(time), Kind::arrival, 0, 0);
  std::ranges::sort(times);
  for (const Duration::rep time : times) ASSERT_EQ(queue.take().at.count(), time);
  queue.put(Duration(kEnd), Kind::departure, 9, 0);
  EXPECT_EQ(queue.take().subject, 9U);
}

TEST(EventQueueTest, RunsEmptyAndGoesOn) {
  Queue queue;
  Duration at{};
  for (std::uint32_t i = 0; i < 1000; ++i) {
    at += Duration(Duration::rep{1} << (i % 40));
    queue.put(at, Kind::arrival, i, 0);
    EXPECT_EQ(queue.take().subject, i);
  }
  EXPECT_EQ(queue.taken(), 1000U);
}

TEST(EventQueueTest, RoomChangesNothing) {
  Queue queue;
  queue.reserve(10'000);
  queue.put(Duration(1), Kind::arrival, 1, 0);
  queue.reserve(20'000);
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.take().subject, 1U);
}

TEST(EventQueueTest, IsAStableSort) {
  std::uint64_t seed = 1;
  for (const Steps steps : {Steps::exponential, Steps::uniform, Steps::bimodal, Steps::few_values, Steps::zero, Steps::nearby}) {
    for (const std::size_t waiting : {1U, 10U, 60U, 70U, 1000U, 20'000U}) {
      ASSERT_NO_FATAL_FAILURE(compare_with_oracle(steps, waiting, 4 * waiting + 5000, seed++));
    }
  }
}

TEST(EventQueueTest, IsAStableSortOfTimesOfAllScales) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ASSERT_NO_FATAL_FAILURE(compare_with_oracle(Steps::wide, 1 + seed % 150, 100, seed));
  }
}

TEST(EventQueueTest, IsAStableSortNearTheEndOfTime) {
  const Duration origin(Duration::rep{1} << 62U);
  for (const Steps steps : {Steps::huge, Steps::uniform, Steps::nearby}) {
    ASSERT_NO_FATAL_FAILURE(compare_with_oracle(steps, 200, 5000, 1, origin));
  }
}

// A wide slot with few events is sorted as a whole; then many are put into the middle of it.
TEST(EventQueueTest, AFloodIntoASortedSlotIsDealtOutAgain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Queue queue;
    Oracle oracle;
    const auto put = [&](Duration at, std::uint32_t subject) {
      queue.put(at, Kind::arrival, subject, 0);
      oracle.put(at, Kind::arrival, subject, 0);
    };
    put(Duration(1), 0);
    for (std::uint32_t i = 1; i < 20; ++i) put(std::chrono::hours(i), i);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(parts(queue.take()), oracle.take());
    for (std::uint32_t i = 20; i < 5000; ++i) {
      put(queue.now() + Duration(static_cast<Duration::rep>(rng.below(rng.chance(0.5) ? 20 : 1ULL << 40U))), i);
      if (i % 3 == 0) {
        ASSERT_EQ(parts(queue.take()), oracle.take());
      }
    }
    while (!oracle.empty()) ASSERT_EQ(parts(queue.take()), oracle.take());
    EXPECT_TRUE(queue.empty());
  }
}

TEST(EventQueueDeathTest, RefusesThePastAndNothing) {
  Queue queue;
  EXPECT_DEATH((void)queue.take(), "size_ > 0");
  EXPECT_DEATH(queue.put(Duration(-1), Kind::arrival, 0, 0), "at >= now_");
  queue.put(Duration(100), Kind::arrival, 0, 0);
  queue.put(Duration(50), Kind::arrival, 0, 0);  // time is that of the last taken, not of the last put
  (void)queue.take();
  queue.put(Duration(50), Kind::arrival, 0, 0);
  EXPECT_DEATH(queue.put(Duration(49), Kind::arrival, 0, 0), "at >= now_");
}

}  // namespace

}  // namespace iez::sim
