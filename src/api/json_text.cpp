#include "api/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace iez::api {

namespace {

// Bytes of the character at the front; 0: not UTF-8.
std::size_t character(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned head = at(0);
  if (head < 0x80) return 1;
  if (head >= 0xC2 && head <= 0xDF) return tail(1) ? 2 : 0;
  if (head >= 0xE0 && head <= 0xEF) {
    if ((head == 0xE0 && at(1) < 0xA0) || (head == 0xED && at(1) > 0x9F)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (head >= 0xF0 && head <= 0xF4) {
    if ((head == 0xF0 && at(1) < 0x90) || (head == 0xF4 && at(1) > 0x8F)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

// Stands for itself in a text.
bool is_plain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

constexpr std::string_view kHex = "0123456789abcdef";

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = character(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

JsonText& JsonText::key(std::string_view name) {
  comma();
  text_.push_back('"');
  text_.append(name);
  text_.append("\":");
  follows_ = false;
  return *this;
}

JsonText& JsonText::value(std::string_view text) {
  comma();
  text_.push_back('"');
  while (!text.empty()) {
    const auto plain = std::ranges::find_if_not(text, is_plain) - text.begin();
    text_.append(text.substr(0, static_cast<std::size_t>(plain)));
    text.remove_prefix(static_cast<std::size_t>(plain));
    if (text.empty()) break;
    const char c = text.front();
    const std::size_t size = character(text);
    if (size == 0) {
      text_.append("\xEF\xBF\xBD");  // the replacement character
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      text_.push_back('\\');
      text_.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_.append("\\u00");
      text_.push_back(kHex[static_cast<unsigned char>(c) >> 4U]);
      text_.push_back(kHex[static_cast<unsigned char>(c) & 15U]);
    } else {
      text_.append(text.substr(0, size));
    }
    text.remove_prefix(size);
  }
  text_.push_back('"');
  return *this;
}

JsonText& JsonText::value(bool flag) { return raw(flag ? "true" : "false"); }

JsonText& JsonText::value(double number) {
  if (!std::isfinite(number)) return raw("null");
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return raw({buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())});
}

JsonText& JsonText::raw(std::string_view json) {
  comma();
  text_.append(json);
  return *this;
}

JsonText& JsonText::digits(std::int64_t number, std::uint64_t positive) {
  std::array<char, 24> buffer{};
  char* const begin = buffer.data();
  char* const limit = begin + buffer.size();
  const auto end = positive > 0 ? std::to_chars(begin, limit, positive) : std::to_chars(begin, limit, number);
  text_.append(begin, end.ptr);
  return *this;
}

}  // namespace iez::api
