// JSON read from front to back, without building a tree: memory is what the reader keeps, not what the text asks for.
//
//   JsonCursor json(text);
//   for (json.enter_object(); json.next_key(key);) {
//     if (key == "bytes") bytes = json.whole(limit); else json.skip();
//   }
//   IEZ_CHECK(json.finish());
//
// The first failure stays: afterwards every call answers as if the text had ended. A failure names the field and the byte.
// The text must be JSON by RFC 8259, in UTF-8; depth is at most kMaxDepth.
//
// Thread safety: none. Time: linear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez::api {

class JsonCursor {
 public:
  static constexpr std::size_t kMaxDepth = 64;

  explicit JsonCursor(std::string_view text) : text_(text) {}

  // Into the container that comes next; next_key() and next_item() answer false at its end, and are out of it then.
  void enter_object();
  bool next_key(std::string& key);
  void enter_array();
  bool next_item();

  // The value that comes next. null is as good as the value that a missing field has.
  std::string text(std::size_t limit);  // at most so many bytes
  std::uint64_t whole(std::uint64_t limit);
  std::int64_t whole_signed(std::int64_t low, std::int64_t high);
  double number();
  bool flag();

  bool at_null();  // the next value is null, and passed over
  void skip();     // any value

  bool failed() const { return !failure_.empty(); }
  void refuse(std::string what);  // "field 'bytes': <what>"

  // Fails for what failed before, and for anything but white space behind the value.
  [[nodiscard]] Result<void> finish();

 private:
  // Called for every character that is not of a text or a number.
  void blank() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  char peek() {
    blank();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected);
  std::string_view digits();  // the number that comes next, by the grammar
  void string_body(std::string* out, std::size_t limit);
  std::uint32_t hex4();
  bool next(char end);
  void enter(char open);
  bool leave(char close);
  std::size_t utf8_size() const;  // of the character at at_; 0: not UTF-8

  std::string_view text_;
  std::size_t at_ = 0;
  std::string key_;
  std::string failure_;
  std::size_t depth_ = 0;
  bool first_ = false;  // nothing of the innermost container was read
};

}  // namespace iez::api
