// Between requests for plans, rows of planning, and what the coordinator keeps.
//
// A file has two sizes: the one that is expected decides where it goes; the one that is reserved, seldom exceeded, must fit.
//
// Thread safety: pure functions. Units: bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "coordinator/stored_plan.hpp"
#include "placement/targets.hpp"
#include "planning/rows.hpp"
#include "planning/target_speeds.hpp"

namespace iez::coordinator {

// One for each file or pattern of the request. Fails with Errc::not_found for a pool that the file system does not have, and with
// Errc::invalid_argument for a stripe size that Lustre does not take.
[[nodiscard]] Result<std::vector<planning::Row>> rows_of(const api::PlanRequest& request, const placement::TargetTable& table);

// The row of one planned file, with the stripes that it has, in phase 0.
planning::Row row_of(const StoredLayout& layout, std::uint32_t pool);

// OSTs that a request found slow, as planning takes them.
std::vector<planning::SlowTarget> slow_targets(std::span<const api::SlowOst> slow);

std::vector<OstIndex> osts_of(const placement::TargetTable& table);

// As Surroundings::speed; empty: all alike.
std::vector<double> speeds_of(std::span<const api::SlowOst> slow, const placement::TargetTable& table);

// What is planned for the rows of a request become the entries and layouts of its plan.
void take_plan(std::span<const planning::PlannedRow> planned, std::span<const planning::Row> rows,
               const placement::TargetTable& table, StoredPlan& out);

// For people: targets that are planned around. `stale` is ascending.
std::vector<std::string> notes_of(const placement::TargetTable& table, std::span<const OstIndex> stale);

}  // namespace iez::coordinator
