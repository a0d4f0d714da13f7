#include "input/program_stream.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::input {
namespace {

using ::testing::HasSubstr;

// Programs that a test writes itself.
class ProgramStream : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("program_stream.{}", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string program(const std::string& body) {
    const std::string path = (folder_ / "prints").string();
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  // All that it prints, or why not.
  Result<std::string> run(const std::string& body, const ProgramLimits& limits = {.most = Bytes::mib(1)},
                          std::vector<std::string> arguments = {}) {
    std::vector<std::string> words{program(body)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    IEZ_TRY(const auto stream, program_stream(words, limits, clock_));
    std::string all;
    std::array<char, 1000> block{};
    for (;;) {
      IEZ_TRY(const std::size_t got, stream->read(block));
      if (got == 0) break;
      all.append(block.data(), got);
    }
    const auto again = stream->read(block);  // the end stays the end
    EXPECT_TRUE(again && *again == 0);
    return all;
  }

  void expect_failure(const Result<std::string>& got, const std::string& text) {
    ASSERT_FALSE(got) << got->size() << " bytes";
    EXPECT_THAT(got.error().message, HasSubstr(text));
  }

  SystemClock clock_;
  std::filesystem::path folder_;
};

TEST_F(ProgramStream, GivesWhatIsPrinted) {
  const auto got = run("echo one; echo \"$1\"; echo noise >&2; cat\n", {.most = Bytes::mib(1)}, {"two; exit 3 `id` $(id)"});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, "one\ntwo; exit 3 `id` $(id)\n");  // no shell has seen the argument, and there is no input to wait for
  const auto nothing = run("exit 0\n");
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_EQ(*nothing, "");
}

TEST_F(ProgramStream, FailuresAreErrorsWithWhatItSaid) {
  expect_failure(run("echo half; echo 'Error: bad log' >&2; echo more >&2; exit 7\n"),
                 "prints failed (exit status 7): Error: bad log");
  expect_failure(run("exit 1\n"), "prints failed (exit status 1)");
  expect_failure(run("kill -SEGV $$\n"), "prints failed (signal 11)");
  // So much of it that a pipe would be full: nobody waits for the other.
  expect_failure(
      run("i=0; while [ $i -lt 3000 ]; do echo 'complaint complaint complaint complaint' >&2; i=$((i+1)); done; exit 2\n"),
      "(exit status 2): complaint");
}

TEST_F(ProgramStream, EndlessTextIsCut) { expect_failure(run("while :; do echo yes; done\n"), "printed more than 1.00 MiB"); }

TEST_F(ProgramStream, WhatHangsIsStopped) {
  const ProgramLimits soon{.within = Duration{200'000'000}, .most = Bytes::mib(1)};
  expect_failure(run("echo start; sleep 1000\n", soon), "took longer than 200");
  // It has closed both pipes, and still does not end.
  expect_failure(run("exec >&- 2>&-; sleep 1000\n", soon), "took longer than 200");
  expect_failure(run("trap '' TERM INT HUP; while :; do sleep 1000; done\n", soon), "took longer than 200");
}

// As of a process that a service or a script started.
TEST_F(ProgramStream, AnIgnoredSigchldDoesNotHideTheEnd) {
  const ProgramLimits soon{.within = Duration{5'000'000'000}, .most = Bytes::mib(1)};
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const auto good = run("echo one\n", soon);
  (void)::signal(SIGCHLD, SIG_IGN);
  const auto bad = run("exit 3\n", soon);
  (void)::signal(SIGCHLD, before);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(*good, "one\n");
  expect_failure(bad, "prints failed (exit status 3)");
}

TEST_F(ProgramStream, NothingIsLeft) {
  const std::string file = (folder_ / "pid").string();
  {
    const auto stream =
        program_stream({program("sleep 1000 & echo $! > " + file + "; echo ready; wait\n")}, {.most = Bytes::mib(1)}, clock_);
    ASSERT_TRUE(stream) << stream.error().message;
    std::array<char, 100> block{};
    const auto got = (*stream)->read(block);
    ASSERT_TRUE(got) << got.error().message;
  }
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  ASSERT_GT(pid, 1);
  // Whoever takes it over may not have looked yet: a zombie is gone, too.
  for (int i = 0; i < 1000 && ::kill(pid, 0) == 0; ++i) {
    std::string state;
    std::ifstream status(fmt::format("/proc/{}/stat", pid));
    std::getline(status, state);
    if (state.find(") Z") != std::string::npos) return;
    ::usleep(1000);
  }
  EXPECT_NE(::kill(pid, 0), 0) << "process " << pid << " is still there";
}

TEST_F(ProgramStream, WhatCannotBeRun) {
  const auto none = program_stream({"/nonexistent/prints"}, {.most = Bytes::mib(1)}, clock_);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("cannot run '/nonexistent/prints'"));
  const auto folder = program_stream({folder_.string()}, {.most = Bytes::mib(1)}, clock_);
  EXPECT_FALSE(folder);
}

}  // namespace
}  // namespace iez::input
