// What a simulated run gave.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace iez::sim {

// Of requests, from arrival at the server to the reply leaving it; in seconds.
struct LatencyStats {
  std::uint64_t count = 0;
  double mean = 0;
  double deviation = 0;
  double p50 = 0;  // quantiles are within 1 %
  double p99 = 0;
  double max = 0;
};

// One interval of simulated time, over all targets together; depth, clients and credits are those at its end.
struct Sample {
  Duration at{};  // its end
  std::uint64_t depth = 0;
  std::uint64_t finished = 0;  // requests
  Bytes bytes;                 // that clients got acknowledged
  double latency = 0;          // mean of the finished, s; 0: none
  double latency_max = 0;
  std::uint32_t active_clients = 0;  // as the law counts them, the most of any target
  double iops = 0;                   // as the law measures them, sum over targets
  double credits = 0;                // mean over targets of the last given
};

struct JobResult {
  std::string name;
  Bytes bytes;                       // acknowledged
  Bytes read;                        // of these; the rest is written
  std::uint64_t replayed_files = 0;  // 0: the job follows a pattern
  Duration started{};                // of its first process
  std::optional<Duration> finished;  // of its last one; none: the run ended before
  BytesPerSecond bandwidth;          // bytes over the time from start to finish (or end of the run)
  LatencyStats latency;
  std::uint64_t refused_files = 0;  // for want of space
};

struct TargetResult {
  Bytes bytes;  // moved, the useless included
  std::uint64_t requests = 0;
  std::uint64_t positionings = 0;  // requests that did not continue where the one before ended
  std::uint64_t deepest = 0;       // most requests queued or in service at once
  Duration busy{};
  std::uint32_t objects = 0;
};

// The part of the run in which all processes work: from one (longest so far) latency after the last has started until one in
// twenty has finished.
struct StablePhase {
  Duration from{};
  Duration to{};
  LatencyStats latency;
  BytesPerSecond bandwidth;
};

struct RunResult {
  std::uint64_t seed = 0;
  Duration end{};
  Bytes bytes;               // acknowledged
  BytesPerSecond bandwidth;  // over the whole run
  LatencyStats latency;
  std::optional<StablePhase> stable;
  std::vector<JobResult> jobs;
  std::vector<TargetResult> targets;
  std::vector<Sample> samples;
  std::uint64_t requests = 0;  // finished, the useless included
  std::uint64_t timeouts = 0;  // requests that a client gave up and sent again
  std::uint64_t useless = 0;   // finished for a client that had given up
  std::uint64_t deepest = 0;   // most requests at all targets at once
  std::uint64_t events = 0;
};

}  // namespace iez::sim
