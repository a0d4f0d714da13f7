// `iez status`: OSSs and OSTs, how full, how balanced, how loaded.
#pragma once

#include "command.hpp"

namespace iez::cli {

struct StatusOptions {
  SourceOptions source;
  WatchOptions watch;
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_status(const StatusOptions& options, Context& context);

}  // namespace iez::cli
