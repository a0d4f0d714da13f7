// Words that people wrote into files: checked, and shown in messages.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iez::config {

inline constexpr std::uint64_t kMaxSize = (std::uint64_t{1} << 63U) - 1;  // bytes: what a file or a counter can be

// In single quotes, safe for a terminal, cut after 60 bytes.
std::string shown(std::string_view text);

// "; did you mean 'count'?", or nothing if none is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

// "35 %" as 0.35; nothing if it is not of this form, or not from 0 to 100.
std::optional<double> parse_percent(std::string_view text);

// A number or a range of numbers, both ends included.
struct IndexRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// "0-3,7", in the order written; "" is no range. Nothing if it is not of this form, or a range ends before it starts.
std::optional<std::vector<IndexRange>> parse_ranges(std::string_view text);

bool valid_utf8(std::string_view text);

// What Lustre takes for the name of a pool: 1 to 15 letters, digits, '_', '-' and '.'.
bool valid_pool_name(std::string_view name);

}  // namespace iez::config
