// `iez plan explain|diff|expire`, and `show` by application: the plans that the interaction database has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"
#include "plan_command.hpp"

namespace iez::cli {

struct PlanExplainOptions {
  std::string store;
  std::string application;  // empty: whichever has the file
  std::string file;
  bool json = false;
};

struct PlanDiffOptions {
  std::string store;
  std::string first;   // plan file or application
  std::string second;  // plan file; empty: the last two plans of the application
  std::optional<std::size_t> limit;
  bool json = false;
  bool no_header = false;
};

struct PlanExpireOptions {
  std::string store;
  std::string application;
  std::optional<Duration> older_than;
  bool json = false;
};

// The plan file that is meant: a file of this name, or the one of the application, made from the database where it is missing or
// older. Fails if it is neither.
[[nodiscard]] Result<std::string> plan_file_of(const std::string& name, const std::string& store, Context& context);

[[nodiscard]] Result<void> run_plan_explain(const PlanExplainOptions& options, Context& context);
[[nodiscard]] Result<void> run_plan_diff(const PlanDiffOptions& options, Context& context);
[[nodiscard]] Result<void> run_plan_expire(const PlanExpireOptions& options, Context& context);

}  // namespace iez::cli
