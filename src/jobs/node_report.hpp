// What one node did for one job: the difference of two readings.
//
// Mounts are matched by name, which is another after each mount. The law of one mount is that of its table of counters
// (counter_difference.hpp); then
//   - a mount that is only in the second reading was mounted while the job ran: all that it shows is younger than the job;
//   - a mount that is only in the first was unmounted, and took what it counted with it: counted as lost.
// llite knows no jobs. If others ran on the node at the same time, what they did is in the difference as well: counted in
// `others`.
//
// Thread safety: pure functions, plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/counter_difference.hpp"
#include "jobs/llite_reading.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

// What the scheduler says of a job on a node.
struct JobOnNode {
  std::string cluster;
  std::string id;
  std::string user;
  std::string node;
  std::uint32_t nodes = 0;  // of the job; 0: not known

  bool operator==(const JobOnNode&) const = default;
};

struct NodeReport {
  JobOnNode job;
  std::int64_t started = 0;  // by the clock of the node
  std::int64_t ended = 0;
  std::optional<std::uint64_t> memory;
  IoCounters io;
  std::optional<NetworkCounts> network;
  std::uint32_t others = 0;       // jobs that were on the node when this one started or ended
  std::uint32_t restarted = 0;    // mounts whose counters were cleared: what they did before is not in the sums
  std::uint32_t lost_mounts = 0;  // that were there before the job, and not after it

  bool operator==(const NodeReport&) const = default;
};

// `others` is left for the caller to set.
NodeReport difference(const JobOnNode& job, const NodeReading& before, const NodeReading& after);

}  // namespace iez::jobs
