#include "jobs/row_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace iez::jobs {

namespace {

constexpr std::string_view kMark = "\\x";

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// The length of the character that starts at i; 0 if no valid one does. As Unicode has it: no surrogates, no longer form than
// needed.
std::size_t character_at(std::string_view text, std::size_t i) {
  const unsigned char first = byte_at(text, i);
  if (first < 0x80) return first == 0 ? 0 : 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || i + size > text.size()) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte_at(text, i + k) & 0xC0U) != 0x80) return 0;
  }
  const unsigned char second = byte_at(text, i + 1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return size;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

bool is_storable(std::string_view text) {
  const bool plain =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80 && c != '\0' && c != '\\'; });
  if (plain) return true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = character_at(text, i);
    if (size == 0) return false;
    i += size;
  }
  return !text.contains(kMark);
}

std::string storable(std::string_view text) {
  if (is_storable(text)) return std::string(text);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = character_at(text, i);
    if (size == 0 || text[i] == '\\') {
      out += fmt::format("\\x{:02x}", byte_at(text, i));
      ++i;
    } else {
      out += text.substr(i, size);
      i += size;
    }
  }
  return out;
}

std::string from_storable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const int high = text.substr(i).starts_with(kMark) && i + 3 < text.size() ? hex_digit(text[i + 2]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 3]);
    if (low < 0) {
      out += text[i];
      ++i;
    } else {
      out += static_cast<char>(high * 16 + low);
      i += 4;
    }
  }
  return out;
}

}  // namespace iez::jobs
