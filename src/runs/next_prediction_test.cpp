#include "runs/next_prediction.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

namespace iez::runs {
namespace {

PastRun run_of(store::Id id, std::vector<store::FileRow> files, std::int32_t status = 0) {
  PastRun run;
  run.run.id = id;
  run.run.application = 7;
  run.run.ranks = 4;
  run.run.exit_status = status;
  run.run.files_kept = files.size();
  for (const store::FileRow& file : files) run.run.written += file.written;
  run.files = std::move(files);
  return run;
}

store::FileRow file(std::string name, std::uint64_t mib, std::string renamed = "") {
  return {.name = std::move(name),
          .renamed = std::move(renamed),
          .written = Bytes::mib(mib),
          .read = {},
          .stripe_count = 2,
          .stripe_size = {},
          .rank = -1,
          .ranks = 1,
          .created = true};
}

const store::PredictionRow* row_of(const store::Prediction& prediction, const std::string& name) {
  const auto found = std::ranges::find(prediction.rows, name, &store::PredictionRow::name);
  return found == prediction.rows.end() ? nullptr : &*found;
}

TEST(NextPrediction, OneRunIsRepeated) {
  const std::vector runs{run_of(3, {file("/s/out.1", 3), file("/s/out.2", 6), file("/s/log", 0)})};
  const auto prediction = predict(runs, {.reserve = 0.9, .now_ns = 55});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(prediction->application, 7);
  EXPECT_EQ(prediction->run, 3);
  EXPECT_EQ(prediction->made_ns, 55);
  const auto* const row = row_of(*prediction, "/s/out.2");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->bytes, Bytes::mib(6));
  EXPECT_EQ(row->stripe_count, 2U);
  EXPECT_GE(row->high, row->bytes);
  EXPECT_EQ(row->created_as, "");
  EXPECT_NE(row_of(*prediction, "/s/log"), nullptr);
}

TEST(NextPrediction, FilesThatWereOnlyReadAreNotForetold) {
  store::FileRow read = file("/s/in", 0);
  read.created = false;
  read.read = Bytes::mib(5);
  const std::vector runs{run_of(1, {read, file("/s/out", 1)})};
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction);
  EXPECT_EQ(prediction->rows.size(), 1U);
}

TEST(NextPrediction, TemporaryNamesFollowTheRule) {
  std::vector<store::FileRow> files;
  for (int i = 0; i < 6; ++i) files.push_back(file(fmt::format("/s/ckpt.{}.tmp", i), 2, fmt::format("/s/ckpt.{}", i)));
  const std::vector runs{run_of(1, files)};
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction);
  const auto* const row = row_of(*prediction, "/s/ckpt.3");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->created_as, "/s/ckpt.3.tmp");
}

TEST(NextPrediction, RandomTemporaryNamesBecomeAPattern) {
  const std::vector<std::string> tails{"x8Kd0a", "Zp3qLm", "a91bTT", "qqW2e4", "0oIuY7", "Mn5bVc"};
  std::vector<store::FileRow> files;
  for (std::size_t i = 0; i < tails.size(); ++i) {
    files.push_back(file(fmt::format("/s/.ckpt.{}.{}", i, tails[i]), 2, fmt::format("/s/ckpt.{}", i)));
  }
  const std::vector runs{run_of(1, files)};
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction);
  const auto open = std::ranges::find(prediction->rows, true, &store::PredictionRow::open);
  ASSERT_NE(open, prediction->rows.end());
  EXPECT_EQ(open->files, tails.size());
  EXPECT_NE(open->created_as.find("*}"), std::string::npos) << open->created_as;
  EXPECT_EQ(open->bytes, Bytes::mib(2));
}

TEST(NextPrediction, NoNameTwice) {
  const std::vector runs{run_of(1, {file("/s/a", 1), file("/s/b", 1, "/s/a")}),
                         run_of(2, {file("/s/a", 1), file("/s/b", 1, "/s/a")})};
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction);
  std::vector<std::string> names;
  for (const auto& row : prediction->rows) names.push_back(row.created_as.empty() ? row.name : row.created_as);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(NextPrediction, NothingWrittenIsNoPrediction) {
  EXPECT_FALSE(predict({}, {}));
  const std::vector runs{run_of(1, {})};
  EXPECT_FALSE(predict(runs, {}));
}

