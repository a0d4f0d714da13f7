// Why a file gets the OSTs it gets, in sentences: `iez place explain`. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "command.hpp"
#include "place_view.hpp"
#include "placement/plan.hpp"

namespace iez::cli {

// What another policy would have done with the same files.
struct OtherPlan {
  std::string policy;
  Result<placement::Plan> plan;
};

// request: position of the file among the requests.
std::string explain_text(const PlanView& view, std::uint32_t request, std::span<const OtherPlan> others, bool header,
                         const Terminal& terminal);
std::string explain_json(const PlanView& view, std::uint32_t request, std::span<const OtherPlan> others);

// Place of each target among those with a size, 1 being the least used; equals share the better place, and a target of no size
// has 0.
std::vector<std::size_t> ranks(const placement::TargetTable& table, std::span<const Bytes> added);

// How the stripe size came about: "4.00 MiB, chosen: ...".
std::string stripe_size_text(const placement::Planned& piece, bool given);

}  // namespace iez::cli
