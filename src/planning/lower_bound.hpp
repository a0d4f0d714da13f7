// What no placement of a problem can do better than.
//
// A bound is a number that was proven, for the stripe counts of a placement at hand; `room` of every file must fit, as
// problem.hpp says. Each phase by itself has the bound of phase_bound.hpp. All phases together take longer than the sum of these
//   together   where the very same files are written in one phase and read in another: they have one placement, so what the one
//              leaves of its time is all the room that the other has
//   by room    where all phases want the room of nearly full targets (room_bound.hpp)
//   by reading where files of several phases are read in one (read_bound.hpp)
// Of these three the largest counts: one phase may wait for all three reasons at once.
//
// Thread safety: pure functions. Units: of problem.hpp.
#pragma once

#include <vector>

#include "planning/problem.hpp"

namespace iez::planning {

// No placement has a phase faster than this: for each phase by itself, with the stripe counts of the placement.
std::vector<double> phase_bounds(const Problem& problem, const Placement& placement);

// No placement has a smaller sum over all phases, with the stripe counts of the placement. At least the sum of phase_bounds().
double lower_bound(const Problem& problem, const Placement& placement);

}  // namespace iez::planning
