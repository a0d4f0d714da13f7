// Which of the forms that this module reads a text is of.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace iez::trace {

enum class TextFormat : std::uint8_t {
  unknown,
  csv,          // trace_csv.hpp; also a table with a comma in its first line, so that its header can be complained about
  darshan,      // darshan_text.hpp
  recorder,     // recorder_text.hpp: of one rank
  darshan_log,  // no text: the log itself, which `darshan-parser` prints
};

// As many bytes of the front as are worth looking at.
inline constexpr std::size_t kDetectFront = 8 * 1024;

// By the content alone. front: the first kDetectFront bytes, or all there are.
TextFormat detect_text_format(std::string_view front);

std::string_view to_string(TextFormat format);  // "csv", "darshan", ...

}  // namespace iez::trace
