// For tests of parsers: fixtures as text, text as streams.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"

namespace iez::lustre {

// A file of tests/fixtures/parsers.
inline std::string fixture(std::string_view path) {
  const std::string whole = std::string(IEZ_TEST_DATA) + "/parsers/" + std::string(path);
  std::ifstream file(whole, std::ios::binary);
  EXPECT_TRUE(file) << whole;
  return {std::istreambuf_iterator<char>(file), {}};
}

// report may be left out by a test that does not look at it.
template <typename T>
Result<T> parse_text(Result<T> (*parse)(input::ByteStream&, std::string_view, input::ParseReport&), std::string_view text,
                     input::ParseReport* report = nullptr) {
  input::ParseReport unused;
  const auto stream = input::memory_stream(text);
  return parse(*stream, "the/file", report != nullptr ? *report : unused);
}

}  // namespace iez::lustre
