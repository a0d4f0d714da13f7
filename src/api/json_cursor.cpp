#include "api/json_cursor.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::api {

namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6U));
    put(0x80 | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12U));
    put(0x80 | ((code >> 6U) & 0x3FU));
    put(0x80 | (code & 0x3FU));
  } else {
    put(0xF0 | (code >> 18U));
    put(0x80 | ((code >> 12U) & 0x3FU));
    put(0x80 | ((code >> 6U) & 0x3FU));
    put(0x80 | (code & 0x3FU));
  }
}

}  // namespace

void JsonCursor::refuse(std::string what) {
  if (failed()) return;
  failure_ = key_.empty() ? fmt::format("at byte {}: {}", at_, what)
                          : fmt::format("field '{}' (at byte {}): {}", text::printable(key_.substr(0, 64)), at_, what);
  at_ = text_.size();
}

bool JsonCursor::word(std::string_view expected) {
  blank();
  if (!text_.substr(at_).starts_with(expected)) return false;
  at_ += expected.size();
  return true;
}

void JsonCursor::enter(char open) {
  if (failed()) return;
  if (!take(open)) return refuse(open == '{' ? "expected an object" : "expected a list");
  if (++depth_ > kMaxDepth) return refuse(fmt::format("nested more than {} deep", kMaxDepth));
  first_ = true;
}

bool JsonCursor::leave(char close) {
  if (!take(close)) return false;
  --depth_;
  first_ = false;
  return true;
}

// To the next member of the innermost container.
bool JsonCursor::next(char end) {
  if (failed()) return false;
  if (leave(end)) return false;
  if (!first_ && !take(',')) {
    refuse(fmt::format("expected ',' or '{}'", end));
    return false;
  }
  first_ = false;
  return true;
}

void JsonCursor::enter_object() { enter('{'); }
void JsonCursor::enter_array() { enter('['); }
bool JsonCursor::next_item() { return next(']'); }

bool JsonCursor::next_key(std::string& key) {
  if (!next('}')) return false;
  key.clear();
  if (peek() != '"') {
    refuse("expected the name of a field");
    return false;
  }
  string_body(&key, text_.size());
  if (!take(':')) refuse("expected ':'");
  if (!failed()) key_ = key;
  return !failed();
}

std::size_t JsonCursor::utf8_size() const {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at_ + i < text_.size() ? text_[at_ + i] : 0); };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80; };
  const unsigned char head = byte(0);
  if (head < 0x80) return 1;
  if (head >= 0xC2 && head <= 0xDF) return tail(1) ? 2 : 0;
  if (head >= 0xE0 && head <= 0xEF) {
    const bool fits = !(head == 0xE0 && byte(1) < 0xA0) && !(head == 0xED && byte(1) > 0x9F);
    return fits && tail(1) && tail(2) ? 3 : 0;
  }
  if (head >= 0xF0 && head <= 0xF4) {
    const bool fits = !(head == 0xF0 && byte(1) < 0x90) && !(head == 0xF4 && byte(1) > 0x8F);
    return fits && tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::uint32_t JsonCursor::hex4() {
  std::uint32_t value = 0;
  const char* const begin = text_.data() + at_;
  const auto read = std::from_chars(begin, begin + std::min<std::size_t>(4, text_.size() - at_), value, 16);
  if (read.ec != std::errc{} || read.ptr != begin + 4) {
    refuse("expected four hexadecimal digits after \\u");
    return 0;
  }
  at_ += 4;
  return value;
}

// out null: passed over.
void JsonCursor::string_body(std::string* out, std::size_t limit) {
  if (!take('"')) return refuse("expected a text");
  while (!failed()) {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) break;
      const std::size_t size = static_cast<unsigned char>(c) < 0x80 ? 1 : utf8_size();
      if (size == 0) return refuse("not UTF-8");
      at_ += size;
    }
    if (out != nullptr) {
      if (out->size() + (at_ - begin) > limit) return refuse(fmt::format("a text of more than {} bytes", limit));
      out->append(text_.substr(begin, at_ - begin));
    }
    if (at_ >= text_.size()) return refuse("a text without an end");
    const char stop = text_[at_++];
    if (stop == '"') return;
    if (stop != '\\') return refuse("a control character in a text");
    if (at_ >= text_.size()) return refuse("a text without an end");
    std::uint32_t code = 0;
    switch (text_[at_++]) {
      case '"':
        code = '"';
        break;
      case '\\':
        code = '\\';
        break;
      case '/':
        code = '/';
        break;
      case 'b':
        code = '\b';
        break;
      case 'f':
        code = '\f';
        break;
      case 'n':
        code = '\n';
        break;
      case 'r':
        code = '\r';
        break;
      case 't':
        code = '\t';
        break;
      case 'u':
        code = hex4();
        if (code >= 0xDC00 && code <= 0xDFFF) return refuse("half of a surrogate pair");
        if (code >= 0xD800 && code <= 0xDBFF) {
          if (!text_.substr(at_).starts_with("\\u")) return refuse("half of a surrogate pair");
          at_ += 2;
          const std::uint32_t low = hex4();
          if (low < 0xDC00 || low > 0xDFFF) return refuse("half of a surrogate pair");
          code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
        }
        break;
      default:
        return refuse("an unknown escape in a text");
    }
    if (out != nullptr && !failed()) {
      if (out->size() + 4 > limit + 3) return refuse(fmt::format("a text of more than {} bytes", limit));
      append_utf8(*out, code);
      if (out->size() > limit) return refuse(fmt::format("a text of more than {} bytes", limit));
    }
  }
}

