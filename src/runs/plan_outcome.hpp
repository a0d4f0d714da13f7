// What planning came to: a plan, or why there is none.
//
// Thread safety: plain values.
#pragma once

#include <optional>
#include <string>

#include "store/records.hpp"

namespace iez::runs {

struct PlanOutcome {
  std::optional<store::Allocation> allocation;  // none: the files are left to Lustre; else with rows for those that are placed
  std::string verdict;                          // one sentence for people: what the plan was compared with, and what came of it
  double gain = 1;                              // predicted: time by default over time by plan
};

}  // namespace iez::runs
