#include "base/exec_strings.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace iez {

char* const* ExecStrings::get() {
  pointers_.clear();
  pointers_.reserve(texts_.size() + 1);
  for (std::string& text : texts_) pointers_.push_back(text.data());
  pointers_.push_back(nullptr);
  return pointers_.data();
}

ExecStrings environment_with(std::span<const std::pair<std::string, std::string>> variables) {
  ExecStrings all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = std::ranges::any_of(variables, [text](const auto& one) {
      return text.size() > one.first.size() && text.starts_with(one.first) && text[one.first.size()] == '=';
    });
    if (!replaced) all.add(std::string(text));
  }
  for (const auto& [name, value] : variables) all.add(name + '=' + value);
  return all;
}

}  // namespace iez
