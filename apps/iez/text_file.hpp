// A whole text file, or a standard stream, for commands that take or give one.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez::cli {

inline constexpr std::string_view kStandardStream = "-";

// "-": standard input. Errors name the path.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

// "-": standard output. A full disk is an error, and never silent.
[[nodiscard]] Result<void> write_text_file(const std::string& path, std::string_view text);

// A long text, written piece by piece to a file that appears when it is whole: under another name beside it until finish(). After
// any failure, or without finish(), nothing is left behind. "-" is standard output, where what was written stays; so it does
// in a device or a pipe, which are written as they are.
class TextOutput {
 public:
  [[nodiscard]] static Result<TextOutput> create(const std::string& path);
  ~TextOutput();
  TextOutput(TextOutput&& other) noexcept;
  TextOutput& operator=(TextOutput&&) = delete;
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  [[nodiscard]] Result<void> write(std::string_view text);
  [[nodiscard]] Result<void> finish();

 private:
  TextOutput() = default;

  std::string path_;
  std::string temporary_;      // empty: standard output, or done
  std::FILE* file_ = nullptr;  // of the temporary one
};

}  // namespace iez::cli
