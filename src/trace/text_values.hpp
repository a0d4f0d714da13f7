// Numbers and paths as tracers print them. Nothing here gives a number that is not finite.
//
// Thread safety: pure functions.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/text.hpp"

namespace iez::trace {

// The longest path that Linux opens, in bytes.
inline constexpr std::size_t kMaxPath = 4096;

// Absolute, and of bytes that a path can have.
inline bool usable_path(std::string_view path) {
  return path.starts_with('/') && path.size() <= kMaxPath && path.find('\0') == std::string_view::npos;
}

// The whole of text; nothing on overflow.
inline std::optional<std::int64_t> parse_i64(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

// Seconds with a fraction, as nanoseconds; nothing below zero, and nothing above 2^31 s, which no run lasts.
inline std::optional<std::int64_t> parse_seconds(std::string_view text) {
  const auto seconds = text::parse_double(text);
  if (!seconds || *seconds < 0 || *seconds > static_cast<double>(std::numeric_limits<std::int32_t>::max())) return std::nullopt;
  return std::llround(*seconds * 1e9);
}

// Nothing on overflow.
inline std::optional<std::int64_t> add_times(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

}  // namespace iez::trace
