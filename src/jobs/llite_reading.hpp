// What the mounts of one node counted so far: read before a job, and after it.
//
//     llite.lustre-ffff888111310800.stats     one for each mount, since it was mounted or cleared
//     lnet.stats                              messages and bytes of LNet, of the whole node
//
// A reading is kept in a file between prolog and epilog (node_report_state.hpp), as text:
//
//     iez-node 1
//     time 1794728867
//     memory 270532792320
//     network 53029565353720 21201322992 101719291 101719323
//     mount lustre-ffff888111310800 1794728300953449625 151814144 303104083 344 572 221 221 19 8 159 0 0 40
//     end
//
// with the counters in the order of to_counts(), and "-" for a start that the kernel does not tell.
//
// Thread safety: plain values; reading is safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "jobs/counter_difference.hpp"
#include "lustre/param_source.hpp"

namespace iez::jobs {

struct MountReading {
  std::string device;                   // "lustre-ffff888111310800": the file system and this mount of it
  std::optional<std::int64_t> started;  // nanoseconds since 1970: of its counters, from Lustre 2.14 on
  IoCounters counters;

  bool operator==(const MountReading&) const = default;
};

struct NodeReading {
  static constexpr std::size_t kMaxMounts = 1000;

  std::int64_t time = 0;                // seconds since 1970
  std::optional<std::uint64_t> memory;  // of the node
  std::optional<NetworkCounts> network;
  std::vector<MountReading> mounts;  // ascending by device

  bool operator==(const NodeReading&) const = default;
};

// A node without a mount gives a reading without one: that is for the caller to judge. What cannot be read is in the report, but
// fails if it may not be read at all (Errc::permission): llite counters are for root.
[[nodiscard]] Result<NodeReading> read_node(std::span<const std::unique_ptr<lustre::ParamSource>> sources, const Clock& clock,
                                            input::ParseReport& report);

std::string to_text(const NodeReading& reading);
[[nodiscard]] Result<NodeReading> parse_reading(std::string_view text, std::string_view origin);

// "A B C D ...", the eleven numbers of LNet's stats.
std::optional<NetworkCounts> parse_lnet_stats(std::string_view text);

}  // namespace iez::jobs
