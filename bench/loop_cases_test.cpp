#include "loop_cases.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::bench {
namespace {

using ::testing::Contains;
using ::testing::Not;

LoopPlace somewhere(std::uint64_t unit) {
  return {.iez = "iez", .python = "python3", .script = "loop_program.py", .folders = {"/a", "/b"}, .meeting = "/m", .unit = unit};
}

TEST(LoopCases, AreEnoughAndEachHasItsName) {
  EXPECT_GE(loop_cases().size(), 25U);
  std::set<std::string_view> names;
  for (const LoopCase& about : loop_cases()) {
    EXPECT_TRUE(names.insert(about.name).second) << about.name;
    EXPECT_FALSE(about.about.empty());
    EXPECT_GE(about.learn, 1U);
  }
  EXPECT_THAT(names, Contains(kStepsCase));
  EXPECT_THAT(names, Contains(kSharedCase));
  EXPECT_TRUE(std::ranges::any_of(loop_cases(), &LoopCase::quick));
}

TEST(LoopCases, EveryTurnHasProgramsWithFilesInTheirFolder) {
  for (const LoopCase& about : loop_cases()) {
    SCOPED_TRACE(about.name);
    for (const std::uint64_t unit : {1024UL, 8192UL}) {
      for (unsigned number = 0; number < 4; ++number) {
        const LoopTurn turn = about.turn(somewhere(unit), number);
        ASSERT_FALSE(turn.empty());
        for (const LoopStep& step : turn) {
          std::set<std::string> applications;
          for (const LoopProgram& program : step) {
            EXPECT_LT(program.client, kLoopClients);
            EXPECT_TRUE(applications.insert(program.application).second);
            std::string all;
            for (const std::string& word : program.words) all += word + ' ';
            EXPECT_NE(all.find(program.client == 0 ? "/a" : "/b"), std::string::npos) << all;
            EXPECT_THAT(program.words, Not(Contains("0K"))) << all;
          }
        }
      }
    }
  }
}

TEST(LoopCases, TargetsOfTheLabAreShares) {
  for (const LoopCase& about : loop_cases()) {
    SCOPED_TRACE(about.name);
    for (unsigned ost = 0; ost < kLoopOsts; ++ost) {
      if (about.fullness != nullptr) {
        EXPECT_GE(about.fullness(ost), 0);
        EXPECT_LT(about.fullness(ost), 1);
      }
      if (about.speed != nullptr) {
        EXPECT_GT(about.speed(ost), 0);
        EXPECT_LE(about.speed(ost), kLoopSpeed);
      }
    }
  }
}

}  // namespace
}  // namespace iez::bench
