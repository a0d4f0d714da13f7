// Plans of applications that run side by side, made anew as one.
//
// Each was planned for its own time, on what the earlier ones had left. Where their files are written at the same time, what
// counts is the time of all of them: the sums of what each target gets from any, and the large objects must come first even if
// they were asked for last. The files are one phase then, and by the goal of planning (planning/problem.hpp) it is balanced.
//
// Nobody tells a coordinator which applications will run side by side, nor which of their phases will meet. It takes those whose
// last runs overlapped for at least half of the shorter one, and of them only those all of whose files are written in one phase,
// and read, if at all, in one: with more, planning together could make a phase slower that meets nothing.
//
// A target that one of the requests found slow counts as such for all of them.
//
// Thread safety: pure functions. Units: bytes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "coordinator/stored_plan.hpp"
#include "placement/targets.hpp"
#include "planning/planner.hpp"

namespace iez::coordinator {

// Of all of them together, below which plans made anew are put in place of the old ones.
inline constexpr double kWorthwhile = 0.99;

// Nothing of it is created, and it may be planned together with others.
bool is_of_one_phase(const StoredPlan& plan);

// The last runs of both are known, and overlapped for at least half of the shorter one.
bool ran_side_by_side(const StoredPlan& a, const StoredPlan& b);

// The next revision of each; none: all stay as they are, for it takes no less than kWorthwhile of the time. table: without any of
// them. Errc::limit: there is no room. REQUIRES: is_of_one_phase() for each.
[[nodiscard]] Result<std::optional<std::vector<StoredPlan>>> planned_together(std::span<const PlanPointer> plans,
                                                                              const placement::TargetTable& table,
                                                                              planning::PlanOptions options);

}  // namespace iez::coordinator
