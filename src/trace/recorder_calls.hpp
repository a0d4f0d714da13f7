// One line of a Recorder trace taken apart, for recorder_text.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace iez::trace {

// The functions of POSIX and stdio that say something of a file, by what their arguments are.
enum class RecorderCall : std::uint8_t {
  other,
  open,          // FILE flags [mode]
  creat,         // FILE mode
  stream_open,   // FILE mode: fopen
  stream_reuse,  // FD mode: fdopen
  close,         // FD
  read,          // FD buffer count
  write,
  read_at,  // FD buffer count offset
  write_at,
  read_vector,  // FD bytes parts
  write_vector,
  stream_read,  // buffer size count FD
  stream_write,
  print,      // FD bytes, of which one is the zero byte
  seek,       // FD offset whence
  duplicate,  // OLD [NEW]: numbers in all versions
  rename,     // FILE FILE
};

RecorderCall recorder_call(std::string_view function);

struct RecorderLine {
  std::int64_t start = 0;  // nanoseconds since the start of the run
  std::int64_t end = 0;
  RecorderCall call = RecorderCall::other;
  std::optional<std::int64_t> result;  // of 2.1 and 2.2
  std::string_view arguments;          // between the parentheses
};

// Nothing if the line does not follow the format.
std::optional<RecorderLine> parse_recorder_line(std::string_view line);

// Takes words off the end, so that what is left, a file name, may hold spaces.
std::optional<std::string_view> take_last_word(std::string_view& text);

}  // namespace iez::trace
