// How good a placement can be at best: lower bounds of the largest utilisation.
//
// Given targets with capacity C_j and use U_j, and files that want c_i objects of s_i bytes on distinct targets, no placement has
// a largest utilisation below lambda unless, for every k, the k targets with the least room below lambda can hold what must go
// there: of a file's c_i objects only m - k can avoid them (per_target times as many when overstriping). That is
//
//     sum of the k smallest room_j(lambda)  >=  sum_i s_i (c_i - (m - k) per_target_i)+     for k = 1..m     (1)
//     room_j(lambda) = max(0, lambda C_j - U_j), at most what is available
//
// and lambda >= U_j / C_j. (1) is the linear bound. The integral bounds take a size tau and leave out smaller objects and room
// that could not hold one: (1) must hold for what remains in bytes, and also when objects and room are counted in whole multiples
// of tau, rounded down. For a single size the latter is the Gale-Ryser condition, and the bound is the optimum. And files that
// want almost all targets must meet on some: a set of files has at least m - sum (m - c_i) targets in common, and as many targets
// must have room for the sum of their objects.
//
// Files that want every target leave no choice, and count as used.
//
// Complexity: O(T M log M) with T some 5 steps for the linear bound, some 50 of bisection for a size that raises the integral
// one, and one step for a size that does not.
//
// Thread safety: pure functions.
#pragma once

#include <span>

#include "placement/classes.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

inline constexpr std::size_t kBoundSizes = 32;  // enough in practice: more cost time and hardly raise the bound

struct LowerBound {
  double existing = 0;  // the fullest target as it is, with the files that want every target
  double linear = 0;
  double integral = 0;

  double value() const;  // the largest of the three
};

// Over the targets that some demand may use; the fullest target counts even if it takes no objects. At most `sizes` sizes, evenly
// chosen, are tried for the integral bound; 0 leaves it out. REQUIRES: classes as make_classes() orders them.
LowerBound lower_bound(const TargetTable& table, std::span<const DemandClass> classes, std::size_t sizes);

}  // namespace iez::placement
