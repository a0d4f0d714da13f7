// Many segments to one row a file, in order of names.
//
// Problem: a run of 10^5 processes leaves 10^5 segments of 100 files each; a file may be in all of them or in one.
// Algorithm: rows are added up by name in a hash table; when it is over the memory allowed, it is sorted and spilled to a
// temporary file; at the end the sorted runs are merged. The law of adding is that of file_counters.hpp, so the outcome does not
// depend on the order of segments, nor on merging some of them first: merged runs are merged like segments. Complexity: linear in
// the slots, plus O(n log n) for n rows of different names. Memory: as allowed, plus a few MiB; plus one segment, where that
// alone is larger.
//
// Processes. Each segment of a process counts as one, whatever its rank: a rank that calls exec or forks leaves several segments,
// and each that wrote the file is counted in `ranks`. One that lists a file twice counts once, by the most that it did, unless
// the segment alone is larger than the memory allowed plus 64 MiB. A name that was used for several files, one after the other,
// each renamed away, is one row: `renamed` is then the greatest of the new names.
//
// Clocks. merge_segments() and merge_to_file() look at the headers of all segments first, and correct the times of hosts whose
// clocks are further off than launching explains (host_clocks.hpp); who uses a Merger does so by correct_clocks(). Merged runs
// have lost their hosts: so those whose clocks are off have to be merged in one step.
//
// Of the run: start is the earliest, end the latest; program, job and host are of the process with the lowest known rank, of
// equal ones the least host, program and job.
//
// A bad segment (unreadable, empty, foreign) is reported, counted and skipped; errors are those of the temporary file, the
// visitor, or the output.
//
// Thread safety: none; one merger, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "input/parse_report.hpp"
#include "trace/file_table.hpp"
#include "trace/segment_info.hpp"
#include "trace/spill.hpp"
#include "trace/traced_file.hpp"

namespace iez::trace {

struct MergeOptions {
  Bytes memory = Bytes::mib(512);
  std::string temporary_directory;                                 // empty: $TMPDIR, or /tmp
  bool drop_unused = false;                                        // leaves out files that were neither created, written nor read
  std::function<void(std::size_t done, std::size_t of)> progress;  // after each segment; may be empty
};

struct MergeSummary {
  RunInfo run;
  std::int32_t rank = kNoRank;     // whose texts the run has
  std::uint64_t segments = 0;      // used
  std::uint64_t bad_segments = 0;  // not used
  std::uint64_t unclosed = 0;      // of those used: the process did not end by itself, or lives
  std::uint64_t dropped = 0;       // records that found no room in the segments
  std::uint64_t rows = 0;          // read
  std::uint64_t files = 0;         // given to the visitor
  std::uint64_t spills = 0;
  std::map<std::string, std::int64_t> clocks_ahead;  // by host, in nanoseconds: times were corrected by that
  input::ParseReport report;
};

class Merger {
 public:
  using Visitor = std::function<Result<void>(const TracedFile&)>;  // the row is valid during the call

  explicit Merger(MergeOptions options);

  // Of the segments that are added from now on.
  void correct_clocks(std::map<std::string, std::int64_t> ahead) { summary_.clocks_ahead = std::move(ahead); }

  // A segment or a merged run.
  [[nodiscard]] Result<void> add_segment(const std::string& path);

  // A row that comes from elsewhere. A name that is empty, too long or has a zero byte is reported and skipped.
  [[nodiscard]] Result<void> add_row(const TracedFile& file);

  // Of what was added so far; complete before finish() but for `files`.
  const MergeSummary& summary() const { return summary_; }

  // REQUIRES: called once, last.
  [[nodiscard]] Result<void> finish(const Visitor& visitor);

 private:
  void add(const TracedFile& file, std::uint32_t source);
  void add_info(const SegmentInfo& info);
  [[nodiscard]] Result<void> spill_if_over(Bytes allowed);
  [[nodiscard]] Result<void> spill();
  [[nodiscard]] Result<void> give(const PackedRow& row, const Visitor& visitor);

  MergeOptions options_;
  MergeSummary summary_;
  bool has_info_ = false;
  std::uint32_t source_ = 0;
  FileTable table_;
  Spill spill_;
  TracedFile row_;  // reused
};

// One sentence for people for each host whose clock was corrected.
std::vector<std::string> clock_notes(const MergeSummary& summary);

// Each input is a file or a directory, which is walked for names that end in ".ieztrace"; links to directories are not followed.
// Sorted, each once. What cannot be walked is reported.
std::vector<std::string> find_segments(std::span<const std::string> inputs, input::ParseReport& report);

[[nodiscard]] Result<MergeSummary> merge_segments(std::span<const std::string> inputs, const MergeOptions& options,
                                                  const Merger::Visitor& visitor);

// To one file of kind `run`, put in place when it is whole. Fails if there is no segment that can be read.
[[nodiscard]] Result<MergeSummary> merge_to_file(std::span<const std::string> inputs, const std::string& output,
                                                 const MergeOptions& options);

}  // namespace iez::trace
