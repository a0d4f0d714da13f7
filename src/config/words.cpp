#include "config/words.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "model/layout.hpp"

namespace iez::config {

namespace {

constexpr std::size_t kMaxShown = 60;

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// Length of the sequence that starts with a byte above 0x7F, 0 if it is malformed.
std::size_t sequence_length(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const unsigned second = byte_at(text, 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90)) return 0;
  return length;
}

}  // namespace

std::string shown(std::string_view text) {
  if (text.size() <= kMaxShown) return fmt::format("'{}'", text::printable(text));
  std::size_t cut = kMaxShown;
  while (cut > kMaxShown - 4 && (byte_at(text, cut) & 0xC0U) == 0x80) --cut;  // not within a character
  return fmt::format("'{}...'", text::printable(text.substr(0, cut)));
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  // The distance to a long word takes long to compute, and it is near to nothing.
  if (word.size() > kMaxShown) return "";
  const auto meant = text::nearest(word, known);
  return meant ? fmt::format("; did you mean '{}'?", *meant) : "";
}

std::optional<double> parse_percent(std::string_view text) {
  text = text::trim(text);
  if (!text.ends_with('%')) return std::nullopt;
  const auto percent = text::parse_double(text::trim(text.substr(0, text.size() - 1)));
  if (!percent || *percent < 0 || *percent > 100) return std::nullopt;
  return *percent / 100;
}

std::optional<std::vector<IndexRange>> parse_ranges(std::string_view text) {
  std::vector<IndexRange> ranges;
  text = text::trim(text);
  if (text.empty()) return ranges;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto first = text::parse_u64(text::trim(item.substr(0, dash)));
    const auto last = dash == std::string_view::npos ? first : text::parse_u64(text::trim(item.substr(dash + 1)));
    if (!first || !last || *first > *last) return std::nullopt;
    ranges.push_back({.first = *first, .last = *last});
    if (comma == std::string_view::npos) return ranges;
    text.remove_prefix(comma + 1);
  }
}

bool valid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (byte_at(text, at) < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

bool valid_pool_name(std::string_view name) {
  const auto allowed = [](char c) {
    const char lower = text::to_lower(c);
    return (lower >= 'a' && lower <= 'z') || text::is_digit(c) || c == '_' || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= model::kMaxPoolName && std::ranges::all_of(name, allowed);
}

}  // namespace iez::config
