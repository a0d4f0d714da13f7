// A plan mended after targets died or filled up, changing only what it must.
//
// Files that exist keep what they have. Of the others, an object on a target that takes no objects any more moves, and from a
// target with less room left than is planned there as many objects move as do not fit, those of the last files first. Each goes
// to the target that is least used with it, among those its file does not have; if there are not enough of those, the file gets
// fewer stripes, on the targets it keeps and the others that have room. Everything else stays where it was.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "placement/plan.hpp"

namespace iez::placement {

struct Replan {
  Plan plan;
  std::vector<std::uint32_t> changed;  // positions in plan.files, ascending
  std::uint64_t moved_objects = 0;
};

// table: the targets as they are now, without this plan. created: per planned file, whether it exists already; its bytes are
// taken to be in the table. Fails if an object finds no room, and then nothing changes; names are those of the requests.
// REQUIRES: the plan was made for these requests and for a table with the same targets; created is empty or as long as
// plan.files.
[[nodiscard]] Result<Replan> replan(const Plan& plan, const TargetTable& table, std::span<const Request> requests,
                                    const std::vector<bool>& created, BoundWish bound = BoundWish::wanted);

}  // namespace iez::placement
