// Where Lustre itself would put the files of a problem: what a plan has to beat.
//
// Round robin, or weighted lots where free space is uneven (placement/lustre_qos.hpp), from the targets as they are. Nobody knows
// where the ring stands, nor in which order the processes of a phase come: both are drawn, from `seed`. Files that a plan leaves
// alone are placed, too: each takes its turn on the ring, and its bytes delay the others of its phase.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "planning/problem.hpp"

namespace iez::planning {

// Fails (not_found) if a pool has no active target.
[[nodiscard]] Result<Placement> lustre_default(const Problem& problem, std::uint64_t seed);

// The score of a plan together with the files that it leaves to Lustre: the mean of several draws of theirs. That of the plan
// alone where it leaves none, or next to nothing.
[[nodiscard]] Result<Score> score_with_left(const Problem& problem, const Placement& plan);

// The score of Lustre's default: the mean of several draws. Problems so large that a draw takes seconds get fewer draws, and of
// the lots, which take time in proportion to the targets, only those of some phases. A phase is looked at only if all of its
// files are, those that are read in it as well.
struct DefaultScore {
  std::vector<double> phases;            // T_p of each phase that was looked at; else 0
  std::vector<std::uint32_t> looked_at;  // ascending
  double seconds = 0;                    // of those
  double ost_cost = 1;                   // afterwards; of no use unless all phases were looked at
  double oss_cost = 1;
};
[[nodiscard]] Result<DefaultScore> score_default(const Problem& problem);

}  // namespace iez::planning
