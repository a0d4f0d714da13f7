// `iez plan compile|show|check`: plan files for the preload library.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace iez::cli {

struct PlanCompileOptions {
  std::string input;  // CSV; "-": stdin
  std::string output;
  bool json = false;
};

struct PlanShowOptions {
  std::string path;  // or the name of an application
  std::string store;
  std::vector<std::string> names;    // not empty: what these would get, in place of all
  std::optional<std::size_t> limit;  // files and rules shown; 0: all
  bool json = false;
  bool no_header = false;
};

struct PlanCheckOptions {
  std::vector<std::string> paths;
  bool json = false;
};

[[nodiscard]] Result<void> run_plan_compile(const PlanCompileOptions& options, Context& context);
[[nodiscard]] Result<void> run_plan_show(const PlanShowOptions& options, Context& context);
[[nodiscard]] Result<void> run_plan_check(const PlanCheckOptions& options, Context& context);

}  // namespace iez::cli
