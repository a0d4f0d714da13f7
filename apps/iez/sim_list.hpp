// `iez sim list` and `iez sim show`: the machines and scenarios that come with the program.
#pragma once

#include <string>

#include "command.hpp"

namespace iez::cli {

struct SimListOptions {
  bool json = false;
  bool no_header = false;
};

struct SimShowOptions {
  std::string name;  // of a scenario or a machine
};

[[nodiscard]] Result<void> run_sim_list(const SimListOptions& options, Context& context);

// The file as it is, to start an own one from.
[[nodiscard]] Result<void> run_sim_show(const SimShowOptions& options, Context& context);

}  // namespace iez::cli