TEST(NextPrediction, ScoreOfWhatCame) {
  const std::vector runs{run_of(1, {file("/s/a", 10), file("/s/b", 10)})};
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction);
  const std::vector<store::FileRow> same{file("/s/a", 10), file("/s/b", 10)};
  EXPECT_DOUBLE_EQ(score(*prediction, same, Bytes::mib(1)).accuracy.value_or(0), 100);
  const std::vector<store::FileRow> half{file("/s/a", 20), file("/s/b", 10)};
  EXPECT_DOUBLE_EQ(score(*prediction, half, Bytes::mib(1)).accuracy.value_or(0), 75);
  const std::vector<store::FileRow> other{file("/s/x", 20)};
  EXPECT_FALSE(score(*prediction, other, Bytes::mib(1)).accuracy);
  EXPECT_EQ(score(*prediction, other, Bytes::mib(1)).met, 0U);
}

// Twenty checkpoints as foretold and a log of a hundredth of what was: sizes were right. What is planned, small or not, counts;
// so does what was to be small, and came large.
TEST(NextPrediction, SmallFilesAreNotScored) {
  std::vector<store::FileRow> files;
  for (int i = 0; i < 20; ++i) files.push_back(file(fmt::format("/s/ckpt.{}", i), 2));
  files.push_back(file("/s/log", 0));
  files.back().written = Bytes{1000};
  const std::vector runs{run_of(1, files)};
  auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction);
  const auto log = std::ranges::find(prediction->rows, "/s/log", &store::PredictionRow::name);
  ASSERT_NE(log, prediction->rows.end());
  log->left_alone = true;
  files.back().written = Bytes{10};
  const auto scored = [&] { return score(*prediction, files, Bytes::mib(1)); };
  EXPECT_DOUBLE_EQ(scored().accuracy.value_or(0), 100);
  EXPECT_EQ(scored().predicted, 20U);
  EXPECT_EQ(scored().met, 20U);
  log->left_alone = false;
  EXPECT_LT(scored().accuracy.value_or(0), 0);
  log->left_alone = true;
  files.back().written = Bytes::mib(2);
  EXPECT_EQ(scored().met, 21U);
  EXPECT_NEAR(scored().accuracy.value_or(0), 100 * 20.0 / 21, 0.1);
}

store::Run done(bool well, bool placed = false, std::uint64_t planned = 0, std::uint64_t unplanned = 0) {
  store::Run run;
  run.exit_status = well ? 0 : 1;
  run.mode = placed ? store::RunMode::place : store::RunMode::learn;
  run.planned = planned;
  run.unplanned = unplanned;
  run.written = Bytes{1};
  run.files_kept = 1;
  return run;
}

TEST(NextPrediction, WhichRunsTeach) {
  using Positions = std::vector<std::size_t>;
  const auto chosen = [](const std::vector<store::Run>& runs, std::size_t history) {
    return runs_to_learn_from(runs, history, {.unpredicted = 0.5, .size = 0.25});
  };
  EXPECT_EQ(chosen({}, 3), Positions{});
  EXPECT_EQ(chosen({done(true), done(true), done(true), done(true)}, 3), (Positions{2, 1, 0}));
  EXPECT_EQ(chosen({done(true), done(false), done(true)}, 3), (Positions{2, 0}));
  EXPECT_EQ(chosen({done(false), done(false)}, 3), (Positions{0}));
  // The run whose plan did not fit shows the new ways; those before it do not count any more.
  EXPECT_EQ(chosen({done(true), done(true, true, 1, 9), done(true), done(true)}, 3), (Positions{1, 0}));
  EXPECT_EQ(chosen({done(true), done(true, true, 9, 1), done(true)}, 3), (Positions{2, 1, 0}));
}

