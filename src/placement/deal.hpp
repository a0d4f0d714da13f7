// Who gets which object: from the number of objects per target to lists of targets per file.
//
// Laid end to end, target by target, the objects of a class are dealt to its n files in turn, like cards. A target with at most
// n x per_target objects gives no file more than per_target of them, and every file gets exactly its count. So the distinct
// targets that Lustre asks for cost nothing.
//
// Files that are dealt to one after the other get nearly the same targets. So the files take their turns in an order in which
// neighbours are far apart: what a program writes at the same time lies on targets of its own, as far as there are enough.
//
// A file's stripes are then put into an order in which neighbours are far apart in the table - hence on other servers - and which
// starts elsewhere for each file: programs that write many files from their beginning at once must not all begin on one target.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "placement/classes.hpp"

namespace iez::placement {

struct TargetCount {
  std::uint32_t target = 0;
  std::uint32_t objects = 0;
};

// Writes the targets of each file of the class into assignment.targets, at the file's place. REQUIRES: counts sum to
// group.objects(), none above group.most_per_target(); assignment.offsets are set and targets has its final size.
void deal(const DemandClass& group, std::span<const TargetCount> counts, Assignment& assignment);

}  // namespace iez::placement
