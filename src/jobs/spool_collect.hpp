// From spool files to rows: what was spooled as rows is handed on, and reports of nodes are summed into jobs.
//
// A job is handed on once all its nodes have reported, or once nobody has for `patience` seconds: then with silent nodes. Its
// mark is kept, so that a report that comes later amends the row under the start it had before: the key of a row never changes.
// Collecting twice, or being killed between the rows and their marks, hands on the same rows again.
//
// Thread safety: none. Memory: all reports of the files, some 300 bytes each; rows are handed on as they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "jobs/node_report_sum.hpp"
#include "jobs/row_sink.hpp"
#include "jobs/spool.hpp"

namespace iez::jobs {

struct CollectOptions {
  std::int64_t now = 0;
  std::int64_t patience = 3600;   // seconds
  bool rows = true;               // hand on what was spooled as rows
  bool again = false;             // marks are not looked at: everything is handed on, complete or not
  std::span<const JobRow> facts;  // what the scheduler knows of jobs: start, end, user, nodes, memory; wins over what nodes say
  std::function<void(std::size_t files)> progress;  // if any: told how many files have been read, before the next one
};

struct CollectSummary {
  SpoolSummary spool;
  std::uint64_t files = 0;
  std::uint64_t job_rows = 0;  // handed on as they were
  std::uint64_t series_rows = 0;
  std::uint64_t reports = 0;     // of nodes
  std::uint64_t duplicates = 0;  // of them, those that were there already
  std::uint64_t jobs = 0;        // summed and handed on
  std::uint64_t amended = 0;     // of them, those that were handed on before, with fewer nodes
  std::uint64_t known = 0;       // handed on before, and nothing new
  std::uint64_t waiting = 0;     // for nodes
  std::uint64_t silent_nodes = 0;
  std::uint64_t shared = 0;          // jobs that were not alone on a node
  std::uint64_t incomplete = 0;      // jobs of which counters were cleared, or mounts lost, meanwhile
  std::vector<CollectedMark> marks;  // to be kept once the rows are
};

// A file that cannot be read is told of in problems, and passed over.
[[nodiscard]] Result<CollectSummary> collect(std::span<const std::string> files, const CollectOptions& options, RowSink& sink,
                                             input::ParseReport& problems);

}  // namespace iez::jobs
