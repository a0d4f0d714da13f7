// What placing itself costs: the share of the time of a run that its processes wait longer for files to be created.
//
// A planned file is created with its layout, which takes one round trip to the metadata server more. The processes of a phase
// create their files side by side, so that a phase takes one trip longer, and what the server needs for each file:
//
//     price = the sum over phases with n_p > 0 planned files of (kTrip + n_p kEach) / the sum of the seconds of these phases
//
// A phase whose seconds are not known counts for nothing. A process that writes one file after the other has a phase for each of
// them, and waits each time.
//
// Both numbers are rough: 10 to 12 files that were created at once took 15 ms longer on the lab. So a plan is not made for what
// is worth less than that.
//
// Thread safety: pure function.
#pragma once

#include "planning/problem.hpp"

namespace iez::planning {

inline constexpr double kTrip = 0.015;   // seconds
inline constexpr double kEach = 0.0001;  // seconds: some 10,000 layouts a second

double placing_price(const Problem& problem, const Placement& placement);

}  // namespace iez::planning
