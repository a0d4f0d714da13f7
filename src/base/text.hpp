// Small, allocation-free text scanning. All functions treat their input as bytes; letters are ASCII.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace iez::text {

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool iequals(std::string_view a, std::string_view b);
std::string_view trim(std::string_view text);

// The next run of non-space characters; text is moved behind it. Empty at the end.
std::string_view take_word(std::string_view& text);

// The whole of text as a number: no sign, no space, no other base; nothing on overflow.
std::optional<std::uint64_t> parse_u64(std::string_view text);
std::optional<double> parse_double(std::string_view text);  // finite only

// Shell-like match of the whole text: '*' any run, '?' any character. Linear in pattern x text, no recursion.
bool glob_match(std::string_view pattern, std::string_view text);

// The candidate nearest to word by edit distance, if it is near enough to be meant.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates);

// Safe to show in a terminal: control characters and bytes that are not valid UTF-8 become \xHH.
std::string printable(std::string_view text);

}  // namespace iez::text
