// From reports of nodes to jobs: sums over the nodes of each.
//
// Reports come late, twice, in any order, from clocks that are apart, and some never come. So:
//   - a report of the same job, node and start counts once: the one that ended last;
//   - a job that was requeued runs again under the same id: a node that reports for the second time starts the next run;
//   - nodes that the scheduler named but that never reported are silent: counted, and the sums are without them;
//   - a run starts with its first node and ends with its last. A report belongs to a run if it overlaps it, within kClocksApart.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "jobs/node_report.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

inline constexpr std::int64_t kClocksApart = 600;  // seconds

struct JobSum {
  JobRow row;
  std::uint32_t reports = 0;    // nodes that reported
  std::uint32_t shared = 0;     // of them, those on which other jobs ran
  std::uint32_t restarted = 0;  // those whose counters were cleared meanwhile
  std::uint32_t lost_mounts = 0;

  bool complete() const { return row.silent_nodes == 0 && nodes_known; }
  bool nodes_known = false;  // how many there are was told

  bool operator==(const JobSum&) const = default;
};

struct ReportSums {
  std::vector<JobSum> jobs;      // ascending by cluster, id, start
  std::uint64_t duplicates = 0;  // reports that were there already
};

ReportSums sum_reports(std::vector<NodeReport> reports);

}  // namespace iez::jobs
