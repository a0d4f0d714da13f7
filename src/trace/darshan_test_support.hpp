// For tests of the Darshan reader: fixtures as text, text as traces.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "trace/darshan_text.hpp"

namespace iez::trace {

inline constexpr std::int64_t kSecond = 1'000'000'000;

// A file of tests/fixtures/darshan.
inline std::string darshan_fixture(std::string_view name) {
  const std::string path = std::string(IEZ_TEST_DATA) + "/darshan/" + std::string(name);
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct ParsedLog {
  DarshanTrace trace;
  input::ParseReport report;
};

inline ParsedLog parse_log(std::string_view text, const DarshanOptions& options = {}) {
  ParsedLog parsed;
  const auto stream = input::memory_stream(text);
  auto trace = read_darshan_text(*stream, "log.txt", parsed.report, options);
  EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
  if (trace) parsed.trace = *std::move(trace);
  return parsed;
}

inline std::vector<TracedFile> files_of(std::string_view text) { return parse_log(text).trace.files; }

}  // namespace iez::trace
