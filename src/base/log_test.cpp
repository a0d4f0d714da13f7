#include "base/log.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace iez {
namespace {

using testing::HasSubstr;
using testing::Not;

class LogTest : public testing::Test {
 protected:
  LogTest() : path_(testing::TempDir() + "iez-log-" + std::to_string(::getpid())) {}
  void TearDown() override { std::filesystem::remove(path_); }

  Logger logger(LogFormat format, LogLevel level = LogLevel::info) {
    auto made = Logger::make({.level = level, .format = format, .file = path_});
    EXPECT_TRUE(made);
    return *std::move(made);
  }
  std::string written() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string path_;
};

TEST_F(LogTest, TextLines) {
  logger(LogFormat::text).warning("an OST is full", {{.key = "ost", .value = "lustre-OST0003"}});
  EXPECT_THAT(written(), HasSubstr("warning  an OST is full  ost=lustre-OST0003\n"));
}

TEST_F(LogTest, TextCannotBeForged) {
  logger(LogFormat::text).info("job a\nb \x1b[2J");
  EXPECT_THAT(written(), HasSubstr("job a\\x0ab \\x1b[2J\n"));
}

TEST_F(LogTest, JsonLines) {
  logger(LogFormat::json).error("a \"quoted\"\nmessage \xff", {{.key = "code", .value = "7"}});
  const auto line = nlohmann::json::parse(written());
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["message"], "a \"quoted\"\nmessage \xef\xbf\xbd");
  EXPECT_EQ(line["code"], "7");
  EXPECT_THAT(line["time"].get<std::string>(), testing::MatchesRegex("....-..-..T..:..:..[.]...Z"));
}

TEST_F(LogTest, LevelsBelowAreLeftOut) {
  auto log = logger(LogFormat::text, LogLevel::error);
  log.warning("not this");
  log.error("but this");
  EXPECT_THAT(written(), Not(HasSubstr("not this")));
  EXPECT_THAT(written(), HasSubstr("but this"));
}

TEST_F(LogTest, LinesOfThreadsStayWhole) {
  {
    auto log = logger(LogFormat::json);
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&log, t] {
        for (int i = 0; i < 200; ++i) log.info("line", {{.key = "thread", .value = std::to_string(t)}});
      });
    }
  }
  std::ifstream file(path_);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    ++lines;
  }
  EXPECT_EQ(lines, 800);
}

TEST_F(LogTest, NeverWritesToStdout) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    auto log = Logger::make({.level = LogLevel::debug});
    ASSERT_TRUE(log);
    log->error("to stderr");
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("to stderr"));
}

TEST(Log, AFileThatCannotBeOpenedIsAnError) {
  const auto log = Logger::make({.file = "/proc/no/such/file"});
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("/proc/no/such/file"));
}

}  // namespace
}  // namespace iez
