// Streams for tests: one that breaks, one that is long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::input {

// Gives a front, then fails as a device gone away does.
class BrokenStream final : public ByteStream {
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
class EndlessStream final : public ByteStream {
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

}  // namespace iez::input
