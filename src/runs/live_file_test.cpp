#include "runs/live_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace iez::runs {
namespace {

namespace fs = std::filesystem;

class LiveFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "iez-live-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string text() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // As another mount shows it, or a node without its locks: the same bytes and times, and nobody holds a lock.
  void take_lock_away() const {
    const auto before = fs::last_write_time(path_);
    const std::string bytes = text();
    fs::remove(path_);
    std::ofstream(path_) << bytes;
    fs::last_write_time(path_, before);
  }
  void set_age(Duration age) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>((now_ - age).time_since_epoch()).count();
    const std::array<timespec, 2> times{timespec{.tv_sec = seconds, .tv_nsec = 0}, timespec{.tv_sec = seconds, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times.data(), 0), 0);
  }
  void left_by_a_killed_process() const {
    const pid_t killed = ::fork();
    if (killed == 0) {
      const auto made = LiveFile::make(path_, "abc");
      ::_exit(made ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(killed, &status, 0), killed);
    ASSERT_EQ(status, 0);
  }

  std::string folder_;
  std::string path_;
  WallTime now_ = SystemClock().wall();
};

TEST_F(LiveFileTest, IsHeldAsLongAsItsProcessLives) {
  path_ = folder_ + "/x";
  auto live = LiveFile::make(path_, "abc");
  ASSERT_TRUE(live) << live.error().message;
  EXPECT_FALSE(LiveFile::make(path_, "")) << "there is one";
  EXPECT_FALSE(take_abandoned(path_, now_));
  EXPECT_FALSE(take_abandoned(path_, now_ + 2 * kSilence)) << "suspended, and of this node";
  take_lock_away();
  EXPECT_FALSE(take_abandoned(path_, now_)) << "through another mount";
  EXPECT_FALSE(take_abandoned(path_, now_ + 2 * kSilence));
}

TEST_F(LiveFileTest, IsTakenFromAProcessOfThisNodeThatIsGone) {
  path_ = folder_ + "/x";
  left_by_a_killed_process();
  const auto taken = take_abandoned(path_, now_);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->content, "abc");
  EXPECT_FALSE(take_abandoned(path_, now_)) << "one takes it";
  EXPECT_FALSE(take_abandoned(folder_ + "/nowhere", now_));
}

TEST_F(LiveFileTest, AnotherProcessOfTheSameIdIsAnotherOne) {
  path_ = folder_ + "/x";
  left_by_a_killed_process();
  std::string bytes = text();
  // "iez-run NODE PROCESS START": the id of this process, which began at another time than soon after the node did.
  const std::size_t line = bytes.find('\n');
  const std::size_t start = bytes.rfind(' ', line);
  const std::size_t process = bytes.rfind(' ', start - 1);
  bytes.replace(process, line - process, " " + std::to_string(::getpid()) + " 1");
  std::ofstream(path_) << bytes;
  EXPECT_TRUE(take_abandoned(path_, now_));
}

TEST_F(LiveFileTest, OfAnotherNodeItIsTakenAfterALongSilence) {
  path_ = folder_ + "/x";
  for (const char* mark : {"iez-run 9f0e-other-boot/pid:[4026531836] 17 4711\n", "iez-run  17 4711\n", "iez-run\n", ""}) {
    std::ofstream(path_) << mark << "abc";
    set_age(kSilence - Duration{60'000'000'000});
    EXPECT_FALSE(take_abandoned(path_, now_)) << mark;
    set_age(kSilence + Duration{60'000'000'000});
    const auto taken = take_abandoned(path_, now_);
    ASSERT_TRUE(taken) << mark;
    EXPECT_EQ(taken->content, "abc");
  }
}

TEST_F(LiveFileTest, ABeatEndsTheSilence) {
  path_ = folder_ + "/x";
  const auto live = LiveFile::make(path_, "");
  ASSERT_TRUE(live);
  set_age(2 * kSilence);
  live->beat();
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_GT(WallTime(std::chrono::seconds(status.st_mtim.tv_sec)), now_ - kHeartbeat);
  LiveFile().beat();  // of no file: nothing
}

TEST_F(LiveFileTest, WhatIsNoFileIsLeftAlone) {
  path_ = folder_ + "/x";
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(take_abandoned(path_, now_ + 2 * kSilence));
  EXPECT_FALSE(take_abandoned(folder_, now_ + 2 * kSilence));
}

}  // namespace
}  // namespace iez::runs
