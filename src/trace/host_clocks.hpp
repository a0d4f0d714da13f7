// How far the clocks of hosts are apart, from when their processes began.
//
// Problem: times of a segment are by the clock of its host. Of a run of many hosts, one whose clock is an hour off would have
// phases of its own.
// Law: a launcher starts all ranks of a program within kLaunchSpread of each other. The start of a host is the median over its
// ranks, of each the first process that has it. A host whose start differs from that of the hosts (their median) by more than
// kLaunchSpread has a clock that is off by the difference, and its times are corrected by that.
// Nothing is corrected where starts say nothing of clocks: processes without a rank, and launches of which a rank was seen on two
// hosts, since those are two programs, one after the other. Of several launches the one with the most ranks decides; a smaller
// clock error than kLaunchSpread stays.
//
// With two hosts nobody knows whose clock is right: that of the one that began first is taken. The outcome does not depend on the
// order in which segments are added.
//
// Thread safety: none. Complexity: O(n log n) for n processes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "trace/segment_info.hpp"

namespace iez::trace {

inline constexpr std::int64_t kLaunchSpread = 10'000'000'000;

class HostClocks {
 public:
  void add(const SegmentInfo& info);

  // By host: how far its clock is ahead of the others. Hosts that need no correction are not in it.
  std::map<std::string, std::int64_t> ahead() const;

 private:
  using Launch = std::pair<std::string, std::uint32_t>;                         // job, ranks of the program
  using Starts = std::map<std::pair<std::string, std::int32_t>, std::int64_t>;  // by host and rank: the earliest

  std::map<Launch, Starts> launches_;
};

}  // namespace iez::trace
