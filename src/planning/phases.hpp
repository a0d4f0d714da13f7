// Which files of a run were written (or read) at the same time: its phases, from when each file was first and last used.
//
// Files are taken in the order in which they began. A file joins the first phase that
//   - comes behind every phase in which its rank has finished a file already: who has written one file and begins another one is
//     a step further, although slower ranks may still be at the first, and
//   - is not half over: at least half of the files of the phase end after the file begins.
// If there is none, it begins a new phase. So a barrier, which shows as a gap, ends a phase, and so does a rank that goes on; a
// process that writes one file after the other has as many phases as files; and files that one rank has open at the same time are
// in one phase.
//
// Of several hosts, clocks must agree to within less than a phase; trace/merge.hpp sees to that.
//
// Complexity: O(n log n). Thread safety: pure functions. Units: nanoseconds, since anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace iez::planning {

struct FileTime {
  std::int64_t begin = 0;
  std::int64_t end = 0;    // not before begin
  std::int32_t rank = -1;  // -1: not known, or several
  Bytes bytes;
};

struct SeenPhase {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Bytes bytes;
  std::uint64_t files = 0;

  double seconds() const { return static_cast<double>(end - begin) * 1e-9; }
};

struct SeenPhases {
  std::vector<std::uint32_t> of_file;  // by position
  std::vector<SeenPhase> phases;       // by when they begin
};

SeenPhases find_phases(std::span<const FileTime> files);

}  // namespace iez::planning
