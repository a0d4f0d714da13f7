#include "run_programs.hpp"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::bench {
namespace {

using ::testing::HasSubstr;

TEST(RunPrograms, OutputTalkAndStatusOfEach) {
  const auto finished =
      run_programs({{.words = {"sh", "-c", "echo data; echo talk >&2; exit 3"}},
                    {.words = {"sh", "-c", "pwd; echo $A; kill -9 $$"}, .folder = "/", .environment = {{"A", "b"}}}},
                   std::chrono::seconds(60));
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_EQ((*finished)[0].status, 3);
  EXPECT_EQ((*finished)[0].output, "data\n");
  EXPECT_EQ((*finished)[0].talk, "talk\n");
  EXPECT_EQ((*finished)[1].status, 128 + 9);
  EXPECT_EQ((*finished)[1].output, "/\nb\n");
}

TEST(RunPrograms, NobodyTellsIezAnythingByAccident) {
  ::setenv("IEZ_DISABLE", "1", 1);
  ::setenv("IEZ_LIBDIR", "/lib", 1);
  const auto finished = run_programs({{.words = {"env"}, .environment = {{"IEZ_STATE", "/s"}}}}, std::chrono::seconds(60));
  ::unsetenv("IEZ_DISABLE");
  ::unsetenv("IEZ_LIBDIR");
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_EQ(finished->front().output.find("IEZ_DISABLE"), std::string::npos);
  EXPECT_THAT(finished->front().output, HasSubstr("IEZ_LIBDIR=/lib"));
  EXPECT_THAT(finished->front().output, HasSubstr("IEZ_STATE=/s"));
}

TEST(RunPrograms, WhatDoesNotEndIsKilled) {
  const auto finished = run_programs({{.words = {"sleep", "60"}}, {.words = {"true"}}}, std::chrono::seconds(1));
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, Errc::limit);
  EXPECT_THAT(finished.error().message, HasSubstr("sleep 60"));
}

TEST(RunPrograms, OneThatIsNotThere) {
  const auto finished = run_programs({{.words = {"/no/such/program"}}}, std::chrono::seconds(60));
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_EQ(finished->front().status, 127);
}

TEST(RunPrograms, LastLine) {
  EXPECT_EQ(last_line("one\ntwo\n\n"), "two");
  EXPECT_EQ(last_line(""), "");
}

}  // namespace
}  // namespace iez::bench
