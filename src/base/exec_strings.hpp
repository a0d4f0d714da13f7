// What exec takes: words and an environment, made before fork. Behind it nothing may be allocated.
//
// Thread safety: plain values; environment_with() reads the environment of the process, which nobody may change meanwhile.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace iez {

class ExecStrings {
 public:
  ExecStrings() = default;
  explicit ExecStrings(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  void add(std::string text) { texts_.push_back(std::move(text)); }

  // Ends with a null pointer. Valid until the next call of a member that is not const.
  char* const* get();

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// The environment of this process, in which the variables replace those of the same name.
ExecStrings environment_with(std::span<const std::pair<std::string, std::string>> variables);

}  // namespace iez
