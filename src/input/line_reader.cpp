#include "input/line_reader.hpp"

#include <cstring>

namespace iez::input {

namespace {

// Room for a line of the greatest length behind the rest of another.
constexpr std::size_t kBuffer = 4 * LineReader::kMaxLine;

}  // namespace

LineReader::LineReader(ByteStream& stream) : stream_(stream), buffer_(new char[kBuffer]) {}

Result<void> LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  IEZ_TRY(const std::size_t got, stream_.read({buffer_.get() + end_, kBuffer - end_}));
  if (got == 0) at_end_ = true;
  end_ += got;
  return {};
}

Result<bool> LineReader::drop_to_newline() {
  while (true) {
    const char* const start = buffer_.get() + begin_;
    const std::size_t unread = end_ - begin_;
    const auto* const newline = static_cast<const char*>(std::memchr(start, '\n', unread));
    const std::size_t dropped = newline != nullptr ? static_cast<std::size_t>(newline - start) + 1 : unread;
    bytes_ += dropped;
    if (newline != nullptr) {
      begin_ += dropped;
      return true;
    }
    // What lies before begin_ is the front of the line, still to be delivered: read into the same place again and again.
    IEZ_TRY(const std::size_t got, stream_.read({buffer_.get() + begin_, kBuffer - begin_}));
    end_ = begin_ + got;
    if (got == 0) {
      at_end_ = true;
      return false;
    }
  }
}

Result<std::optional<LineReader::Line>> LineReader::next() {
  const char* newline = nullptr;
  std::size_t searched = 0;
  while (true) {
    const char* const start = buffer_.get() + begin_;
    const std::size_t unread = end_ - begin_;
    newline = static_cast<const char*>(std::memchr(start + searched, '\n', unread - searched));
    if (newline != nullptr || at_end_ || unread > kMaxLine) break;
    searched = unread;
    IEZ_CHECK(fill());
  }
  const char* const start = buffer_.get() + begin_;
  const std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - start) : end_ - begin_;
  if (newline == nullptr && length == 0) return std::nullopt;

  Line line{.text = {start, length}, .number = ++number_, .cut = length > kMaxLine, .ended = newline != nullptr};
  if (line.cut) {
    line.text = line.text.substr(0, kMaxLine);
    begin_ += kMaxLine;
    bytes_ += kMaxLine;
    IEZ_TRY(line.ended, drop_to_newline());
    return line;
  }
  const std::size_t consumed = length + (line.ended ? 1 : 0);
  begin_ += consumed;
  bytes_ += consumed;
  if (line.ended && line.text.ends_with('\r')) line.text.remove_suffix(1);
  return line;
}

}  // namespace iez::input
