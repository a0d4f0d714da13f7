// A plan looked over when its run begins: is it still good among what others move now?
//
// It was made when the run before had just ended, and what moved then was that run's own. Now its application is idle, so all
// that moves is others'. With their traffic the time of the plan as it stands is compared with that of one made anew: the same
// files with the same stripes, in the same phases. Only where that is clearly faster (kFasterAtBegin) do files move, for what
// others do at this moment they need not do in the next.
//
// A plan that is too large to be made anew while somebody waits (kObjectsAtBegin, kLoadsAtBegin) stays as it is, and so does one
// of phases whose duration nobody knows: traffic does not count in them.
//
// Thread safety: pure functions. Units: bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "coordinator/stored_plan.hpp"
#include "placement/targets.hpp"
#include "planning/planner.hpp"

namespace iez::coordinator {

inline constexpr double kFasterAtBegin = 1.05;
inline constexpr std::size_t kObjectsAtBegin = 20'000;
inline constexpr std::size_t kLoadsAtBegin = 500'000;  // of each target in each phase
inline constexpr std::size_t kReadAtBegin = 25;        // of both a plan of files that are read together may have this part
inline constexpr std::uint64_t kEffortAtBegin = 500;   // of the search, at most

struct Beginning {
  const StoredPlan& plan;
  const placement::TargetTable& table;  // as it is without the plan
  std::vector<double> load;             // bytes per second that others move on each target
  planning::PlanOptions options;        // `compare` is not looked at: it was decided when the plan was made
};

// What traffic can change: nothing of it is created, traffic counts in a phase of it, and it is small enough.
bool may_change_at_begin(const StoredPlan& plan, std::size_t targets);

// The plan with the next revision; none: it stays as it is. REQUIRES: may_change_at_begin().
[[nodiscard]] Result<std::optional<StoredPlan>> planned_at_begin(Beginning beginning);

}  // namespace iez::coordinator