TEST(NextPrediction, ARunThatOnlySkippedNumbersEndsNoHistory) {
  const std::vector<store::Run> runs{done(true, true, 1, 9), done(true), done(true)};
  const auto chosen = [&](bool skipped) {
    return runs_to_learn_from(runs, 3, {.unpredicted = 0.5, .size = 0.25}, [&](std::size_t newer, std::size_t older) {
      EXPECT_EQ(std::pair(newer, older), std::pair(std::size_t{0}, std::size_t{1}));
      return skipped;
    });
  };
  EXPECT_EQ(chosen(true), (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(chosen(false), std::vector<std::size_t>{0});
}

TEST(NextPrediction, OnlyNumbersDiffer) {
  using Names = std::vector<std::pair<std::string, std::uint64_t>>;
  const auto rows = [](const Names& names) {
    std::vector<store::FileRow> out;
    for (const auto& [name, mib] : names) out.push_back(file(name, mib));
    return out;
  };
  const auto differ = [&](const Names& before, const Names& now) {
    return only_numbers_differ(rows(before), rows(now), Bytes::mib(1), {.unpredicted = 0.5, .size = 0.25});
  };
  const Names one{{"/s/ckpt_STEP1_0", 4}, {"/s/ckpt_STEP1_1", 8}, {"/s/log", 0}};
  EXPECT_TRUE(differ(one, {{"/s/ckpt_STEP4_0", 4}, {"/s/ckpt_STEP4_1", 8}, {"/s/other", 0}})) << "small files do not matter";
  EXPECT_TRUE(differ(one, {{"/s/ckpt_STEP17_0", 4}, {"/s/ckpt_STEP17_1", 9}}));
  EXPECT_FALSE(differ(one, {{"/s/ckpt_STEP4_0", 40}, {"/s/ckpt_STEP4_1", 80}})) << "other sizes";
  EXPECT_FALSE(differ(one, {{"/s/ckpt_STEP4_0", 12}})) << "another count";
  EXPECT_FALSE(differ(one, {{"/s/ckpt_STEP4_0", 4}, {"/s/ckpt_STEP5_0", 8}})) << "other combinations";
  EXPECT_FALSE(differ({{"/s/a.1", 4}, {"/s/a.2", 4}}, {{"/s/b.1", 4}, {"/s/b.2", 4}})) << "another word";
  EXPECT_FALSE(differ({{"/s/x", 4}}, {{"/s/y", 4}}));
  EXPECT_FALSE(differ({}, {}));
  EXPECT_TRUE(differ({{"/s/p10.0", 4}, {"/s/p20.0", 4}}, {{"/s/p50.0", 4}, {"/s/p60.0", 4}})) << "two steps a run";
}

TEST(NextPrediction, PhasesGoOnAndReadingTogetherIsOne) {
  std::vector<store::FileRow> files;
  for (int step = 0; step < 2; ++step) {
    for (int rank = 0; rank < 3; ++rank) {
      files.push_back(file(fmt::format("/s/ckpt.{}.{}", step, rank), 4));
      files.back().phase = step;
      files.back().rank = rank;
      if (step == 1) files.back().read_phase = 0;
    }
  }
  std::vector runs{run_of(1, files)};
  runs[0].run.ranks = 3;
  runs[0].run.phases = {{.seconds = 1.5, .bytes = Bytes::mib(12), .files = 3},
                        {.seconds = 2.5, .bytes = Bytes::mib(12), .files = 3},
                        {.reads = true, .seconds = 0.5, .bytes = Bytes::mib(12), .files = 3}};
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction) << prediction.error().message;
  ASSERT_EQ(prediction->rows.size(), 6U);
  for (const store::PredictionRow& row : prediction->rows) {
    const bool second = row.name.find("ckpt.1.") != std::string::npos;
    EXPECT_EQ(row.phase, second ? 1U : 0U) << row.name;
    EXPECT_EQ(row.read_phase, second ? 2 : -1) << row.name;
  }
  EXPECT_EQ(prediction->phase_seconds, (std::vector<double>{1.5, 2.5, 0.5}));
}

store::FileRow read_only(std::string name, std::uint64_t mib, std::uint32_t readers, std::int32_t phase = 0) {
  return {.name = std::move(name), .read = Bytes::mib(mib), .stripe_count = 1, .ranks = readers, .read_phase = phase};
}

TEST(NextPrediction, WhatOneWritesAndManyReadIsShared) {
  auto made = run_of(1, {file("/s/mesh", 64), file("/s/own", 64)});
  made.files[0].rank = made.files[1].rank = 0;
  const auto used = run_of(2, {read_only("/s/mesh", 64, 8), read_only("/s/own", 64, 1), file("/s/out", 4)});
  const auto prediction = predict(std::vector{made, used}, {});
  ASSERT_TRUE(prediction) << prediction.error().message;
  const auto* const mesh = row_of(*prediction, "/s/mesh");
  ASSERT_NE(mesh, nullptr);
  EXPECT_TRUE(mesh->shared);
  EXPECT_EQ(mesh->rank, -1);
  EXPECT_GE(mesh->read_phase, 0);
  const auto* const own = row_of(*prediction, "/s/own");
  ASSERT_NE(own, nullptr);
  EXPECT_FALSE(own->shared);
  EXPECT_EQ(own->rank, 0);
}

// Checkpoints of four ranks; phases are the steps of the run.
std::vector<store::FileRow> checkpoints(const std::vector<std::string>& steps) {
  std::vector<store::FileRow> files;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (int rank = 0; rank < 4; ++rank) {
      files.push_back(file(fmt::format("/s/ckpt.{}.{}", steps[step], rank), 4));
      files.back().rank = rank;
      files.back().phase = static_cast<std::int32_t>(step);
    }
  }
  return files;
}

// The second run began where the first one had ended.
std::vector<PastRun> restarted(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  auto files = checkpoints(second);
  for (int rank = 0; rank < 4; ++rank) files.push_back(read_only(fmt::format("/s/ckpt.{}.{}", first.back(), rank), 4, 1));
  return {run_of(1, checkpoints(first)), run_of(2, std::move(files))};
}

