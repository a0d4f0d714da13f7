// A whole text file, or standard input, for commands that take one.
#pragma once

#include <string>

#include "base/result.hpp"

namespace iez::cli {

// "-": standard input. Errors name the path.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

}  // namespace iez::cli
