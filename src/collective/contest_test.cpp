// The law by itself: what it loses on random histories, and that nobody waits for ever.
#include "collective/contest.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace iez::collective {
namespace {

using Random = std::mt19937_64;

constexpr std::int64_t kBytes = 1 << 20;
const CallKind kLarge{.write = true, .interleaved = false, .piece = 16, .bytes = Contest::kSmall};

double uniform(Random& random, double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); }

// Calls of one kind, by a contest that is asked as the engine asks it. Costs are microseconds of a call.
class History {
 public:
  explicit History(bool clients_have_caches = false) : contest_(clients_have_caches) {}

  // Returns what the call cost.
  double call(const CallKind& kind, double collected, double passed) {
    if (free_ > 0) {
      --free_;
      ++unasked_;
      return passed;
    }
    const Way way = contest_.next(kind);
    free_ = way == Way::pass ? contest_.unasked(kind) : 0;
    contest_.begin(kind, way, free_);
    const double cost = way == Way::pass ? passed : collected;
    (way == Way::pass ? passes_ : collects_) += 1;
    contest_.took(kind, way, kBytes, static_cast<std::uint64_t>(cost * 1000));
    return cost;
  }

  Contest& contest() { return contest_; }
  int collects() const { return collects_; }
  int unasked() const { return unasked_; }

 private:
  Contest contest_;
  std::uint32_t free_ = 0;
  int collects_ = 0;
  int passes_ = 0;
  int unasked_ = 0;
};

TEST(Contest, TriesBothInTurnsAndKeepsTheFaster) {
  History run;
  for (int i = 0; i < 6; ++i) run.call(kLarge, 100, 90);
  ASSERT_EQ(run.contest().standings().size(), 1U);
  EXPECT_EQ(run.contest().standings()[0].kept, Way::pass);
  EXPECT_EQ(run.collects(), 3);
  History other;
  for (int i = 0; i < 6; ++i) other.call(kLarge, 90, 100);
  EXPECT_EQ(other.contest().standings()[0].kept, Way::collect);
}

TEST(Contest, AWayThatIsMuchSlowerIsTriedOnce) {
  History run;
  for (int i = 0; i < 60; ++i) run.call(kLarge, 500, 100);
  EXPECT_EQ(run.collects(), 1);
  History other;
  for (int i = 0; i < 60; ++i) other.call(kLarge, 100, 500);
  EXPECT_EQ(other.collects(), 59);
}

// A program must not lose: where it is not clear, the MPI's way is kept sooner than ours.
TEST(Contest, CollectingIsDroppedSooner) {
  History history;
  for (int i = 0; i < 60; ++i) history.call(kLarge, 350, 100);
  EXPECT_EQ(history.collects(), 1);
  History other;
  for (int i = 0; i < 60; ++i) other.call(kLarge, 120, 100);
  EXPECT_EQ(other.collects(), 2);
}

// Nothing has to be asked about then.
TEST(Contest, OfEqualWaysItIsTheMpis) {
  History run;
  for (int i = 0; i < 60; ++i) run.call(kLarge, 100, 101);
  EXPECT_EQ(run.contest().standings()[0].kept, Way::pass);
}

TEST(Contest, WhatIsLeftToTheMpiIsSoonNotAskedAbout) {
  Contest contest;
  std::vector<std::uint32_t> distances;
  for (int i = 0; i < 9; ++i) {
    distances.push_back(contest.unasked(kLarge));
    contest.step_aside(kLarge, distances.back());
  }
  EXPECT_EQ(contest.next(kLarge), Way::collect) << "if it is to be compared after all, there is a trial";
  EXPECT_EQ(distances, (std::vector<std::uint32_t>{3, 15, 63, 63, 63, 63, 63, 63, 63}));
}

TEST(Contest, KindsThatTakeTurnsAreAskedAboutEachTime) {
  CallKind longer = kLarge;
  longer.piece = 22;
  Contest contest;
  contest.step_aside(kLarge, 0);
  for (int i = 1; i < 50; ++i) {
    const CallKind& kind = i % 2 == 0 ? kLarge : longer;
    EXPECT_EQ(contest.unasked(kind), 0U);
    contest.step_aside(kind, contest.unasked(kind));
  }
  CallKind read = kLarge;
  read.write = false;
  EXPECT_EQ(contest.unasked(read), 3U) << "reads and writes may take turns";
}

TEST(Contest, ACallWithoutATimeIsNoReasonToTryAgainAndAgain) {
  History run;
  for (int i = 0; i < 6; ++i) run.call(kLarge, 90, 100);
  Contest& contest = run.contest();
  int passes = 0;
  for (int i = 0; i < 1000; ++i) {
    const Way way = contest.next(kLarge);
    passes += way == Way::pass ? 1 : 0;
    contest.begin(kLarge, way, 0);
    contest.took(kLarge, way, kBytes, 0);
  }
  EXPECT_GE(passes, 1);
  EXPECT_LE(passes, 1000 / static_cast<int>(Contest::kPause));
  EXPECT_EQ(contest.settled(kLarge), Way::collect);
}

