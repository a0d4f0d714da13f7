// The order in which Lustre's round robin visits the targets of a pool: neighbours sit on different servers where they can.
//
// Problem. Spread each server's targets evenly over a ring of N slots, N being all members of the pool, taking objects or not.
// Algorithm. Servers with most targets first; among equals, the one that had so many first, as targets join in the order of the
// table. The j-th member of the pool on a server wants slot floor(j * N / n), n being all targets of that server, in the pool or
// not. If the slot is taken, the next free one after it, around the ring.
// Complexity. O(N log N); the search for a free slot jumps over taken ones.
//
// Follows lod_qos_calc_rr() and lu_qos_add_tgt() of lustre-release c881f8ebcb. Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/targets.hpp"

namespace iez::placement {

// Positions in the table. Depends on the targets, their servers and the members of the pool, on nothing else.
// REQUIRES: a pool of the table.
std::vector<std::uint32_t> lustre_order(const TargetTable& table, std::uint32_t pool);

}  // namespace iez::placement
