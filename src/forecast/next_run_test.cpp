#include "forecast/next_run.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::forecast {
namespace {

using ::testing::HasSubstr;

// Runs, and the names they point to.
class Runs {
 public:
  RunSeen& start(std::uint32_t ranks) {
    runs_.push_back({.ranks = ranks});
    return runs_.back();
  }
  void write(std::string name, std::uint64_t bytes, std::int32_t rank, std::uint32_t ranks = 1, std::uint32_t stripes = 4) {
    names_.push_back(std::move(name));
    runs_.back().files.push_back(
        {.name = names_.back(), .bytes = {bytes}, .stripe_count = stripes, .rank = ranks > 1 ? -1 : rank, .ranks = ranks});
  }
  void in_phase(std::int32_t phase) { runs_.back().files.back().phase = phase; }  // the last one
  // Ranks race: the order of creation tells nothing.
  void shuffle(std::uint64_t seed) {
    Rng rng(seed);
    auto& files = runs_.back().files;
    for (std::size_t i = files.size(); i > 1; --i) std::swap(files[i - 1], files[rng.below(i)]);
  }
  std::span<const RunSeen> all() const { return runs_; }

 private:
  std::deque<std::string> names_;
  std::vector<RunSeen> runs_;
};

const PredictedFile* find(const NextRun& next, std::string_view name) {
  const auto found = std::ranges::find(next.files, name, &PredictedFile::name);
  return found == next.files.end() ? nullptr : &*found;
}

TEST(NextRun, OneRunIsExpectedAgain) {
  Runs runs;
  runs.start(4);
  for (int rank = 0; rank < 4; ++rank)
    runs.write(fmt::format("/s/testFile.{:08}", rank), 1000U + static_cast<unsigned>(rank), rank);
  runs.write("/s/log", 77, 0, 1, 1);
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->files.size(), 5U);
  for (int rank = 0; rank < 4; ++rank) {
    const auto* file = find(*next, fmt::format("/s/testFile.{:08}", rank));
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->bytes.count, 1000U + static_cast<unsigned>(rank));
    EXPECT_GE(file->high, file->bytes);
    EXPECT_EQ(file->rank, rank);
    EXPECT_EQ(file->stripe_count, 4U);
    EXPECT_FALSE(file->shared);
  }
  ASSERT_NE(find(*next, "/s/log"), nullptr);
  EXPECT_EQ(find(*next, "/s/log")->stripe_count, 1U);
  EXPECT_FALSE(next->last_run);
  ASSERT_EQ(next->notes.size(), 1U);
  EXPECT_THAT(next->notes[0], HasSubstr("only one run"));
}

TEST(NextRun, RacingRanksDoNotDisturb) {
  Runs runs;
  for (unsigned run = 0; run < 6; ++run) {
    runs.start(8);
    for (int rank = 0; rank < 8; ++rank) {
      for (unsigned step = 0; step < 3; ++step) {
        runs.write(fmt::format("/s/ckpt.{}.{:03}", step * 100, rank),
                   1'000'000U * (static_cast<unsigned>(rank) + 1) + 1000U * run, rank);
      }
    }
    runs.shuffle(run + 1);
  }
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->files.size(), 24U);
  for (const PredictedFile& file : next->files) {
    EXPECT_NEAR(static_cast<double>(file.bytes.count), 1e6 * (file.rank + 1) + 6000, 1.0) << file.name;
  }
  ASSERT_TRUE(next->last_run);
  EXPECT_EQ(next->last_run->met, 24U);
  EXPECT_EQ(next->last_run->written, 24U);
  EXPECT_EQ(next->last_run->predicted, 24U);
  EXPECT_GT(*next->last_run->accuracy, 99.9);
  EXPECT_EQ(next->last_run->stripe_counts, 24U);
  EXPECT_EQ(next->last_run->modes, 24U);
}

TEST(NextRun, StepsThatGoOnFromRunToRun) {
  Runs runs;
  for (unsigned run = 0; run < 4; ++run) {
    runs.start(2);
    for (unsigned step = 0; step < 5; ++step) {
      for (int rank = 0; rank < 2; ++rank) {
        runs.write(fmt::format("/s/plt{:05}.{}", (run * 5 + step) * 10, rank), 500'000 + 1000 * (run * 5 + step), rank);
      }
    }
  }
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->files.size(), 10U);
  const auto* file = find(*next, "/s/plt00200.1");
  ASSERT_NE(file, nullptr);
  EXPECT_NEAR(static_cast<double>(file->bytes.count), 520'000, 200);
}

TEST(NextRun, MoreRanksPerProcessAndShared) {
  Runs runs;
  runs.start(8);
  for (int rank = 0; rank < 8; ++rank) runs.write(fmt::format("/s/part.{:04}", rank), 1'000'000, rank);
  runs.write("/s/all.h5", 8'000'000, -1, 8);
  const auto next = predict_next_run(runs.all(), {.ranks = 16});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->files.size(), 17U);
  ASSERT_NE(find(*next, "/s/part.0015"), nullptr);
  EXPECT_EQ(find(*next, "/s/part.0015")->bytes.count, 1'000'000U);
  ASSERT_NE(find(*next, "/s/all.h5"), nullptr);
  EXPECT_EQ(find(*next, "/s/all.h5")->bytes.count, 16'000'000U);
  EXPECT_TRUE(find(*next, "/s/all.h5")->shared);
  EXPECT_EQ(next->ranks, 16U);
  EXPECT_THAT(next->notes.back(), HasSubstr("no run had 16 ranks"));
}

