#include "planning/stripe_choice.hpp"

#include <gtest/gtest.h>

#include "planning/planning_test_support.hpp"

namespace iez::planning {
namespace {

std::vector<std::uint32_t> choose(const placement::TargetTable& table, const std::vector<File>& files) {
  const Problem problem{.table = table, .files = files, .phases = std::vector<Phase>(1), .speed = {}, .load = {}};
  std::vector<std::uint64_t> used(table.targets.size());
  std::vector<std::uint64_t> available(table.targets.size(), Bytes::gib(10).count);
  PhaseSolver solver(problem, used, available, {});
  solver.refresh();
  PhaseLoad load(problem);
  load.begin(problem.phases[0]);
  std::vector<std::uint32_t> all(files.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return choose_stripe_counts(problem, all, load, solver);
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

}  // namespace
}  // namespace iez::planning
