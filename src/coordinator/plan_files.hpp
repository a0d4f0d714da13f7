// Between requests for plans, what the placement module makes of them, and what the coordinator keeps.
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
#include "base/units.hpp"
#include "coordinator/stored_plan.hpp"
#include "placement/plan.hpp"
#include "placement/request.hpp"
#include "placement/targets.hpp"

namespace iez::coordinator {

// Files to be placed, one a layout; the lists are of one length.
struct PlanFiles {
  std::vector<placement::Request> requests;  // with the expected bytes
  std::vector<Bytes> reserved;
  std::vector<std::uint32_t> entry;  // row of the plan request
};

// A pattern becomes as many files as it stands for.
PlanFiles files_of(const api::PlanRequest& request);

// All files of a plan, created or not, appended.
void append_files(const StoredPlan& plan, PlanFiles& files);

// What is planned for one plan: files [first, first + count) of `planned`, whose sizes are in `files`, become its layouts.
void take_layouts(const placement::Plan& planned, const PlanFiles& files, std::size_t first, std::size_t count, StoredPlan& out);

// For people: targets that are planned around. `stale` is ascending.
std::vector<std::string> notes_of(const placement::Plan& plan, const placement::TargetTable& table,
                                  std::span<const OstIndex> stale);

}  // namespace iez::coordinator
