#include "trace/trace_text.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "trace/darshan_counters.hpp"
#include "trace/recorder_calls.hpp"

namespace iez::trace {

namespace {

// A log of 3.x starts with its version in 8 bytes, then the number 6567223 in 8 of either byte order; one of 2.x is packed by
// gzip or bzip2, as other files are, and has no mark of its own.
bool is_darshan_log(std::string_view front) {
  constexpr std::string_view kLittle("75d\0\0\0\0\0", 8);
  constexpr std::string_view kBig("\0\0\0\0\0d57", 8);
  if (front.size() < 16 || !text::is_digit(front[0]) || front[1] != '.') return false;
  const std::string_view magic = front.substr(8, 8);
  return magic == kLittle || magic == kBig;
}

// A line of counters whose header was cut off.
bool is_darshan_row(std::string_view line) {
  if (std::ranges::count(line, '\t') < 6) return false;
  const bool old = line.front() == '-' || text::is_digit(line.front());
  const std::string_view module = line.substr(0, line.find('\t'));
  if (!old) return darshan_module(module) != DarshanModule::other;
  return line.find("\tCP_") != std::string_view::npos;
}

bool is_darshan_comment(std::string_view line) {
  return line.starts_with("# darshan log version:") || line.starts_with("#<module>\t<rank>") ||
         line.starts_with("#<rank>\t<file>");
}

}  // namespace

TextFormat detect_text_format(std::string_view front) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (is_darshan_log(front)) return TextFormat::darshan_log;
  if (front.starts_with(kByteOrderMark)) front.remove_prefix(kByteOrderMark.size());
  while (!front.empty()) {
    const std::size_t end = std::min(front.find('\n'), front.size());
    std::string_view line = front.substr(0, end);
    front.remove_prefix(std::min(end + 1, front.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (line.front() == '#') {
      // Warnings may stand before the version.
      if (is_darshan_comment(line)) return TextFormat::darshan;
      continue;
    }
    if (line.find('\0') != std::string_view::npos) return TextFormat::unknown;
    if (is_darshan_row(line)) return TextFormat::darshan;
    if (parse_recorder_line(line)) return TextFormat::recorder;
    return line.find(',') != std::string_view::npos ? TextFormat::csv : TextFormat::unknown;
  }
  return TextFormat::unknown;
}

std::string_view to_string(TextFormat format) {
  switch (format) {
    case TextFormat::csv:
      return "csv";
    case TextFormat::darshan:
      return "darshan";
    case TextFormat::recorder:
      return "recorder";
    case TextFormat::darshan_log:
      return "darshan log";
    case TextFormat::unknown:
      break;
  }
  return "unknown";
}

}  // namespace iez::trace
