#include "tune_runner.hpp"

#include <gtest/gtest.h>

namespace iez::cli {
namespace {

class Runner : public testing::Test {
 protected:
  RunOutcome shell(const std::string& script, std::optional<Duration> timeout = std::nullopt) {
    auto runner = CommandRunner::make(clock_);
    EXPECT_TRUE(runner);
    auto outcome = runner->run({.arguments = {"sh", "-c", script}, .environment = {{"IEZ_TEST", "a b"}}, .timeout = timeout});
    EXPECT_TRUE(outcome);
    return *outcome;
  }

  SystemClock clock_;
};

TEST_F(Runner, CatchesBothStreams) {
  const auto outcome = shell("echo \"$IEZ_TEST\"; echo wrong >&2; cat");
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.output, "a b\nwrong\n");
}

TEST_F(Runner, TellsHowItEnded) {
  auto outcome = shell("exit 3");
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(to_string(outcome), "exit status 3");
  outcome = shell("kill -9 $$");
  EXPECT_EQ(outcome.ending, RunEnding::signalled);
  EXPECT_EQ(to_string(outcome), "killed by signal 9");
}

TEST_F(Runner, KeepsTheEndOfALongOutput) {
  const auto outcome = shell("yes 0123456789 | head -c 5000000; echo end");
  EXPECT_EQ(outcome.output.size(), CommandRunner::kKeptOutput);
  EXPECT_TRUE(outcome.output.ends_with("end\n"));
}

TEST_F(Runner, EndsTheWholeGroupAtTheTimeLimit) {
  const auto outcome = shell("echo begun; sleep 1000 & sleep 1000", std::chrono::milliseconds(200));
  EXPECT_EQ(outcome.ending, RunEnding::timed_out);
  EXPECT_EQ(outcome.output, "begun\n");
}

TEST_F(Runner, DoesNotWaitForWhatStaysBehind) {
  const auto outcome = shell("sleep 2 & echo done");
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.output, "done\n");
}

TEST_F(Runner, NamesWhatCannotBeRun) {
  auto runner = CommandRunner::make(clock_);
  ASSERT_TRUE(runner);
  const auto outcome = runner->run({.arguments = {"no-such-program-of-iez"}, .environment = {}, .timeout = {}});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "cannot run 'no-such-program-of-iez': No such file or directory");
}

TEST_F(Runner, AnInterruptEndsTheCommand) {
  auto runner = CommandRunner::make(clock_);
  ASSERT_TRUE(runner);
  EXPECT_FALSE(runner->interrupted());
  const auto outcome = runner->run({.arguments = {"sh", "-c", "kill -INT $PPID; sleep 1000"}, .environment = {}, .timeout = {}});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ending, RunEnding::interrupted);
  EXPECT_TRUE(runner->interrupted());
}

TEST(FindProgram, ByPath) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_FALSE(find_program("no-such-program-of-iez"));
}

}  // namespace
}  // namespace iez::cli
