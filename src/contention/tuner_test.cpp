#include "contention/tuner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "contention/surface_test_support.hpp"

namespace iez::contention {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Surface = std::function<double(const Setting&)>;

constexpr Setting kDefault{2, Bytes::mib(1)};
constexpr Setting kBest{160, Bytes::mib(128)};

TuneSpace source_space() { return doubling_space(160, Bytes::mib(1), Bytes::mib(256)); }

Tuner make(const TuneSpace& space, const TunerOptions& options) {
  auto tuner = Tuner::make(space, options);
  EXPECT_TRUE(tuner) << tuner.error().message;
  return *std::move(tuner);
}

TuneResult run(const TuneSpace& space, const TunerOptions& options, const Surface& surface) {
  Tuner tuner = make(space, options);
  std::size_t asked = 0;
  while (const auto setting = tuner.next()) {
    EXPECT_TRUE(tuner.tell(*setting, {surface(*setting)}));
    if (++asked > space.points() * Tuner::kMaxRepeats) {
      ADD_FAILURE() << "it never ends";
      break;
    }
  }
  return tuner.result();
}

// Of a run that found something.
Setting chosen(const TuneResult& result) {
  EXPECT_TRUE(result.best);
  return result.best.value_or(Trial{}).setting;
}

double highest(const TuneSpace& space, const Surface& surface) {
  double most = 0;
  for (const std::uint32_t count : space.counts) {
    for (const Bytes size : space.sizes) most = std::max(most, surface({count, size}));
  }
  return most;
}

TEST(TuneSpace, Doubles) {
  const TuneSpace space = source_space();
  EXPECT_THAT(space.counts, ElementsAre(1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 160));
  EXPECT_EQ(space.sizes.size(), 9U);
  EXPECT_EQ(space.sizes.back(), Bytes::mib(256));
  EXPECT_THAT(doubling_space(1, Bytes::kib(64), Bytes::kib(64)).counts, ElementsAre(1));
  EXPECT_THAT(doubling_space(8, Bytes::kib(64), Bytes::kib(64)).counts, ElementsAre(1, 2, 4, 6, 8));
  EXPECT_EQ(doubling_space(8, Bytes::gib(1), Bytes::gib(64)).sizes.size(), 2U);  // 1 and 2 GiB: 4 are too many for Lustre
}

TEST(SourceSurface, HasThePrintedFigures) {
  const TuneSpace space = source_space();
  EXPECT_NEAR(source_surface(kDefault), 313e6, 1);
  EXPECT_NEAR(source_surface(kBest), 15609e6, 1);
  EXPECT_DOUBLE_EQ(highest(space, source_surface), source_surface(kBest));
  double by_size = 0;
  for (const Bytes size : space.sizes) by_size = std::max(by_size, source_surface({2, size}));
  EXPECT_NEAR(by_size, 395e6, 1);
  double by_count = 0;
  for (const std::uint32_t count : space.counts) by_count = std::max(by_count, source_surface({count, Bytes::mib(1)}));
  EXPECT_NEAR(by_count, 4075e6, 1);
}

TEST(Sweep, RunsEveryPointOnce) {
  const TuneSpace space = source_space();
  const TuneResult result = run(space, {.strategy = TuneStrategy::sweep}, source_surface);
  EXPECT_EQ(result.runs, 99U);
  EXPECT_EQ(result.trials.size(), 99U);
  EXPECT_EQ(chosen(result), kBest);
  EXPECT_TRUE(result.finished);
  EXPECT_FALSE(result.out_of_budget);
  EXPECT_EQ(result.trials[1].setting, (Setting{1, Bytes::mib(2)}));
}

TEST(Sweep, ShuffledBySeed) {
  const TuneSpace space = source_space();
  const TunerOptions options{.strategy = TuneStrategy::sweep, .standard = kDefault, .shuffle = 11};
  const TuneResult first = run(space, options, source_surface);
  const TuneResult again = run(space, options, source_surface);
  EXPECT_EQ(first.trials, again.trials);
  EXPECT_EQ(first.runs, 99U);
  EXPECT_EQ(first.trials.front().setting, kDefault);
  EXPECT_EQ(chosen(first), kBest);
  EXPECT_NE(run(space, {.strategy = TuneStrategy::sweep, .standard = kDefault, .shuffle = 12}, source_surface).trials,
            first.trials);
}

TEST(Search, FindsTheSourcesBestInAFifthOfTheRuns) {
  const TuneSpace space = source_space();
  const TuneResult result = run(space, {.standard = kDefault}, source_surface);
  EXPECT_EQ(chosen(result), kBest);
  EXPECT_LE(result.runs * 5, space.points());
  EXPECT_NEAR(result.gain, 15609.0 / 313.0, 1e-6);
  EXPECT_EQ(result.trials.front().setting, kDefault);
  EXPECT_TRUE(result.finished);
}

TEST(Search, FindsItOnTheFullGridOfCounts) {
  TuneSpace space = source_space();
  space.counts.clear();
  for (std::uint32_t count = 1; count <= 160; ++count) space.counts.push_back(count);
  const TuneResult result = run(space, {.standard = kDefault}, source_surface);
  EXPECT_EQ(chosen(result), kBest);
  EXPECT_LE(result.runs, 40U);  // of 1,440
}

struct NoiseRow {
  double noise;
  int hits;          // at least, of 200
  int within_5;      // at least: regret of at most 5 %
  double most_runs;  // on average
};

// Regret: how much slower than the true best the chosen setting truly is. Neighbours of the source's best are 2.7 % and 10 %
// below it, so noise of 5 % cannot but confuse them; what counts is that the choice is good.
TEST(Search, UnderNoise) {
  constexpr int kSeeds = 200;
  const TuneSpace space = source_space();
  const double best = highest(space, source_surface);
  for (const NoiseRow& row : {NoiseRow{0.02, 170, 200, 22}, NoiseRow{0.05, 110, 195, 25}, NoiseRow{0.10, 80, 190, 32}}) {
    int hits = 0;
    int within_5 = 0;
    std::size_t runs = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(fmt::format("noise {}, seed {}", row.noise, seed));
      Rng rng(seed);
      const auto noisy = [&](const Setting& setting) { return source_surface(setting) * noise_factor(rng, row.noise); };
      const TuneResult result = run(space, {.standard = kDefault, .noise = row.noise}, noisy);
      ASSERT_TRUE(result.best);
      const double regret = 1 - source_surface(chosen(result)) / best;
      hits += chosen(result) == kBest ? 1 : 0;
      within_5 += regret <= 0.05 ? 1 : 0;
      runs += result.runs;
      EXPECT_LE(regret, 0.25);
    }
    EXPECT_GE(hits, row.hits) << row.noise;
    EXPECT_GE(within_5, row.within_5) << row.noise;
    EXPECT_LE(static_cast<double>(runs) / kSeeds, row.most_runs) << row.noise;
  }
}

