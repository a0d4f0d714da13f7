#include "trace/recorder_calls.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "trace/text_values.hpp"

namespace iez::trace {

namespace {

using Call = RecorderCall;

struct Named {
  std::string_view name;
  Call call;
};

constexpr std::array kCalls = std::to_array<Named>({
    {"close", Call::close},         {"creat", Call::creat},         {"creat64", Call::creat},
    {"dup", Call::duplicate},       {"dup2", Call::duplicate},      {"fclose", Call::close},
    {"fdopen", Call::stream_reuse}, {"fopen", Call::stream_open},   {"fopen64", Call::stream_open},
    {"fprintf", Call::print},       {"fread", Call::stream_read},   {"fseek", Call::seek},
    {"fseeko", Call::seek},         {"fwrite", Call::stream_write}, {"lseek", Call::seek},
    {"lseek64", Call::seek},        {"open", Call::open},           {"open64", Call::open},
    {"pread", Call::read_at},       {"pread64", Call::read_at},     {"pwrite", Call::write_at},
    {"pwrite64", Call::write_at},   {"read", Call::read},           {"readv", Call::read_vector},
    {"rename", Call::rename},       {"vfprintf", Call::print},      {"write", Call::write},
    {"writev", Call::write_vector},
});
static_assert(std::ranges::is_sorted(kCalls, {}, &Named::name));

}  // namespace

RecorderCall recorder_call(std::string_view function) {
  const auto* const found = std::ranges::lower_bound(kCalls, function, {}, &Named::name);
  return found != kCalls.end() && found->name == function ? found->call : Call::other;
}

std::optional<RecorderLine> parse_recorder_line(std::string_view line) {
  const auto start = parse_seconds(text::take_word(line));
  const auto end = parse_seconds(text::take_word(line));
  if (!start || !end || *end < *start) return std::nullopt;
  RecorderLine parsed{.start = *start, .end = *end};
  std::string_view function = text::take_word(line);
  parsed.result = parse_i64(function);
  if (parsed.result) {
    function = text::take_word(line);
  } else if (!parse_i64(text::take_word(line)) || !parse_i64(text::take_word(line))) {
    return std::nullopt;
  }
  line = text::trim(line);
  if (function.empty() || !line.starts_with('(') || !line.ends_with(')')) return std::nullopt;
  if (line.size() < 2) return std::nullopt;
  parsed.arguments = text::trim(line.substr(1, line.size() - 2));
  parsed.call = recorder_call(function);
  return parsed;
}

std::optional<std::string_view> take_last_word(std::string_view& text) {
  text = text::trim(text);
  if (text.empty()) return std::nullopt;
  const std::size_t space = text.rfind(' ');
  const std::size_t start = space == std::string_view::npos ? 0 : space + 1;
  const std::string_view word = text.substr(start);
  text = text::trim(text.substr(0, start));
  return word;
}

}  // namespace iez::trace
