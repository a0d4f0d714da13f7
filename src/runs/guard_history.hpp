// Are placed runs of an application faster than those by default? What its history says, and whether it is placed again.
//
// Runs are compared by the rate of their phases (planning/guard.hpp), and only runs of one shape: as many ranks, about as many
// files and bytes. When the placed ones are slower beyond noise, iez steps back: the next kRetry runs go by Lustre's default, and
// then one is placed again, since file systems change. That one counts by itself: runs placed before the long pause are
// forgotten. A run of another shape - more ranks, other files - has a history of its own, so placing begins anew there.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planning/guard.hpp"
#include "store/records.hpp"

namespace iez::runs {

inline constexpr std::size_t kRetry = 10;     // runs by default before a plan is tried again
inline constexpr std::size_t kCompared = 20;  // runs of each kind, the newest
inline constexpr double kTooShort = 0.1;      // seconds of phases: runs below are over before anything was to be waited for
inline constexpr double kSameShape = 1.25;    // at most so many times the files, or bytes, of another run

struct RunShape {
  std::uint32_t ranks = 0;  // 0: not known, and like any
  std::uint64_t files = 0;  // that are large enough to be planned
  Bytes bytes;
};

RunShape shape_of(const store::Run& run);
RunShape shape_of(const store::Prediction& prediction);
bool alike(const RunShape& a, const RunShape& b);

struct GuardAnswer {
  planning::Comparison gain;  // of writing and reading together: what is judged
  planning::Comparison writes;
  planning::Comparison reads;
  bool step_back = false;    // the next run of this shape is not placed
  std::size_t tries_in = 0;  // so many runs by default until a plan is tried again
};

// Newest first. Runs that failed, that are too short, or whose phases are not known, are left out.
GuardAnswer judge_history(std::span<const store::Run> newest_first, const RunShape& shape);

// Of each write phase, by position: what `iez app show` prints.
std::vector<planning::Comparison> compare_phases(std::span<const store::Run> newest_first, const RunShape& shape);

// "write 1.9x the default's rate (3 runs each)"; "as fast as the default (...)"; empty: nothing to compare yet.
std::string gain_text(const GuardAnswer& answer);

}  // namespace iez::runs
