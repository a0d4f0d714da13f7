// JSON written by hand, for messages whose form is known: no tree is built.
//
// Thread safety: none.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace iez::api {

// Well-formed if every value of an object comes after a key(), and what was begun is ended.
class JsonText {
 public:
  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  JsonText& begin_array() { return open('['); }
  JsonText& end_array() { return close(']'); }
  JsonText& key(std::string_view name);    // REQUIRES: nothing in it needs an escape
  JsonText& value(std::string_view text);  // bytes that are not UTF-8 are replaced
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& value(bool flag);
  JsonText& value(double number);  // as short as it can be; what is not finite is null
  JsonText& value(std::integral auto number) {
    comma();
    return digits(static_cast<std::int64_t>(number), number > 0 ? static_cast<std::uint64_t>(number) : 0);
  }
  JsonText& raw(std::string_view json);  // a value that is JSON already
  template <typename T>
  JsonText& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  std::string take() { return std::move(text_); }

 private:
  JsonText& open(char c) {
    comma();
    text_.push_back(c);
    follows_ = false;
    return *this;
  }
  JsonText& close(char c) {
    text_.push_back(c);
    follows_ = true;
    return *this;
  }
  void comma() {
    if (follows_) text_.push_back(',');
    follows_ = true;
  }
  JsonText& digits(std::int64_t number, std::uint64_t positive);

  std::string text_;
  bool follows_ = false;  // a value of the same container stands before
};

// Whether the bytes are UTF-8 as JSON wants them.
bool is_utf8(std::string_view bytes);

}  // namespace iez::api
