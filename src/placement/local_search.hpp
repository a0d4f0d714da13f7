// Makes the fullest target less full, by moving one of its objects or exchanging a few for others, until neither helps.
//
// Mixed sizes cannot be placed optimally in polynomial time; placing the largest first leaves the fullest target at most one
// object above the mean, and this search takes most of that away. It works on classes: an object of a class may move to any
// target that holds fewer objects of the class than it has files, since dealing (deal.hpp) finds the files afterwards.
//
// Every step strictly lowers the fuller of two targets below the fullest there was, so it ends. When no step helps, a few objects
// are moved at random and the search starts anew from there; the best placement seen is kept. `effort` bounds the targets and
// classes looked at. Deterministic: the random numbers have a fixed seed.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>

#include "placement/classes.hpp"
#include "placement/levels.hpp"
#include "placement/spread.hpp"

namespace iez::placement {

struct SearchOptions {
  double bound = 0;                  // stop at this largest utilisation
  std::uint64_t effort = 2'000'000;  // candidates to look at
};

// Largest utilisation reached; levels and spreads are changed to match.
double local_search(std::span<const DemandClass> classes, Levels& levels, Spreads& spreads, const SearchOptions& options);

}  // namespace iez::placement
