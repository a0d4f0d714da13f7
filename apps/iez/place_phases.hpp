// `iez place --phases`: a plan by what is written together (planning/planner.hpp), and Lustre's default beside it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "place_view.hpp"
#include "placement/plan.hpp"
#include "placement/request.hpp"
#include "placement/targets.hpp"
#include "planning/planner.hpp"

namespace iez::cli {

// Load of the slowest OST in one phase, in bytes.
struct PhaseRow {
  std::uint32_t phase = 0;  // as the requests number it
  std::size_t files = 0;    // written or read in it
  Bytes bytes;
  double by_plan = 0;
  std::optional<double> by_default;  // none: not drawn, there are too many
  double bound = 0;                  // no placement is below
};

struct PhasesPlan {
  placement::Plan plan;  // of the files, in the form in which all plans are shown; without a bound of utilisation
  std::vector<PhaseRow> phases;
  planning::Verdict verdict = planning::Verdict::nothing;
  std::string verdict_text;
  double gain = 1;      // time by default over time by plan
  double bound = 0;     // of the sum over all phases
  double ost_cost = 1;  // by default, afterwards; of no use unless all phases were drawn
  double oss_cost = 1;
  bool all_drawn = true;
  std::size_t left_alone = 0;  // files too small to be planned
};

// Fails (Errc::invalid_argument) for a progressive or overstriped file and an unknown pool, (Errc::limit) if a file finds no
// room, and (Errc::not_found) if nothing takes objects.
[[nodiscard]] Result<PhasesPlan> plan_phases(const placement::TargetTable& table, std::span<const placement::Request> requests);

// view: of plan.plan.
std::string phases_text(const PlanView& view, const PhasesPlan& plan, std::size_t limit, bool header, const Terminal& terminal);
std::string phases_json(const PlanView& view, const PhasesPlan& plan, std::size_t limit);

}  // namespace iez::cli
