#include "congestion/present_clients.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/rng.hpp"

namespace iez::congestion {
namespace {

using std::chrono::seconds;

TEST(PresentClients, ComeAndGoWithTheirRequests) {
  PresentClients present;
  EXPECT_FALSE(present.arrive(seconds(1), {.client = 2, .job = 4}).has_value());
  EXPECT_EQ(present.count(), 1U);
  EXPECT_EQ(present.count_of(4), 1U);
  EXPECT_EQ(present.count_of(0), 0U);
  EXPECT_EQ(present.count_of(77), 0U);
  EXPECT_EQ(present.pending(2), 1U);
  EXPECT_EQ(present.idle_of(4), 0U);
  present.expire(seconds(1000), seconds(3));  // it has a request here
  EXPECT_EQ(present.count(), 1U);
  EXPECT_TRUE(present.finish(seconds(10), 2));
  EXPECT_EQ(present.idle_of(4), 1U);
  present.expire(seconds(13), seconds(3));  // not longer
  EXPECT_EQ(present.count(), 1U);
  present.expire(seconds(14), seconds(3));
  EXPECT_EQ(present.count(), 0U);
  EXPECT_EQ(present.idle_of(4), 0U);
  EXPECT_TRUE(present.jobs().empty());
}

TEST(PresentClients, TellHowLongAClientWasAway) {
  PresentClients present;
  (void)present.arrive(seconds(1), {.client = 0, .job = 0});
  EXPECT_FALSE(present.arrive(seconds(2), {.client = 0, .job = 0}).has_value());  // it was not away
  EXPECT_TRUE(present.finish(seconds(3), 0));
  EXPECT_TRUE(present.finish(seconds(4), 0));
  const std::optional<Duration> away = present.arrive(seconds(9), {.client = 0, .job = 0});
  ASSERT_TRUE(away.has_value());
  EXPECT_EQ(*away, seconds(5));
}

TEST(PresentClients, MeasureRounds) {
  PresentClients present;
  for (int i = 0; i < 3; ++i) (void)present.arrive(seconds(1), {.client = 0, .job = 0});
  EXPECT_TRUE(present.finish(seconds(2), 0));
  (void)present.arrive(seconds(3), {.client = 0, .job = 0});
  EXPECT_EQ(present.round_size(0), 3U);  // the most at once
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(present.finish(seconds(4), 0));
  EXPECT_EQ(present.round_size(0), 3U);
  (void)present.arrive(seconds(5), {.client = 0, .job = 0});
  EXPECT_EQ(present.round_size(0), 1U);
  EXPECT_EQ(present.round_size(9), 0U);
}

TEST(PresentClients, LeaveOnlyWithoutRequests) {
  PresentClients present;
  (void)present.arrive(seconds(1), {.client = 0, .job = 0});
  present.leave(0);
  EXPECT_EQ(present.count(), 1U);
  EXPECT_TRUE(present.finish(seconds(2), 0));
  present.leave(0);
  EXPECT_EQ(present.count(), 0U);
  present.leave(0);
  present.leave(42);
  EXPECT_EQ(present.count(), 0U);
  EXPECT_FALSE(present.finish(seconds(3), 0));
  EXPECT_FALSE(present.finish(seconds(3), 42));
}

TEST(PresentClients, BelongToTheJobOfTheirLastRequest) {
  PresentClients present;
  (void)present.arrive(seconds(1), {.client = 0, .job = 0});
  (void)present.arrive(seconds(1), {.client = 1, .job = 0});
  (void)present.arrive(seconds(2), {.client = 0, .job = 5});
  EXPECT_EQ(present.count(), 2U);
  EXPECT_EQ(present.count_of(0), 1U);
  EXPECT_EQ(present.count_of(5), 1U);
  EXPECT_EQ(present.jobs().size(), 2U);
  EXPECT_TRUE(present.finish(seconds(3), 1));
  present.leave(1);
  ASSERT_EQ(present.jobs().size(), 1U);
  EXPECT_EQ(present.jobs()[0], 5U);
}

TEST(PresentClients, AgreeWithAPlainReading) {
  struct Plain {
    std::uint64_t pending = 0;
    Duration idle_since{};
    std::uint32_t job = 0;
    bool present = false;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    PresentClients present;
    std::map<std::uint32_t, Plain> plain;
    Duration now{};
    for (int i = 0; i < 2000; ++i) {
      now += seconds(rng.below(3));
      const auto client = static_cast<std::uint32_t>(rng.below(10));
      Plain& p = plain[client];
      switch (rng.below(5)) {
        case 0:
        case 1: {
          const auto job = static_cast<std::uint32_t>(rng.below(4));
          const std::optional<Duration> away = present.arrive(now, {.client = client, .job = job});
          ASSERT_EQ(away.has_value(), p.present && p.pending == 0);
          if (away) {
            ASSERT_EQ(*away, now - p.idle_since);
          }
          ++p.pending;
          p.present = true;
          p.job = job;
          break;
        }
        case 2:
        case 3:
          ASSERT_EQ(present.finish(now, client), p.pending > 0);
          if (p.pending == 1) p.idle_since = now;
          if (p.pending > 0) --p.pending;
          break;
        default: {
          const Duration patience = seconds(rng.below(20));
          present.expire(now, patience);
          for (auto& [number, row] : plain) {
            if (row.pending == 0 && now - row.idle_since > patience) row.present = false;
          }
        }
      }
      std::uint32_t count = 0;
      std::map<std::uint32_t, std::uint32_t> of_job;
      std::map<std::uint32_t, std::uint32_t> idle;
      for (const auto& [number, row] : plain) {
        if (!row.present) continue;
        ++count;
        ++of_job[row.job];
        if (row.pending == 0) ++idle[row.job];
      }
      ASSERT_EQ(present.count(), count);
      ASSERT_EQ(present.jobs().size(), of_job.size());
      for (const std::uint32_t job : present.jobs()) {
        ASSERT_EQ(present.count_of(job), of_job[job]);
        ASSERT_EQ(present.idle_of(job), idle[job]);
      }
    }
  }
}

}  // namespace
}  // namespace iez::congestion
