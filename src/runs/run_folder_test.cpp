#include "runs/run_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runs/child_process.hpp"

namespace iez::runs {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "iez-runs-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }

  std::string base_;
  WallTime now_ = SystemClock().wall();
};

TEST_F(RunFolderTest, IsGoneAtItsEnd) {
  std::string path;
  {
    auto folder = RunFolder::make(base_ + "/state/runs", "a", now_);
    ASSERT_TRUE(folder) << folder.error().message;
    path = folder->path();
    struct stat status{};
    ASSERT_EQ(::stat((base_ + "/state").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    EXPECT_TRUE(fs::is_directory(folder->trace_folder()));
    EXPECT_FALSE(RunFolder::make(base_ + "/state/runs", "a", now_));  // there is one
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RunFolderTest, LeftoversAreRemovedAndLivingOnesAreNot) {
  const pid_t killed = ::fork();
  if (killed == 0) {
    auto folder = RunFolder::make(base_, "dead", now_);
    std::ofstream(base_ + "/run-dead/trace/x.ieztrace") << "x";
    ::_exit(folder ? 0 : 1);  // as SIGKILL does it: no destructor
  }
  int status = 0;
  ASSERT_EQ(::waitpid(killed, &status, 0), killed);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(base_ + "/run-dead/trace/x.ieztrace"));
  fs::create_directories(base_ + "/somebody");
  const auto first = RunFolder::make(base_, "a", now_);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->leftovers(), 1U);
  const auto second = RunFolder::make(base_, "b", now_);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->leftovers(), 0U);
  EXPECT_FALSE(fs::exists(base_ + "/run-dead"));
  EXPECT_TRUE(fs::exists(base_ + "/somebody"));
  EXPECT_TRUE(fs::exists(first->trace_folder()));
}

TEST_F(RunFolderTest, AFolderWhoseMakerWasKilledIsRemovedAtOnce) {
  const pid_t killed = ::fork();
  if (killed == 0) {
    const bool made = fs::create_directories(base_ + "/.run-x" + maker_suffix());  // and no mark in it yet
    ::_exit(made ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(killed, &status, 0), killed);
  ASSERT_EQ(status, 0);
  fs::create_directories(base_ + "/.run-y" + maker_suffix());  // of this process, which lives
  ASSERT_TRUE(RunFolder::make(base_, "a", now_));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(base_)) left.push_back(entry.path().filename().string());
  EXPECT_EQ(left, std::vector<std::string>{".run-y" + maker_suffix()});
}

// Its owner is about to go: nothing is counted, nothing is told.
TEST_F(RunFolderTest, AFolderThatIsJustBeingRemovedOrMadeIsNoLeftover) {
  fs::create_directories(base_ + "/run-going");
  fs::create_directories(base_ + "/.run-coming");
  const auto folder = RunFolder::make(base_, "a", now_);
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->leftovers(), 0U);
  EXPECT_TRUE(fs::exists(base_ + "/.run-coming"));
  const auto much_later = RunFolder::make(base_, "b", now_ + 2 * kSilence);
  ASSERT_TRUE(much_later);
  EXPECT_EQ(much_later->leftovers(), 0U) << "a lives: it is of this node";
  EXPECT_FALSE(fs::exists(base_ + "/.run-coming"));
  EXPECT_TRUE(fs::exists(folder->trace_folder()));
}

TEST_F(RunFolderTest, ALockIsWaitedForWithPatience) {
  const std::string path = base_ + "/x.lock";
  ManualClock clock;
  {
    const auto held = lock_file(path);
    ASSERT_TRUE(held);
    const auto busy = lock_file_within(path, Duration{1'000'000'000}, clock);
    ASSERT_TRUE(busy);
    EXPECT_FALSE(*busy);
    EXPECT_EQ(clock.monotonic(), Duration{1'000'000'000});
  }
  const auto had = lock_file_within(path, Duration{0}, clock);
  ASSERT_TRUE(had);
  EXPECT_TRUE(*had);
  EXPECT_FALSE(lock_file_within(base_ + "/nowhere/x.lock", Duration{0}, clock));
}

TEST_F(RunFolderTest, WhatCannotBeMadeIsAnError) {
  std::ofstream(base_ + "/file") << "";
  EXPECT_FALSE(RunFolder::make(base_ + "/file/runs", "a", now_));
}

TEST(ChildProcess, StatusSignalAndVariables) {
  auto ending = run_command({"sh", "-c", "exit 7"}, {});
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->code(), 7);
  ending = run_command({"sh", "-c", "kill -9 $$"}, {});
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->signal, SIGKILL);
  EXPECT_EQ(ending->code(), 137);
  ending = run_command({"sh", "-c", "test \"$A_B\" = 'x y' && test -n \"$PATH\""}, {{"A_B", "x y"}});
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->code(), 0);
  ending = run_command({"/nowhere/at/all"}, {});
  ASSERT_FALSE(ending);
  EXPECT_EQ(ending.error().os_errno, ENOENT);
}

// In a session of its own a command counts the signals that it gets: the text is what it wrote.
std::string signals_counted(const std::string& file, bool to_group) {
  const pid_t runner = ::fork();
  if (runner == 0) {
    (void)::setsid();
    const std::string script =
        "trap 'echo got >> " + file + "' INT; echo ready > " + file + "; for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done; exit 0";
    const auto ending = run_command({"sh", "-c", script}, {});
    ::_exit(ending ? ending->code() : 1);
  }
  const auto text = [&file] {
    std::ifstream in(file);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  while (text() != "ready\n") ::usleep(1000);
  ::usleep(5000);
  EXPECT_EQ(::kill(to_group ? -runner : runner, SIGINT), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(runner, &status, 0), runner);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_NE(::kill(-runner, 0), 0) << "somebody is left in the group";
  return text();
}

TEST_F(RunFolderTest, ASignalReachesTheCommandOnce) {
  for (const bool to_group : {false, true}) EXPECT_EQ(signals_counted(base_ + "/seen", to_group), "ready\ngot\n") << to_group;
}

TEST(ChildProcess, DoesSomethingElseMeanwhile) {
  int done = 0;
  const auto ending = run_command({"sleep", "0.3"}, {}, {.every = Duration{20'000'000}, .done = [&] { ++done; }});
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->code(), 0);
  EXPECT_GE(done, 3);
}

TEST(ChildProcess, PassesSignalsOn) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto ending = run_command(
        {"sh", "-c", "trap 'exit 9' TERM; (kill -TERM $PPID); for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; done; exit 3"}, {});
    ::_exit(ending ? ending->code() : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

}  // namespace
}  // namespace iez::runs