TEST(NextRun, StepsArePhases) {
  Runs runs;
  runs.start(3);
  for (int step = 0; step < 2; ++step) {
    for (int rank = 0; rank < 3; ++rank) {
      runs.write(fmt::format("/s/ckpt.{}.{}", step, rank), 1000, rank);
      runs.in_phase(2 * step);  // something else is written in between
    }
  }
  runs.write("/s/log", 10, 0);
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_EQ(next->files.size(), 7U);
  for (const PredictedFile& file : next->files) {
    EXPECT_EQ(file.phase, file.name == "/s/log" ? -1 : 2 * static_cast<std::int32_t>(file.step)) << file.name;
  }
}

TEST(NextRun, PartsOfAStepThatAreWrittenOneAfterTheOtherArePhases) {
  Runs runs;
  runs.start(4);
  for (int step = 0; step < 3; ++step) {
    for (int part = 0; part < 4; ++part) {
      runs.write(fmt::format("/s/plt.{}.{}", step * 10, part), 1000, -1, 4);
      runs.in_phase(4 * step + part);
    }
  }
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_EQ(next->files.size(), 12U);
  std::vector<std::int32_t> phases;
  for (const PredictedFile& file : next->files) phases.push_back(file.phase);
  std::ranges::sort(phases);
  EXPECT_THAT(phases, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(NextRun, FilesOfAStepThatNothingTellsApartHaveOnePhase) {
  Runs runs;
  runs.start(4);
  const std::vector<std::string> tails{"x8Kd0a", "Zp3qLm", "a91bTT", "qqW2e4"};
  for (std::size_t i = 0; i < tails.size(); ++i) {
    runs.write("/s/tmp." + tails[i], 1000, -1, 1);
    runs.in_phase(i == 0 ? 0 : 1);
  }
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_EQ(next->files.size(), 1U);
  EXPECT_EQ(next->files[0].phase, 1);
}

TEST(NextRun, StepsBeyondThoseSeenGoOn) {
  Runs runs;
  for (const unsigned ranks : {2U, 3U}) {  // that of two ranks stopped earlier
    runs.start(ranks);
    for (unsigned step = 0; step < 2 * (ranks - 1); ++step) {
      for (unsigned part = 0; part < ranks; ++part) {
        runs.write(fmt::format("/s/ckpt.{}.{}", step, part), 1000, static_cast<std::int32_t>(part));
        runs.in_phase(static_cast<std::int32_t>(step * ranks + part));
      }
    }
  }
  const auto next = predict_next_run(runs.all(), {.ranks = 2});
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_EQ(next->files.size(), 8U);
  for (const PredictedFile& file : next->files) {
    EXPECT_EQ(file.phase, static_cast<std::int32_t>(2 * file.step) + file.rank) << file.name;
  }
}

TEST(NextRun, StrongScalingIsLearnt) {
  Runs runs;
  for (const unsigned ranks : {4U, 8U}) {
    runs.start(ranks);
    for (unsigned rank = 0; rank < ranks; ++rank)
      runs.write(fmt::format("/s/d.{}", rank), 64'000'000 / ranks, static_cast<int>(rank));
  }
  const auto next = predict_next_run(runs.all(), {.ranks = 32});
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_EQ(next->templates.size(), 1U);
  EXPECT_TRUE(next->templates[0].fitted);
  EXPECT_DOUBLE_EQ(next->templates[0].exponent, -1);
  EXPECT_EQ(next->files.size(), 32U);
  for (const PredictedFile& file : next->files) EXPECT_EQ(file.bytes.count, 2'000'000U) << file.name;
}

TEST(NextRun, ALargerProblemGrowsDataFilesOnly) {
  Runs runs;
  runs.start(2);
  runs.write("/s/data.0", 1'000'000, 0);
  runs.write("/s/data.1", 1'000'000, 1);
  runs.write("/s/README", 500, 0);
  const auto next = predict_next_run(runs.all(), {.scale = 2});
  ASSERT_TRUE(next);
  EXPECT_EQ(find(*next, "/s/data.1")->bytes.count, 2'000'000U);
  EXPECT_EQ(find(*next, "/s/README")->bytes.count, 500U);
}

TEST(NextRun, RunDirectoriesThatFollowNoRuleStayOpenAndAreMet) {
  Runs runs;
  for (const std::string_view job : {"48127", "50411", "50999"}) {
    runs.start(3);
    for (int rank = 0; rank < 3; ++rank) runs.write(fmt::format("/scratch/run.{}/out.{}", job, rank), 4096, rank);
  }
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_EQ(next->files.size(), 3U);
  EXPECT_EQ(next->files[0].name, "/scratch/run.*/out.0");
  EXPECT_TRUE(next->files[0].open);
  Runs then;
  then.start(3);
  for (int rank = 0; rank < 3; ++rank) then.write(fmt::format("/scratch/run.77777/out.{}", rank), 4096, rank);
  const Score met = score(*next, then.all()[0]);
  EXPECT_EQ(met.met, 3U);
  EXPECT_DOUBLE_EQ(*met.accuracy, 100);
}

TEST(NextRun, RandomPartsWithinARunAreCounted) {
  Runs runs;
  Rng rng(12);
  SCOPED_TRACE("seed 12");
  for (int run = 0; run < 3; ++run) {
    runs.start(4);
    for (int rank = 0; rank < 4; ++rank) {
      std::string word = "x7";
      for (int i = 0; i < 6; ++i)
        word += rng.chance(0.5) ? static_cast<char>('a' + rng.below(26)) : static_cast<char>('0' + rng.below(10));
      runs.write(fmt::format("/s/out.{}.dat", word), 1000, rank);
    }
  }
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_EQ(next->files.size(), 1U);
  EXPECT_EQ(next->files[0].name, "/s/out.*.dat");
  EXPECT_EQ(next->files[0].files, 4U);
  EXPECT_EQ(next->files[0].rank, -1);
  EXPECT_EQ(next->total.count, 4000U);
  EXPECT_EQ(next->last_run->predicted, 4U);
  EXPECT_EQ(next->last_run->met, 4U);
}

TEST(NextRun, FilesOfOneOldRunAreForgotten) {
  Runs runs;
  for (int run = 0; run < 5; ++run) {
    runs.start(1);
    runs.write("/s/result", 100, 0);
    if (run == 0) runs.write("/s/core", 1'000'000, 0);
  }
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next);
  EXPECT_EQ(find(*next, "/s/core"), nullptr);
  EXPECT_NE(find(*next, "/s/result"), nullptr);
}

TEST(NextRun, ScoreCountsWhatWasMissed) {
  NextRun said;
  said.files.push_back({.name = "/a", .bytes = {90}, .high = {110}, .stripe_count = 2});
  said.files.push_back({.name = "/never", .bytes = {5}, .high = {5}});
  Runs then;
  then.start(1);
  then.write("/a", 100, 0, 1, 2);
  then.write("/b", 100, 0, 1, 2);
  const Score result = score(said, then.all()[0]);
  EXPECT_EQ(result.predicted, 2U);
  EXPECT_EQ(result.written, 2U);
  EXPECT_EQ(result.met, 1U);
  EXPECT_DOUBLE_EQ(*result.accuracy, 90);
  EXPECT_DOUBLE_EQ(*result.by_weight, 45);
  EXPECT_EQ(result.stripe_known, 1U);
  EXPECT_EQ(result.stripe_counts, 1U);
  EXPECT_EQ(result.within, 1U);
}

TEST(NextRun, NothingToLearnFromIsAnError) {
  EXPECT_FALSE(predict_next_run({}));
  Runs runs;
  runs.start(4);
  EXPECT_FALSE(predict_next_run(runs.all()));
}

TEST(NextRun, TooManyFilesAreRefused) {
  Runs runs;
  runs.start(100);
  for (int rank = 0; rank < 100; ++rank) runs.write(fmt::format("/s/f.{}", rank), 1, rank);
  const auto next = predict_next_run(runs.all(), {.ranks = 1000, .max_files = 500});
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Errc::limit);
}

