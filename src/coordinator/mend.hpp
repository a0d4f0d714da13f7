// Files of a plan to other targets, since theirs failed or filled up.
//
// These files alone are planned anew, each phase by itself, among what the other files of that phase bring to their targets: the
// rest of the plan, and what exists of it, stays where it is. Stripe counts stay, too, unless there are not so many targets with
// room any more. What the plan's request found slow stays so. A phase in which such a file is read is not looked at, nor is what
// moves on targets now: the plan's own run may be going on.
//
// Thread safety: pure functions. Units: bytes.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "coordinator/stored_plan.hpp"
#include "placement/targets.hpp"
#include "planning/planner.hpp"

namespace iez::coordinator {

struct Mending {
  const StoredPlan& plan;
  std::vector<bool> affected;     // of each of its layouts; none of them is created
  placement::TargetTable table;   // as it is without the plan
  planning::PlanOptions options;  // `compare` is not looked at: it was decided when the plan was made
};

// The plan with the next revision, and one note; none: every file stays where it was. Errc::limit: there is no room.
[[nodiscard]] Result<std::optional<StoredPlan>> mended(Mending mending);

}  // namespace iez::coordinator
