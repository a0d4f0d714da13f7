#include "planning/stripe_choice.hpp"

#include <gtest/gtest.h>

#include "planning/planning_test_support.hpp"

namespace iez::planning {
namespace {

// Counts for the files of phase 0, which lasts a second.
std::vector<std::uint32_t> choose(const placement::TargetTable& table, const std::vector<File>& files,
                                  const std::vector<double>& load = {}) {
  const Problem problem{.table = table, .files = files, .phases = std::vector<Phase>(2, {1}), .speed = {}, .load = load};
  std::vector<std::uint64_t> used(table.targets.size());
  std::vector<std::uint64_t> available(table.targets.size(), Bytes::gib(10).count);
  PhaseSolver solver(problem, used, available, {});
  solver.refresh();
  PhaseLoad before(problem);
  before.begin(problem.phases[0]);
  const PhaseFiles all(problem);
  return choose_stripe_counts(problem, all, all.of(0), before, solver);
}

TEST(StripeChoice, AFileOfOneProcessGetsOneStripe) {
  EXPECT_EQ(choose(machine(3, 5), std::vector<File>(10, file(12, 0, 0))), std::vector<std::uint32_t>(10, 1));
}

TEST(StripeChoice, ASharedFileGetsWhatMakesItsPhaseFastest) {
  std::vector<File> files{file(1500, 0, 0)};
  files[0].shared = true;
  EXPECT_EQ(choose(machine(3, 5), files).front(), 15U);
}

TEST(StripeChoice, TwoSharedFilesShareTheTargetsByTheirSizes) {
  std::vector<File> files{file(1000, 0, 0), file(500, 0, 0)};
  files[0].shared = files[1].shared = true;
  EXPECT_EQ(choose(machine(3, 5), files), (std::vector<std::uint32_t>{10, 5}));
}

TEST(StripeChoice, AFileThatTakesLongerThanAllOthersIsStriped) {
  std::vector<File> files(14, file(10, 0, 0));
  files.push_back(file(600, 0, 0));
  const auto counts = choose(machine(3, 5), files);
  EXPECT_GE(counts.back(), 8U);
  for (std::size_t i = 0; i + 1 < counts.size(); ++i) EXPECT_EQ(counts[i], 1U);
}

TEST(StripeChoice, ASmallSharedFileIsNotCutIntoCrumbs) {
  std::vector<File> files{file(3, 0, 0)};
  files[0].shared = true;
  EXPECT_LE(choose(machine(3, 5), files).front(), 3U);
}

TEST(StripeChoice, AGivenCountStays) {
  std::vector<File> files{file(1500, 0, 4), file(1500, 0, 99)};
  files[0].shared = files[1].shared = true;
  EXPECT_EQ(choose(machine(3, 5), files), (std::vector<std::uint32_t>{4, 15}));
}

TEST(StripeChoice, ManySharedFilesNeedNoMoreStripesThanKeepAllTargetsBusy) {
  std::vector<File> files(30, file(100, 0, 0));
  for (File& one : files) one.shared = true;
  EXPECT_EQ(choose(machine(3, 5), files), std::vector<std::uint32_t>(30, 1));
}

// The phase in which it is written waits for the files beside it, whatever its count.
TEST(StripeChoice, AFileThatOneWritesAndManyReadIsStriped) {
  std::vector<File> files(14, file(100, 0, 0));
  files.push_back(file(100, 0, 0));
  files.back().shared = true;
  EXPECT_EQ(choose(machine(3, 5), files), std::vector<std::uint32_t>(15, 1));
  for (File& one : files) one.read_phase = 1;
  EXPECT_EQ(choose(machine(3, 5), files), std::vector<std::uint32_t>(15, 1)) << "the others take as long to read";
  for (std::size_t i = 0; i < 14; ++i) files[i].read_phase = kNoPhase;
  const auto counts = choose(machine(3, 5), files);
  EXPECT_GE(counts.back(), 12U);
  for (std::size_t i = 0; i < 14; ++i) EXPECT_EQ(counts[i], 1U);
}

TEST(StripeChoice, AFileThatItsOwnProcessReadsGetsOneStripe) {
  std::vector<File> files(15, file(100, 0, 0));
  files[0].read_phase = 1;
  EXPECT_EQ(choose(machine(3, 5), files), std::vector<std::uint32_t>(15, 1));
}

TEST(StripeChoice, FilesThatKeepAllTargetsBusyWhenTheyAreReadNeedNoMoreStripes) {
  std::vector<File> files(15, file(100, 0, 0));
  for (File& one : files) {
    one.shared = true;
    one.read_phase = 1;
  }
  EXPECT_EQ(choose(machine(3, 5), files), std::vector<std::uint32_t>(15, 1));
}

// What others move in the meantime is the price of a stripe: it is not paid where less of it is as fast.
TEST(StripeChoice, OnABusySystemAFileGetsFewerStripes) {
  std::vector<File> files{file(600, 0, 0)};
  files[0].shared = true;
  std::vector<double> load(15);
  EXPECT_EQ(choose(machine(3, 5), files, load).front(), 15U);
  for (std::size_t j = 0; j < 9; ++j) load[j] = static_cast<double>(Bytes::mib(100).count);
  EXPECT_EQ(choose(machine(3, 5), files, load).front(), 6U);
  for (std::size_t j = 0; j < 15; ++j) load[j] = static_cast<double>(Bytes::gib(1).count);
  EXPECT_GT(choose(machine(3, 5), files, load).front(), 6U) << "where all are equally busy, none is better";
}

}  // namespace
}  // namespace iez::planning