TEST(Contest, TheKindThatWasNotUsedForLongestIsForgotten) {
  Contest contest;
  for (std::uint8_t i = 0; i < Contest::kKinds + 1; ++i) {
    CallKind kind = kLarge;
    kind.piece = i;
    contest.step_aside(kind, 0);
  }
  EXPECT_EQ(contest.standings().size(), Contest::kKinds);
  CallKind first = kLarge;
  first.piece = 0;
  EXPECT_TRUE(std::ranges::none_of(contest.standings(), [&first](const auto& one) { return one.kind == first; }));
  first.piece = 1;
  EXPECT_TRUE(std::ranges::any_of(contest.standings(), [&first](const auto& one) { return one.kind == first; }));
}

TEST(Contest, KindsAreLogarithms) {
  const Requests requests{.write = false, .interleaved = true, .bytes = 3 << 20, .shortest_piece = (1 << 16) + 5};
  EXPECT_EQ(kind_of(requests), (CallKind{.write = false, .interleaved = true, .piece = 16, .bytes = 21}));
  EXPECT_EQ(kind_of({}).piece, 0);
}

CallKind small_calls() {
  CallKind kind = kLarge;
  kind.bytes = Contest::kSmall - 1;
  return kind;
}

TEST(Contest, SmallCallsAreTheMpisUntilTheyHaveTakenLongEnough) {
  History run;
  double passed = 0;
  while (run.collects() == 0 && passed < 1e6) passed += run.call(small_calls(), 50, 100);
  EXPECT_GE(passed * 1000, static_cast<double>(Contest::kPatience));
  EXPECT_LE(passed * 1000, 4 * static_cast<double>(Contest::kPatience));
  for (int i = 0; i < 100; ++i) run.call(small_calls(), 50, 100);
  EXPECT_EQ(run.contest().standings()[0].kept, Way::collect);
  // Where a trial costs more, they wait longer.
  History shared(true);
  for (int i = 0; i < 5000; ++i) shared.call(small_calls(), 50, 100);
  EXPECT_EQ(shared.collects(), 0);
  for (int i = 0; i < 20'000; ++i) shared.call(small_calls(), 50, 100);
  EXPECT_EQ(shared.contest().standings()[0].kept, Way::collect);
  // A call that takes long is followed by a trial at once.
  History slow;
  EXPECT_EQ(slow.call(small_calls(), 500'000, 1'000'000), 1'000'000);
  for (int i = 0; i < 4; ++i) slow.call(small_calls(), 500'000, 1'000'000);
  EXPECT_EQ(slow.collects(), 1);
}

// A program that makes one call of long pieces pays for nothing where it may have little to gain.
TEST(Contest, WhereClientsHaveCachesTheTrialOfLongPiecesBeginsWithTheMpi) {
  CallKind shorter = kLarge;
  shorter.piece = Contest::kLongPiece - 1;
  EXPECT_EQ(Contest(true).next(kLarge), Way::pass);
  EXPECT_EQ(Contest(true).settled(kLarge), Way::pass);
  EXPECT_EQ(Contest(true).next(shorter), Way::collect);
  EXPECT_EQ(Contest(false).next(kLarge), Way::collect);
}

// What is read back from a client's cache is over before a trial is paid for; what waits for servers is tried after a few calls.
TEST(Contest, WhereClientsHaveCachesLargeCallsOfLongPiecesAreTheMpisUntilTheyHaveTakenLongEnough) {
  History soon_over(true);
  for (int i = 0; i < 60; ++i) soon_over.call(kLarge, 5'000, 10'000);
  EXPECT_EQ(soon_over.collects(), 0);
  EXPECT_GT(soon_over.unasked(), 30);
  for (int i = 0; i < 200; ++i) soon_over.call(kLarge, 5'000, 10'000);
  EXPECT_EQ(soon_over.contest().standings()[0].kept, Way::collect);
  History slow(true);
  for (int i = 0; i < 4; ++i)
    slow.call(kLarge, 300'000, 400'000);  // three of them take a second; with the fourth the trial begins
  EXPECT_EQ(slow.collects(), 0);
  EXPECT_EQ(slow.unasked(), 0) << "long calls are asked about each time";
  for (int i = 0; i < 5; ++i) slow.call(kLarge, 300'000, 400'000);
  EXPECT_EQ(slow.collects(), 3);
  EXPECT_EQ(slow.contest().standings()[0].kept, Way::collect);
  CallKind shorter = kLarge;
  shorter.piece = Contest::kLongPiece - 1;
  History at_once(true);
  at_once.call(shorter, 50, 100);
  EXPECT_EQ(at_once.collects(), 1);
}

// What a trial leaves behind may make the MPI slower than it was, and that should not last.
TEST(Contest, LongCallsThatBecomeSlowerAreTriedAgainSoon) {
  History run;
  for (int i = 0; i < 20; ++i) run.call(kLarge, 11'000, 11'000);
  ASSERT_EQ(run.contest().standings()[0].kept, Way::pass);
  const int before = run.collects();
  for (int i = 0; i < 16; ++i) run.call(kLarge, 11'000, 18'000);
  EXPECT_GT(run.collects(), before);
  EXPECT_EQ(run.contest().standings()[0].kept, Way::collect);
  History brief;  // to ask costs some microseconds of these
  for (int i = 0; i < 400; ++i) brief.call(kLarge, 110, 100);
  EXPECT_GT(brief.unasked(), 300);
}

TEST(Contest, WhatIsOverSoonIsNotCollected) {
  History run;
  for (int i = 0; i < 100; ++i) run.call(small_calls(), 10, 100);
  EXPECT_EQ(run.collects(), 0);
  EXPECT_GT(run.unasked(), 90);
}

// Who collected has it in the cache: the reads of the first calls, whose data went both ways, do not show that.
TEST(Contest, ReadsOfWhatWasCollectedAreCollectedUnlessThatIsSlower) {
  CallKind read = small_calls();
  read.write = false;
  for (const bool collected : {false, true}) {
    for (const double slower : {1.0, 1.2}) {
      History run;
      for (int i = 0; i < 20; ++i) run.call(kLarge, collected ? 50 : 200, 100);
      const int before = run.collects();
      for (int i = 0; i < 40; ++i) run.call(read, 40'000 * slower, 40'000);
      const bool kept = run.contest().standings()[1].kept == Way::collect;
      EXPECT_EQ(kept, collected && slower == 1.0) << collected << slower;
      EXPECT_GT(run.collects(), before);
    }
  }
}

// Against the better way, known from the start: a few calls, and a small part of the time.
TEST(Contest, LosesLittleOnRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const double collected = uniform(random, 50, 5000);
    const double passed = collected * std::exp(uniform(random, -3, 3));
    const double noise = uniform(random, 0, 0.3);
    const int calls = std::uniform_int_distribution<int>(1, 4000)(random);
    History run;
    double cost = 0;
    double best = 0;
    double always_passed = 0;
    for (int i = 0; i < calls; ++i) {
      const double a = collected * (1 + noise * uniform(random, 0, 1));
      const double b = passed * (1 + noise * uniform(random, 0, 1));
      cost += run.call(kLarge, a, b);
      best += collected < passed ? a : b;
      always_passed += b;
    }
    const double most = std::max(collected, passed) * (1 + noise);
    // Ways that differ by less than the noise may be taken for each other.
    EXPECT_LE(cost, best * (1.04 + noise / 2) + 3 * most) << "seed " << seed;
    EXPECT_LE(cost, always_passed * (1.02 + noise / 2) + 3 * collected * (1 + noise)) << "seed " << seed;
  }
}

// What was right is not right for ever: the other way is found again.
TEST(Contest, FollowsWhenTheFasterWayChanges) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const double fast = uniform(random, 50, 500);
    const double slow = fast * uniform(random, 1.3, 3);
    const bool collects_first = seed % 2 == 0;
    History run;
    for (int i = 0; i < 100; ++i) run.call(kLarge, collects_first ? fast : slow, collects_first ? slow : fast);
    double cost = 0;
    constexpr int kAfter = 3000;
    for (int i = 0; i < kAfter; ++i) cost += run.call(kLarge, collects_first ? slow : fast, collects_first ? fast : slow);
    EXPECT_LE(cost, fast * kAfter * 1.35) << "seed " << seed;
  }
}

// Ranks hear the same and so decide the same, bit for bit, whatever they hear.
TEST(Contest, RanksThatHearTheSameDecideAlike) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Contest one;
    Contest other = one;
    for (int i = 0; i < 400; ++i) {
      CallKind kind = kLarge;
      kind.piece = static_cast<std::uint8_t>(random() % 20);
      const Way way = one.next(kind);
      ASSERT_EQ(way, other.next(kind)) << "seed " << seed;
      const std::uint32_t unasked = way == Way::pass ? one.unasked(kind) : 0;
      ASSERT_EQ(one.unasked(kind), other.unasked(kind)) << "seed " << seed;
      const std::uint64_t ns = random() >> (random() % 64);
      const std::int64_t bytes = static_cast<std::int64_t>(random() >> (1 + random() % 63));
      for (Contest* each : {&one, &other}) {
        each->begin(kind, way, unasked);
        each->took(kind, way, bytes, ns);
      }
      if (random() % 8 == 0) {
        for (Contest* each : {&one, &other}) each->step_aside(kind, each->unasked(kind));
      }
    }
  }
}

}  // namespace
}  // namespace iez::collective
