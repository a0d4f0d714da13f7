// The segments of a run to the rows that the store keeps, and the phases in which they were written and read.
//
// Phases (planning/phases.hpp) are those of files that a plan could be for: not removed, no helper files of MPI libraries, and of
// at least `least_file` bytes. A file was written from the begin of its first write to its last one. Where it holds bytes that no
// call was seen for (mappings, io_uring) it was so from its first use, which is the open, to its last, the close. Reads count
// likewise, of files that were there before the run or were not written by it; both kinds are numbered apart. A file that was
// read in part counts by what was read of it. A smaller file belongs to the phase in which it begins, if there is one, and counts
// for nothing in it.
//
// A file that was written over may have been read by mapping it, which no call tells. Its time of access does, where the file
// system keeps it: if that is since the run used the file first, one byte counts as read. Only files are looked at that a plan
// could be for.
//
// Thread safety: none beyond that of the files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "planning/phases.hpp"
#include "planning/planner.hpp"
#include "store/records.hpp"
#include "trace/merge.hpp"

namespace iez::runs {

// A file of a write phase: when it was written, and where it lies.
struct GatheredWrite {
  std::uint32_t row = 0;  // in Gathered::files
  planning::FileTime time;
  std::vector<OstIndex> osts;  // of its objects; empty: not known
  bool only_calls = true;      // false: parts of it were written in ways that have no times
};

struct Gathered {
  trace::MergeSummary summary;
  Bytes called;                       // by calls to write, what was written over as often as it was
  std::vector<store::FileRow> files;  // in the order of their first use
  std::vector<GatheredWrite> writes;
  std::vector<store::RunPhase> phases;  // those of writes, then those of reads; at most store::kMaxPhases together
};

// Files below one of the folders, which may be links; those that were only looked at are left out.
[[nodiscard]] Result<Gathered> gather(const std::string& trace_folder, std::span<const std::string> folders,
                                      Bytes least_file = planning::kLeastFile);

// On how many OSTs the files of each write phase lie, where that is known of all of them. Pure. OSTs with the same number on two
// file systems are taken for one.
void count_osts(Gathered& gathered);

}  // namespace iez::runs
