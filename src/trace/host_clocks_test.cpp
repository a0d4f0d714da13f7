#include "trace/host_clocks.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;
constexpr std::int64_t kStart = 1'700'000'000 * kSecond;

SegmentInfo process(const std::string& host, std::int32_t rank, std::int64_t after, std::uint32_t ranks = 6,
                    const std::string& job = "7") {
  return {.rank = rank, .communicator = ranks, .host = host, .job = job, .start_ns = kStart + after};
}

HostClocks three_hosts(std::int64_t off) {
  HostClocks clocks;
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    const std::string host = "n" + std::to_string(rank / 2);
    clocks.add(process(host, rank, rank * kSecond / 2 + (host == "n1" ? off : 0)));
  }
  return clocks;
}

TEST(HostClocks, LaunchingTakesSeconds) { EXPECT_THAT(three_hosts(4 * kSecond).ahead(), IsEmpty()); }

TEST(HostClocks, AnHourOffBothWays) {
  // The median of the hosts is that of n2 (2 s) or n0 (0 s), whichever n1 (1 s) leaves in the middle.
  EXPECT_THAT(three_hosts(kHour).ahead(), ElementsAre(Pair("n1", kHour - kSecond)));
  EXPECT_THAT(three_hosts(-kHour).ahead(), ElementsAre(Pair("n1", -kHour + kSecond)));
}

TEST(HostClocks, OfTwoHostsTheFirstIsRight) {
  HostClocks clocks;
  clocks.add(process("a", 0, kHour, 2));
  clocks.add(process("b", 1, 0, 2));
  EXPECT_THAT(clocks.ahead(), ElementsAre(Pair("a", kHour)));
}

// What a rank starts later, such as a helper or the next program of a script, says nothing.
TEST(HostClocks, TheFirstProcessOfARankCounts) {
  HostClocks clocks = three_hosts(0);
  for (std::int32_t rank = 2; rank < 4; ++rank) clocks.add(process("n1", rank, kHour));
  EXPECT_THAT(clocks.ahead(), IsEmpty());
}

TEST(HostClocks, TwoProgramsOneAfterTheOther) {
  HostClocks clocks;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    clocks.add(process("a" + std::to_string(rank), rank, 0, 4));
    clocks.add(process("b" + std::to_string(rank), rank, kHour, 4));
  }
  EXPECT_THAT(clocks.ahead(), IsEmpty());
}

TEST(HostClocks, TheLaunchWithTheMostRanksDecides) {
  HostClocks clocks = three_hosts(kHour);
  clocks.add(process("n0", 0, 5 * kHour, 2));
  clocks.add(process("n1", 1, 9 * kHour, 2));
  EXPECT_THAT(clocks.ahead(), ElementsAre(Pair("n1", kHour - kSecond)));
}

TEST(HostClocks, NothingIsKnownWithoutRanks) {
  HostClocks clocks;
  clocks.add({.host = "a", .start_ns = kStart});
  clocks.add({.host = "b", .start_ns = kStart + kHour});
  clocks.add(process("c", 0, 9 * kHour, 1));
  clocks.add({.kind = SegmentKind::run, .rank = 1, .communicator = 2, .host = "d", .start_ns = kStart + kHour});
  EXPECT_THAT(clocks.ahead(), IsEmpty());
}

// A header may say anything.
TEST(HostClocks, NoDateIsNoStart) {
  HostClocks clocks = three_hosts(0);
  clocks.add(process("wild", 6, std::numeric_limits<std::int64_t>::max() - kStart));
  clocks.add(process("wilder", 7, -2 * kStart));
  EXPECT_THAT(clocks.ahead(), IsEmpty());
}

}  // namespace
}  // namespace iez::trace
