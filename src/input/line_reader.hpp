// Lines of a ByteStream through one fixed buffer: a 500 MB file needs no more memory than a small one.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::input {

class LineReader {
 public:
  // A longer line is cut here; no parameter of Lustre has one near it.
  static constexpr std::size_t kMaxLine = 64 * 1024;

  struct Line {
    std::string_view text;     // without the newline (and without a carriage return before it); valid until the next call
    std::uint64_t number = 0;  // 1 is the first
    bool cut = false;          // longer than kMaxLine: text holds its front, the rest was dropped
    bool ended = true;         // false: the stream stopped without a newline
  };

  // The stream must outlive the reader.
  explicit LineReader(ByteStream& stream);

  // The next line; nothing at the end of the stream.
  [[nodiscard]] Result<std::optional<Line>> next();

  std::uint64_t bytes() const { return bytes_; }  // delivered so far

 private:
  [[nodiscard]] Result<void> fill();             // reads more behind the unread bytes
  [[nodiscard]] Result<bool> drop_to_newline();  // false: the stream ended first

  ByteStream& stream_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;  // unread bytes are [begin_, end_) of the buffer
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace iez::input