bool JsonCursor::at_null() {
  if (failed()) return false;
  return word("null");
}

std::string JsonCursor::text(std::size_t limit) {
  std::string out;
  if (failed() || at_null()) return out;
  string_body(&out, limit);
  if (failed()) out.clear();
  return out;
}

std::string_view JsonCursor::digits() {
  blank();
  const std::size_t begin = at_;
  std::size_t at = at_;
  const auto run = [&] {
    const std::size_t from = at;
    while (at < text_.size() && text::is_digit(text_[at])) ++at;
    return at - from;
  };
  if (at < text_.size() && text_[at] == '-') ++at;
  const bool zero = at < text_.size() && text_[at] == '0';
  const std::size_t size = run();
  if (size == 0 || (zero && size > 1)) return {};
  if (at < text_.size() && text_[at] == '.') {
    ++at;
    if (run() == 0) return {};
  }
  if (at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
    ++at;
    if (at < text_.size() && (text_[at] == '+' || text_[at] == '-')) ++at;
    if (run() == 0) return {};
  }
  at_ = at;
  return text_.substr(begin, at - begin);
}

std::uint64_t JsonCursor::whole(std::uint64_t limit) {
  if (failed() || at_null()) return 0;
  std::uint64_t value = 0;
  const std::string_view number = digits();
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || read.ec != std::errc{} || read.ptr != number.data() + number.size() || value > limit) {
    refuse(fmt::format("expected a whole number from 0 to {}", limit));
    return 0;
  }
  return value;
}

std::int64_t JsonCursor::whole_signed(std::int64_t low, std::int64_t high) {
  if (failed() || at_null()) return 0;
  std::int64_t value = 0;
  const std::string_view number = digits();
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || read.ec != std::errc{} || read.ptr != number.data() + number.size() || value < low || value > high) {
    refuse(fmt::format("expected a whole number from {} to {}", low, high));
    return 0;
  }
  return value;
}

double JsonCursor::number() {
  if (failed() || at_null()) return 0;
  double value = 0;
  const std::string_view number = digits();
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || read.ec != std::errc{} || !std::isfinite(value)) {
    refuse("expected a number");
    return 0;
  }
  return value;
}

bool JsonCursor::flag() {
  if (failed() || at_null() || word("false")) return false;
  if (word("true")) return true;
  refuse("expected true or false");
  return false;
}

void JsonCursor::skip() {
  // No recursion: the stack of a server's thread is not for others to fill.
  std::string open;
  const std::size_t outside = depth_;
  const std::string field = key_;
  std::string key;
  while (!failed()) {
    switch (peek()) {
      case '{':
        enter('{');
        open.push_back('}');
        break;
      case '[':
        enter('[');
        open.push_back(']');
        break;
      case '"':
        string_body(nullptr, 0);
        break;
      default:
        if (!word("null") && !word("true") && !word("false") && digits().empty()) refuse("expected a value");
        break;
    }
    while (!open.empty() && !failed() && !(open.back() == '}' ? next_key(key) : next_item())) open.pop_back();
    if (open.empty()) break;
  }
  if (failed()) return;
  depth_ = outside;
  key_ = field;
}

Result<void> JsonCursor::finish() {
  blank();
  if (!failed() && at_ < text_.size()) {
    key_.clear();
    refuse("expected the end of the text");
  }
  if (failed()) return fail(Errc::parse, failure_);
  return {};
}

}  // namespace iez::api
