// Numbers of counters as other programs write them.
//
// Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.hpp"

namespace iez::jobs {

// "123", "123i", "123u", "1.5e+09", "123.0": a count that fits. Nothing: a text, a negative number, NaN.
inline std::optional<std::uint64_t> parse_count(std::string_view text) {
  if (text.ends_with('i') || text.ends_with('u')) text.remove_suffix(1);
  if (const auto whole = text::parse_u64(text)) return whole;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto number = text::parse_double(text);
  constexpr double kMost = 18446744073709549568.0;  // the largest that fits
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(std::round(*number));
}

}  // namespace iez::jobs
