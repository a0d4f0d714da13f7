#include "runs/target_history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::runs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<LayoutMount> kMounts{{.path = "/home", .file_system = "home"}, {.path = "/s", .file_system = "scratch"}};

TEST(TargetHistory, PlacesAreByNameWithinAPhase) {
  Gathered got;
  // Step 1 comes in another order than step 0.
  for (const auto& [name, phase] : std::vector<std::pair<std::string, std::int32_t>>{
           {"/s/1.b", 1}, {"/s/0.a", 0}, {"/home/x", 0}, {"/s/1.a", 1}, {"/s/0.b", 0}, {"/elsewhere", 0}}) {
    got.writes.push_back({.row = static_cast<std::uint32_t>(got.files.size()), .time = {.end = 5}, .osts = {OstIndex{3}}});
    got.files.push_back({.name = name, .phase = phase});
  }
  const auto files = written_on(got, kMounts, "scratch");
  ASSERT_THAT(files, SizeIs(4));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> of;
  for (const planning::WrittenFile& file : files) of.emplace_back(file.phase, file.place);
  EXPECT_THAT(of, ElementsAre(std::pair(0U, 0U), std::pair(0U, 1U), std::pair(1U, 0U), std::pair(1U, 1U)));
  EXPECT_THAT(written_on(got, kMounts, "home"), SizeIs(1));
}

TEST(TargetHistory, RunsOfAnotherFileSystemSayNothing) {
  store::Run run{.application = 3, .ended_ns = 9};
  run.targets = {{.file_system = "scratch", .targets = {{.ost = OstIndex{4}, .speed = 0.1, .place = 2}}},
                 {.file_system = "home", .targets = {}}};
  const std::vector runs{run, store::Run{}};
  const auto seen = sightings(runs, "scratch");
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].application, 3);
  EXPECT_THAT(seen[0].targets, ElementsAre(planning::SeenTarget{.ost = OstIndex{4}, .speed = 0.1, .place = 2}));
  EXPECT_THAT(sightings(runs, "home"), SizeIs(1));
  EXPECT_THAT(sightings(runs, "home")[0].targets, IsEmpty());
  EXPECT_THAT(sightings(runs, "tmp"), IsEmpty());
}

}  // namespace
}  // namespace iez::runs
