// How many stripes the files of a phase get, where nobody has said.
//
// A file of its own process gets one stripe: as many files as targets keep all targets busy, and more stripes only make processes
// meet. Two kinds of files gain by more:
//   shared    several processes write it, or read it, at once, so that one target serves all of them
//   dominant  it alone takes longer than the phase would without it
// For these, object sizes are tried from the whole file downwards: each file gets as many stripes as make its objects no larger,
// and the time of the phase is that of phase_solver.hpp. Of the sizes within kAlike of the best time, the one with the fewest
// stripes is taken: every stripe is an object to create, to lock and to contend for. Objects are not made smaller than
// kLeastObject.
//
// Shared files that are read together in another phase are tried once more, by the time of both phases: one process may write
// what many read. A file that its own process reads is as if it was only written.
//
// What others move is part of the load, so stripes go where there is least of it, and no file gets one on a target so busy that
// the phase would wait for it.
//
// Complexity: some twenty solutions of the phase without search, where there is such a file, twice as many if it is read; else
// none.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planning/phase_solver.hpp"
#include "planning/problem.hpp"

namespace iez::planning {

inline constexpr double kAlike = 1.02;
inline constexpr Bytes kLeastObject = Bytes::mib(1);

// A count for each of the files, which are positions in the problem. Those with a count of their own keep it, up to what the pool
// has. all: those of the problem. load: what the phase has already.
std::vector<std::uint32_t> choose_stripe_counts(const Problem& problem, const PhaseFiles& all,
                                                std::span<const std::uint32_t> files, const PhaseLoad& load, PhaseSolver& solver);

// The objects of a file with so many stripes.
struct Objects {
  std::uint32_t stripes = 1;  // at most so many: small files fill fewer
  Bytes stripe_size;
  Bytes bytes;  // of the largest
  Bytes room;   // likewise, if the file takes all of its room
};
Objects objects_of(const File& file, std::uint32_t stripes);

}  // namespace iez::planning
