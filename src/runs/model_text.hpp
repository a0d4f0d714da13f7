// What the store keeps beside predictions and allocations, as JSON: the model for people, the details of a plan.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "forecast/next_run.hpp"
#include "forecast/rename_rule.hpp"

namespace iez::runs {

// Templates, laws and notes.
std::string model_text(const forecast::NextRun& next, std::span<const forecast::RenameRule> rules);

// Of an allocation, beside its rows.
struct PlanDetails {
  std::vector<OstIndex> osts;  // that the plan uses
  // Of all that the file system holds: how full its OSTs and OSSs are, before the files of the plan and with them.
  double ost_cost_before = 1;
  double oss_cost_before = 1;
  double ost_cost_after = 1;
  double oss_cost_after = 1;
  // Of the run alone (ost_cost.hpp): of the one that the plan was made after, and of this plan. None: not known.
  std::optional<double> run_cost_before;
  std::optional<double> run_cost_after;
  std::uint64_t file_system_osts = 0;  // that these are of; 0: not known
  std::uint64_t revision = 1;          // of the coordinator's plan
  std::vector<std::string> notes;

  friend bool operator==(const PlanDetails&, const PlanDetails&) = default;
};

std::string to_text(const PlanDetails& details);
// What is missing is as above; a text that is no object is an error.
[[nodiscard]] Result<PlanDetails> parse_details(std::string_view text);

}  // namespace iez::runs
