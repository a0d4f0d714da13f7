// `iez sim run`: what a machine, its load and its laws give, for one scenario or a sweep over some of its keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace iez::cli {

struct SimRunOptions {
  std::string scenario;             // a path, "-", or the name of a shipped one
  std::vector<std::string> set;     // "key=value"
  std::vector<std::string> sweeps;  // "key=values"
  std::uint64_t seeds = 1;          // runs of each combination, with the seeds from the scenario's on
  std::string csv;                  // files to write; "-": standard output
  std::string html;
  std::optional<std::uint64_t> threads;  // none: all cores
  bool json = false;
  bool samples = false;  // in the JSON
  bool plot = false;
  bool no_plot = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_sim_run(const SimRunOptions& options, Context& context);

// How many threads to use: as given, or one for each core. Fails for none and for more than 1024.
[[nodiscard]] Result<unsigned> sim_threads(const std::optional<std::uint64_t>& given);

}  // namespace iez::cli
