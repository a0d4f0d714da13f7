// `iez inject`: what libiez.so will and will not see of a program.
#pragma once

#include <string>

#include "command.hpp"

namespace iez::cli {

struct InjectOptions {
  std::string program;  // a path, or a name that is looked for in $PATH
  bool json = false;
};

// "static program": what keeps libiez.so from seeing anything of a program, by its file alone; empty: nothing does, or the file
// cannot be judged.
std::string why_unseen(const std::string& program);

[[nodiscard]] Result<void> run_inject(const InjectOptions& options, Context& context);

}  // namespace iez::cli
