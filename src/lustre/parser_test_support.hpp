// For tests of parsers: fixtures as text, text as streams.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
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

// Gives a front, then fails as a device gone away does.
class BrokenStream final : public input::ByteStream {
 public:
  explicit BrokenStream(std::string_view front) : front_(front) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    if (front_.empty()) return fail(Errc::io, "the device is gone");
    const std::size_t count = std::min(buffer.size(), front_.size());
    std::memcpy(buffer.data(), front_.data(), count);
    front_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view front_;
};

// `bytes` bytes, all alike, without ever being in memory.
class EndlessStream final : public input::ByteStream {
 public:
  EndlessStream(char byte, std::size_t bytes) : byte_(byte), left_(bytes) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t count = std::min(buffer.size(), left_);
    std::memset(buffer.data(), byte_, count);
    left_ -= count;
    return count;
  }

 private:
  char byte_;
  std::size_t left_;
};

}  // namespace iez::lustre
