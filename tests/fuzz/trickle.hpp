// A stream that gives one byte at a time: a reader must not care where its input is cut.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::fuzz {

class Trickle final : public input::ByteStream {
 public:
  explicit Trickle(std::string_view bytes) : rest_(bytes) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    if (rest_.empty()) return std::size_t{0};
    buffer[0] = rest_.front();
    rest_.remove_prefix(1);
    return std::size_t{1};
  }

 private:
  std::string_view rest_;
};

}  // namespace iez::fuzz