// Every hill whose top is near a point of the grid, turned and stretched: the search must end on the highest point.
TEST(Search, FindsShiftedAndTurnedHills) {
  const TuneSpace space = source_space();
  int tried = 0;
  int exact = 0;
  for (const double count : {1.0, 2.0, 5.0, 16.0, 40.0, 64.0, 160.0}) {
    for (const double mib : {1.0, 3.0, 8.0, 32.0, 128.0, 256.0}) {
      for (const double angle : {0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 2.8}) {
        for (const double stretch : {1.0, 2.0, 3.0}) {
          const Hill hill{count, mib, angle, stretch, 0.1};
          SCOPED_TRACE(fmt::format("top {} x {} MiB, angle {}, stretch {}", count, mib, angle, stretch));
          const TuneResult result = run(space, {.standard = kDefault}, hill);
          const double regret = 1 - hill(chosen(result)) / highest(space, hill);
          EXPECT_LE(result.runs, 22U);
          EXPECT_LE(regret, 0.02);
          ++tried;
          exact += regret < 1e-12 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GE(exact * 100, tried * 99) << exact << " of " << tried;
}

// Long diagonal ridges: not always the very top, but never far below it.
TEST(Search, FollowsRidges) {
  const TuneSpace space = source_space();
  for (const double angle : {std::numbers::pi / 4, 3 * std::numbers::pi / 4}) {
    for (const double count : {4.0, 16.0, 64.0, 160.0}) {
      for (const double mib : {2.0, 16.0, 128.0}) {
        const Hill ridge{count, mib, angle, 6, 0.3};
        SCOPED_TRACE(fmt::format("top {} x {} MiB, angle {}", count, mib, angle));
        const TuneResult result = run(space, {}, ridge);
        EXPECT_LE(1 - ridge(chosen(result)) / highest(space, ridge), 0.10);
        EXPECT_LE(result.runs, 30U);
      }
    }
  }
}

double octaves(const Setting& setting, double count, double mib) {
  return std::hypot(std::log2(setting.stripes / count),
                    std::log2(static_cast<double>(setting.stripe_size.count) / (1U << 20U) / mib));
}

// Surfaces that no quadratic fits: a cone, and a plateau with slopes around it.
TEST(Search, FindsTopsThatAreNotQuadratic) {
  const TuneSpace space = source_space();
  for (const double count : {1.0, 5.0, 16.0, 64.0, 160.0}) {
    for (const double mib : {1.0, 8.0, 32.0, 256.0}) {
      SCOPED_TRACE(fmt::format("top {} x {} MiB", count, mib));
      const auto cone = [&](const Setting& s) { return 1e9 * std::exp(-0.2 * octaves(s, count, mib)); };
      const auto plateau = [&](const Setting& s) { return 1e9 * std::exp(-0.2 * std::max(0.0, octaves(s, count, mib) - 1.5)); };
      const TuneResult on_cone = run(space, {}, cone);
      EXPECT_DOUBLE_EQ(cone(chosen(on_cone)), highest(space, cone));
      EXPECT_LE(on_cone.runs, 22U);
      const TuneResult on_plateau = run(space, {}, plateau);
      EXPECT_DOUBLE_EQ(plateau(chosen(on_plateau)), highest(space, plateau));
      EXPECT_LE(on_plateau.runs, 30U);
    }
  }
}

TEST(Search, OnAFlatSurfaceEndsEarlyWithTheFewestStripes) {
  const TuneResult result = run(source_space(), {}, [](const Setting&) { return 5e8; });
  EXPECT_LE(result.runs, 25U);
  EXPECT_TRUE(result.finished);
  for (const Trial& trial : result.trials) {
    EXPECT_GE(std::pair(trial.setting.stripes, trial.setting.stripe_size),
              std::pair(chosen(result).stripes, chosen(result).stripe_size));
  }
}

TEST(Search, SurvivesSpeedsOfZero) {
  const TuneResult none = run(source_space(), {}, [](const Setting&) { return 0.0; });
  EXPECT_TRUE(none.finished);
  EXPECT_EQ(none.gain, 1);
  const TuneResult some = run(source_space(), {}, [](const Setting& s) { return s.stripes < 16 ? 0.0 : source_surface(s); });
  EXPECT_EQ(chosen(some), kBest);
}

TEST(Search, SmallSpaces) {
  const TuneSpace point{{4}, {Bytes::mib(1)}};
  const TuneResult one = run(point, {}, source_surface);
  EXPECT_EQ(one.runs, 1U);
  EXPECT_EQ(chosen(one), (Setting{4, Bytes::mib(1)}));
  const TuneSpace line{{1, 2, 4, 8, 16, 32, 64, 128, 160}, {Bytes::mib(1)}};
  const TuneResult along = run(line, {}, source_surface);
  EXPECT_EQ(chosen(along), (Setting{160, Bytes::mib(1)}));
  EXPECT_LE(along.runs, 7U);
}

TEST(Search, SkipsWhatFails) {
  const TuneSpace space = source_space();
  // More than 100 stripes are refused: the best of the rest must be found.
  const auto refused = [](const Setting& setting) { return setting.stripes > 100; };
  Tuner tuner = make(space, {.standard = kDefault});
  std::set<std::pair<std::uint32_t, std::uint64_t>> failed;
  while (const auto setting = tuner.next()) {
    if (refused(*setting)) {
      EXPECT_TRUE(failed.emplace(setting->stripes, setting->stripe_size.count).second) << "asked for again";
      ASSERT_TRUE(tuner.tell_failed(*setting));
    } else {
      ASSERT_TRUE(tuner.tell(*setting, {source_surface(*setting)}));
    }
  }
  const TuneResult result = tuner.result();
  EXPECT_FALSE(failed.empty());
  EXPECT_EQ(chosen(result), (Setting{96, Bytes::mib(128)}));
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(result.trials, &Trial::failed)), failed.size());
}

TEST(Search, WhenEverythingFails) {
  Tuner tuner = make({{1, 2, 4}, {Bytes::mib(1), Bytes::mib(2)}}, {.noise = 0.1});
  std::size_t asked = 0;
  while (const auto setting = tuner.next()) {
    ASSERT_TRUE(tuner.tell_failed(*setting));
    ASSERT_LE(++asked, 6U);
  }
  EXPECT_EQ(asked, 6U);
  EXPECT_FALSE(tuner.result().best);
  EXPECT_TRUE(tuner.result().finished);
}

TEST(Tuner, ARunThatFailsOnceIsNeverChosen) {
  Tuner tuner = make({{1, 2}, {Bytes::mib(1)}}, {.strategy = TuneStrategy::sweep});
  ASSERT_TRUE(tuner.tell({1, Bytes::mib(1)}, {5}));
  ASSERT_TRUE(tuner.tell({2, Bytes::mib(1)}, {9}));
  ASSERT_TRUE(tuner.tell_failed({2, Bytes::mib(1)}));
  const TuneResult result = tuner.result();
  EXPECT_EQ(chosen(result), (Setting{1, Bytes::mib(1)}));
  EXPECT_EQ(result.trials[1], (Trial{{2, Bytes::mib(1)}, {9}, 1, true}));
  EXPECT_EQ(result.runs, 3U);
}

TEST(Tuner, AsksTheSameUntilTold) {
  Tuner tuner = make(source_space(), {.standard = kDefault});
  EXPECT_EQ(tuner.next(), kDefault);
  EXPECT_EQ(tuner.next(), kDefault);
  ASSERT_TRUE(tuner.tell({4, Bytes::mib(4)}, {100}));  // something else
  EXPECT_EQ(tuner.next(), kDefault);
  ASSERT_TRUE(tuner.tell(kDefault, {50}));
  EXPECT_NE(tuner.next(), kDefault);
  const TuneResult result = tuner.result();
  EXPECT_EQ(result.gain, 2);
  EXPECT_FALSE(result.finished);
}

TEST(Tuner, ResultDoesNotChangeTheQuestions) {
  const TuneSpace space = source_space();
  Tuner watched = make(space, {.noise = 0.05});
  Tuner plain = make(space, {.noise = 0.05});
  while (const auto setting = plain.next()) {
    (void)watched.result();  // only its side effects, of which there should be none
    ASSERT_EQ(watched.next(), setting);
    const BytesPerSecond speed{source_surface(*setting)};
    ASSERT_TRUE(plain.tell(*setting, speed));
    ASSERT_TRUE(watched.tell(*setting, speed));
  }
  EXPECT_EQ(watched.next(), std::nullopt);
}

TEST(Tuner, KeepsToItsBudget) {
  for (const TuneStrategy strategy : {TuneStrategy::sweep, TuneStrategy::search}) {
    const TuneResult result = run(source_space(), {.strategy = strategy, .standard = kDefault, .budget = 5}, source_surface);
    EXPECT_EQ(result.runs, 5U);
    EXPECT_TRUE(result.finished);
    EXPECT_TRUE(result.out_of_budget);
    EXPECT_TRUE(result.best);
  }
  EXPECT_FALSE(run(source_space(), {.budget = 5000}, source_surface).out_of_budget);
}

TEST(Tuner, MeansAndRepeats) {
  // Two settings that noise cannot tell apart are run again, up to the limit; a third, far below, is not.
  const TuneSpace space{{1, 2, 4}, {Bytes::mib(1)}};
  const auto speed = [](const Setting& s) { return s.stripes == 4 ? 1e8 : 1e9 + s.stripes; };
  const TuneResult result = run(space, {.strategy = TuneStrategy::sweep, .noise = 0.05}, speed);
  EXPECT_EQ(result.runs, 2 * Tuner::kMaxRepeats + 1);
  EXPECT_EQ(result.trials[2].runs, 1U);
  EXPECT_DOUBLE_EQ(result.best.value_or(Trial{}).mean.value, 1e9 + 2);
  // Without noise nothing is repeated.
  EXPECT_EQ(run(space, {.strategy = TuneStrategy::sweep}, speed).runs, 3U);
}

TEST(Tuner, RefusesWhatMakesNoSense) {
  const Bytes mib = Bytes::mib(1);
  EXPECT_THAT(Tuner::make({{}, {mib}}, {}).error().message, HasSubstr("0 counts and 1 sizes"));
  EXPECT_THAT(Tuner::make({{2, 2}, {mib}}, {}).error().message, HasSubstr("stripe counts must ascend"));
  EXPECT_THAT(Tuner::make({{2}, {mib, mib}}, {}).error().message, HasSubstr("stripe sizes must ascend"));
  EXPECT_THAT(Tuner::make({{0, 2}, {mib}}, {}).error().message, HasSubstr("stripe counts 0 to 2"));
  EXPECT_THAT(Tuner::make({{2001}, {mib}}, {}).error().message, HasSubstr("expected 1 to 2000"));
  EXPECT_THAT(Tuner::make({{2}, {Bytes{1000}}}, {}).error().message, HasSubstr("stripe size 1000"));
  EXPECT_FALSE(Tuner::make({{2}, {Bytes::gib(4)}}, {}));
  EXPECT_THAT(Tuner::make({{2}, {mib}}, {.standard = Setting{3, mib}}).error().message,
              HasSubstr("standard: 3 stripes of 1.00 MiB is not a point"));
  EXPECT_THAT(Tuner::make({{2}, {mib}}, {.noise = 1}).error().message, HasSubstr("noise: 1"));
  EXPECT_FALSE(Tuner::make({{2}, {mib}}, {.noise = -0.1}));

  Tuner tuner = make({{2}, {mib}}, {});
  EXPECT_THAT(tuner.tell({1, mib}, {5}).error().message, HasSubstr("1 stripes of 1.00 MiB"));
  EXPECT_FALSE(tuner.tell_failed({2, Bytes::mib(2)}));
  EXPECT_THAT(tuner.tell({2, mib}, {-1}).error().message, HasSubstr("speed -1"));
  EXPECT_FALSE(tuner.tell({2, mib}, {std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_EQ(tuner.result().runs, 0U);
}

}  // namespace
}  // namespace iez::contention
