// Evens out how full targets and servers get, at no cost in time: the second goal of planning.
//
// Problem. A placement is given, with the times T_p that it makes of its phases (problem.hpp). Among all placements with the same
// stripes in which no phase takes longer than its T_p - neither the one in which a file is written nor the one in which it is
// read - and every target has room, find one in which
//
//     OSTCost = the largest utilisation of any target / the mean        is least, and of these one in which
//     OSSCost = the largest utilisation of any server / the mean        is.
//
// A phase leaves much to choose: all targets but the slowest could take more without delaying anybody, and targets of one speed
// may change places. With a single phase on empty targets of one speed the two goals are one: its time is the largest use.
//
// Algorithm. Descent from the fullest target: of the steps below, the one after which the fuller of its two targets is emptiest,
// as long as that is less full than the fullest was. Then the same from the fullest server, while no target gets fuller than the
// fullest is by then.
//   move     an object goes to another target
//   swap     it changes places with a smaller one of that target, of any phase
//   bundles  all that is written to the target in one phase changes places with all that is written to the other in that phase.
//            Near the bound of a phase no single object can go anywhere, but its targets are alike
// Every step makes the largest number of a finite list smaller, or rarer, so it ends; it is no more than a local optimum of a
// problem that is NP-hard. On the way to a lower OSTCost no server gets fuller than the fullest was, or than the mean by more
// than kMoreEven.
//
// Where there are many targets, each step looks at a sample of them: the emptiest, and some at random, from a fixed seed; and of
// the objects of a target that could come back, at those whose size is nearest to what would make both equally full.
//
// Steps that take less than a ten-thousandth off the fullest are not worth it, nor are files that are less on every target.
//
// Complexity: O(files + objects log objects + phases * targets), and `effort` looks. A problem of more than kMostLoads phases
// times targets stays as it is.
//
// Thread safety: pure function. Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planning/problem.hpp"

namespace iez::planning {

// A share of the mean utilisation that is worth something.
inline constexpr double kMoreEven = 0.005;

inline constexpr std::size_t kMostLoads = std::size_t{1} << 23U;

// REQUIRES: the placement is one of this problem, and has its room.
void even_out_space(const Problem& problem, Placement& placement, std::uint64_t effort);

}  // namespace iez::planning
