// `iez bench`.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"

namespace iez::cli {

struct BenchOptions {
  std::vector<std::string> names;  // empty: list them
  bool all = false;
  bool json = false;
  bool quick = false;
  std::vector<std::string> peers;  // NAME=LIBRARY
  std::vector<std::string> cases;  // of loop: these alone
  std::vector<std::string> cells;  // of collective: those with this in their names
  std::string measure;             // a job_stats dump to parse in this process
};

[[nodiscard]] Result<void> run_bench(const BenchOptions& options, Context& context);

}  // namespace iez::cli
