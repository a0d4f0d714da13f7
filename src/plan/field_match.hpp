// What a field of a pattern takes of a name.
//
// Freestanding, as plan_lookup.hpp. The rules are those of forecast/name_fields.hpp, as far as the text of a pattern tells them:
//   number    all digits that follow each other, 1 to 19; padded with zeros to its width, and with no other leading zeros
//   fraction  a number, and a point with digits where they follow
//   date      YYYYMMDD, then hh, mm and ss as far as they follow; '-', '_', '.' or nothing within the date, 'T', '-', '_', '.' or
//             nothing before the hour, ':', '-', '_', '.' or nothing within the time; ends where its digits end
//   word      all letters that follow each other
//   open      any bytes but '/', at least one
//   rest      everything; not asked for here
// All but date and open have one length only; of those the longest is tried first.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/plan_format.hpp"

namespace iez::plan {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr std::size_t kMaxDigits = 19;  // always fit 64 bits

constexpr std::size_t digits_at(const char* text, std::size_t size) {
  std::size_t count = 0;
  while (count < size && is_digit(text[count])) ++count;
  return count;
}

constexpr std::uint64_t number_of(const char* digits, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count && i < kMaxDigits; ++i) value = value * 10 + static_cast<std::uint64_t>(digits[i] - '0');
  return value;
}

namespace detail {

constexpr std::size_t number_length(std::size_t width, const char* text, std::size_t size) {
  const std::size_t count = digits_at(text, size);
  if (count == 0 || count < width || count > kMaxDigits) return 0;
  return count > 1 && count > width && text[0] == '0' ? 0 : count;
}

constexpr std::size_t fraction_length(const char* text, std::size_t size) {
  const std::size_t whole = number_length(0, text, size);
  if (whole == 0 || whole == size || text[whole] != '.') return whole;
  const std::size_t decimals = digits_at(text + whole + 1, size - whole - 1);
  return decimals == 0 || decimals > kMaxDigits ? whole : whole + 1 + decimals;
}

// One more part of two digits (of the year: four) from `at` on, behind a separator or none; 0 if there is none such.
constexpr std::size_t date_part_end(const char* text, std::size_t size, std::size_t at, std::size_t digits, unsigned high,
                                    char separator) {
  if (separator != 0) {
    if (at >= size || text[at] != separator) return 0;
    ++at;
  }
  if (size - at < digits || digits_at(text + at, digits) != digits) return 0;
  return number_of(text + at, digits) <= high ? at + digits : 0;
}

// The end of a date of `parts` parts, 3 to 6; 0 if there is none.
constexpr std::size_t date_length(unsigned parts, const char* text, std::size_t size) {
  constexpr unsigned kHigh[6] = {2199, 12, 31, 23, 59, 60};
  std::size_t at = date_part_end(text, size, 0, 4, kHigh[0], 0);
  if (at == 0 || number_of(text, 4) < 1900) return 0;
  char separator = 0;
  for (unsigned part = 1; part < parts; ++part) {
    const char next = at < size && !is_digit(text[at]) ? text[at] : '\0';
    if (part == 1 || part == 3 || part == 4) {
      const bool known =
          next == 0 || next == '-' || next == '_' || next == '.' || (part == 3 && next == 'T') || (part == 4 && next == ':');
      if (!known) return 0;
      separator = next;
    }
    at = date_part_end(text, size, at, 2, kHigh[part], separator);
    if (at == 0) return 0;
  }
  return at < size && is_digit(text[at]) ? 0 : at;
}

}  // namespace detail

// The longest length below `below` that the field can have at the front of text; 0 if there is none. Ask with size + 1 first.
constexpr std::size_t field_length(std::uint8_t kind, std::uint8_t width, const char* text, std::size_t size, std::size_t below) {
  std::size_t length = 0;
  switch (kind) {
    case abi::kEdgeNumber:
      length = detail::number_length(width, text, size);
      break;
    case abi::kEdgeFraction:
      length = detail::fraction_length(text, size);
      break;
    case abi::kEdgeDate:
      for (unsigned parts = 6; parts >= 3; --parts) {
        const std::size_t found = detail::date_length(parts, text, size);
        if (found < below && found > length) length = found;
      }
      break;
    case abi::kEdgeWord:
      while (length < size && is_letter(text[length])) ++length;
      break;
    case abi::kEdgeOpen: {
      while (length < size && length + 1 < below && text[length] != '/') ++length;
      break;
    }
    default:
      break;
  }
  return length < below ? length : 0;
}

}  // namespace iez::plan
