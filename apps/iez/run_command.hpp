// `iez run`: a command, its files learnt and placed.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"

namespace iez::cli {

struct RunCommandOptions {
  std::string application;
  std::string store;
  std::string coordinator;
  std::vector<std::string> roots;
  std::vector<std::string> under;
  std::string plan;
  std::string trace_folder;
  std::string keep_trace;
  bool dry_run = false;
  bool learn = false;
  bool no_place = false;
  bool replace = false;
  bool quiet = false;
  bool json = false;  // what came of it, on stderr; of --dry-run on stdout
  std::vector<std::string> command;
};

// Ends the process as the command ended; returns only if there was none to run.
[[nodiscard]] Result<void> run_run(const RunCommandOptions& options, Context& context);

}  // namespace iez::cli