TEST(NextRun, SearchesAreCounted) {
  Runs runs;
  Rng rng(5);
  for (int run = 0; run < 14; ++run) {
    runs.start(4);
    for (int rank = 0; rank < 4; ++rank) runs.write(fmt::format("/s/f.{}", rank), 1'000'000 + rng.below(100'000), rank);
  }
  const auto few = predict_next_run(runs.all(), {.max_searches = 2});
  ASSERT_TRUE(few);
  EXPECT_THAT(few->notes.back(), HasSubstr("more than 2 series"));
  const auto enough = predict_next_run(runs.all());
  ASSERT_TRUE(enough);
  EXPECT_TRUE(enough->notes.empty());
  for (const PredictedFile& file : enough->files) {
    EXPECT_GE(file.bytes.count, 900'000U);
    EXPECT_LE(file.bytes.count, 1'200'000U);
  }
}

// Histories of one step a run, and of several: whatever was skipped, the very next run is predicted from the last number and the
// usual stride, and so are all behind it.
TEST(NextRun, NumbersGoOnBehindAGap) {
  const std::uint64_t seed = 20'261;
  Rng rng(seed);
  for (int trial = 0; trial < 300; ++trial) {
    const std::uint64_t stride = trial % 3 == 0 ? 1 : rng.between(1, 50);
    const std::uint64_t steps = rng.between(1, 3);  // of a run
    const std::uint64_t before = rng.between(stride == 1 ? 2 : 3, 7);
    const std::uint64_t gap = stride * rng.between(1, 12);
    SCOPED_TRACE(fmt::format("seed {}, trial {}: stride {}, {} steps, {} runs, then a gap of {}", seed, trial, stride, steps,
                             before, gap));
    std::uint64_t number = rng.below(100);
    Runs runs;
    const auto write = [&] {
      runs.start(3);
      for (std::uint64_t step = 0; step < steps; ++step) {
        for (int rank = 0; rank < 3; ++rank)
          runs.write(fmt::format("/s/ckpt_STEP{}_{}", number + step * stride, rank),
                     1'000'000U * (static_cast<unsigned>(rank) + 1), rank);
      }
      number += steps * stride;
    };
    for (std::uint64_t run = 0; run < before; ++run) write();
    number += gap;
    for (int run = 0; run < 3; ++run) {
      write();
      const auto next = predict_next_run(runs.all());
      ASSERT_TRUE(next) << next.error().message;
      ASSERT_EQ(next->files.size(), 3 * steps);
      for (std::uint64_t step = 0; step < steps; ++step) {
        for (int rank = 0; rank < 3; ++rank) {
          const auto* file = find(*next, fmt::format("/s/ckpt_STEP{}_{}", number + step * stride, rank));
          ASSERT_NE(file, nullptr) << next->files[0].name;
          EXPECT_FALSE(file->open);
          EXPECT_EQ(file->bytes.count, 1'000'000U * (static_cast<unsigned>(rank) + 1));
        }
      }
    }
  }
}

// Numbers of jobs follow no rule, and a step that is made twice does not go on by nothing.
TEST(NextRun, NumbersOfRuns) {
  struct Row {
    std::vector<std::uint64_t> numbers;
    std::string next;  // "*": not to be known
  };
  const std::vector<Row> rows{
      {.numbers = {1, 2, 4}, .next = "5"},
      {.numbers = {1, 3, 4}, .next = "5"},
      {.numbers = {10, 20, 40}, .next = "50"},
      {.numbers = {1, 3}, .next = "*"},
      {.numbers = {1, 2, 2, 3}, .next = "4"},
      {.numbers = {1, 2, 3, 3}, .next = "4"},
      {.numbers = {1, 2, 3, 4, 2}, .next = "3"},
      {.numbers = {10, 20, 30, 40, 45, 50}, .next = "55"},
      {.numbers = {1, 2, 4, 6, 7}, .next = "8"},
      {.numbers = {9, 8, 7}, .next = "6"},
      {.numbers = {4711, 4732, 4780}, .next = "*"},
      {.numbers = {4711, 4712, 5780}, .next = "*"},
      {.numbers = {4711, 4732, 4780, 4799, 4911}, .next = "*"},
      {.numbers = {5, 5, 4, 4, 9}, .next = "*"},
  };
  for (const Row& row : rows) {
    Runs runs;
    for (const std::uint64_t number : row.numbers) {
      runs.start(2);
      for (int rank = 0; rank < 2; ++rank) runs.write(fmt::format("/s/out{}.{}", number, rank), 1000, rank);
    }
    const auto next = predict_next_run(runs.all());
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_NE(find(*next, fmt::format("/s/out{}.1", row.next)), nullptr)
        << fmt::format("{}", row.numbers.back()) << " -> " << next->files[0].name << ", expected " << row.next;
  }
}

TEST(NextRun, StepsThatAreWrittenAnewEachRunDoNotGoOn) {
  Runs runs;
  for (const unsigned first : {0U, 3U, 0U, 0U}) {  // one restarted in the middle
    runs.start(1);
    for (unsigned step = 0; step < 3; ++step) runs.write(fmt::format("/s/ckpt.{}", first + step), 1000, 0);
  }
  const auto next = predict_next_run(runs.all());
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_EQ(next->files.size(), 3U);
  EXPECT_NE(find(*next, "/s/ckpt.0"), nullptr) << next->files[0].name;
}

}  // namespace
}  // namespace iez::forecast