void expect_the_last_step_to_be_read(const store::Prediction& prediction, std::string_view last_step) {
  ASSERT_EQ(prediction.rows.size(), 8U);
  for (const store::PredictionRow& row : prediction.rows) {
    EXPECT_EQ(row.read_phase, row.name.find(last_step) == std::string::npos ? -1 : 2) << row.name;
  }
}

TEST(NextPrediction, ARestartReadsTheLastStepWhateverItsNumberIs) {
  const auto prediction = predict(restarted({"0", "1"}, {"2", "3"}), {});
  ASSERT_TRUE(prediction) << prediction.error().message;
  expect_the_last_step_to_be_read(*prediction, "ckpt.5.");
  // The run that was read is not known any more.
  auto late = restarted({"0", "1"}, {"2", "3"});
  const auto without = predict(std::vector{late[1]}, {});
  ASSERT_TRUE(without) << without.error().message;
  ASSERT_EQ(without->rows.size(), 8U);
  for (const store::PredictionRow& row : without->rows) {
    const auto* const last = row_of(*without, "/s/ckpt.3.0") != nullptr ? "ckpt.3." : "ckpt.5.";
    EXPECT_EQ(row.read_phase, row.name.find(last) == std::string::npos ? -1 : 2) << row.name;
  }
}

TEST(NextPrediction, ARestartReadsTheLastStepWhateverItsDateIs) {
  const auto prediction = predict(restarted({"2026-01-01", "2026-01-02"}, {"2026-01-03", "2026-01-04"}), {});
  ASSERT_TRUE(prediction) << prediction.error().message;
  expect_the_last_step_to_be_read(*prediction, "ckpt.2026-01-06.");
}

TEST(NextPrediction, TheStepBeforeTheLastIsReadAgainAsSuch) {
  auto runs = restarted({"0", "1"}, {"2", "3"});
  for (store::FileRow& one : runs[1].files) {
    if (one.read_phase >= 0) one.name.replace(one.name.find("ckpt.1."), 7, "ckpt.0.");
  }
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction) << prediction.error().message;
  expect_the_last_step_to_be_read(*prediction, "ckpt.4.");
}

TEST(NextPrediction, FilesThatDoNotSurviveAreNobodysConcern) {
  auto files = std::vector{file("/s/out.1", 3), file("/s/lock", 3)};
  files[1].removed = true;
  const std::vector runs{run_of(3, files)};
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction);
  EXPECT_EQ(row_of(*prediction, "/s/lock"), nullptr);
  EXPECT_NE(row_of(*prediction, "/s/out.1"), nullptr);
  EXPECT_EQ(use_of(*prediction, files, Bytes::mib(1)).created, 1U);
}

TEST(NextPrediction, ForAnotherNumberOfRanks) {
  std::vector<store::FileRow> files;
  for (int rank = 0; rank < 5; ++rank) {
    files.push_back(file(fmt::format("/s/out.{}", rank), 4));
    files.back().rank = rank;
  }
  std::vector runs{run_of(1, files)};
  runs[0].run.ranks = 5;
  const auto prediction = predict(runs, {.ranks = 15});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(prediction->rows.size(), 15U);
  EXPECT_NE(row_of(*prediction, "/s/out.14"), nullptr);
}

TEST(NextPrediction, WhichFilesWerePredicted) {
  const std::vector runs{run_of(1, {file("/s/out.1", 3), file("/s/tmp.7", 3, "/s/final.7"), file("/s/small", 0)})};
  const auto prediction = predict(runs, {});
  ASSERT_TRUE(prediction);
  auto rows = *prediction;
  for (store::PredictionRow& row : rows.rows) row.left_alone = row.name == "/s/small";
  std::vector<store::FileRow> files{file("/s/out.1", 3), file("/s/new", 3), file("/s/small2", 0), file("/s/there", 3)};
  files.push_back(file("/s/small", 0));
  files[3].created = false;
  const PredictionUse use = use_of(rows, files, Bytes::mib(1));
  EXPECT_EQ(use.created, 2U);
  EXPECT_EQ(use.predicted, 1U);
  for (store::PredictionRow& row : rows.rows) row.left_alone = false;  // planned together with larger ones
  EXPECT_EQ(use_of(rows, files, Bytes::mib(1)).predicted, 2U);
  EXPECT_EQ(use.existing, 1U);
  ASSERT_EQ(use.misses.size(), 1U);
  EXPECT_EQ(use.misses[0].name, "/s/new");
}

}  // namespace
}  // namespace iez::runs
