// Demands that are alike, together: what makes a placement of 100,000 files as cheap as one of a few.
//
// Files of a class ask for the same number of objects of the same size in the same pool. Only how many objects of a class each
// target takes has to be decided; who gets which follows by dealing them out (deal.hpp).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/policy.hpp"

namespace iez::placement {

struct DemandClass {
  Demand demand;                       // of each file
  std::vector<std::uint32_t> members;  // positions among the demands, ascending

  std::uint64_t files() const { return members.size(); }
  std::uint64_t objects() const { return members.size() * demand.count; }
  std::uint64_t most_per_target() const { return members.size() * demand.per_target; }
};

// The largest objects first: they are the hardest to place evenly, and the small ones fill what they leave. Within a size the
// largest counts, which have the least choice. The order of the demands does not matter.
std::vector<DemandClass> make_classes(std::span<const Demand> demands);

}  // namespace iez::placement
