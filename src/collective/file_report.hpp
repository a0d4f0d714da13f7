// What collective I/O did to one file, from its first collective call until it was closed: a line of JSON, written by the library
// under the program and read by `iez collective explain --counters`. docs/formats/collective-counters.md describes it.
//
// Compiled into preload libraries, too. Thread safety: plain values, pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collective/choices.hpp"
#include "collective/contest.hpp"
#include "collective/engine.hpp"
#include "collective/file_layout.hpp"
#include "collective/hints.hpp"

namespace iez::collective {

inline constexpr int kReportVersion = 1;

// Of one rank. Trivially copyable.
struct RankReport {
  Counters counters;
  std::uint32_t is_aggregator = 0;  // it reads or writes the file itself
  std::uint32_t reserved = 0;
};

// Where the time went, of one rank or of several. Nanoseconds.
struct Times {
  std::uint64_t copy = 0;  // between the program's memory and windows
  std::uint64_t wait = 0;  // for other ranks
  std::uint64_t send = 0;  // between nodes, waiting for the other side included
  std::uint64_t file = 0;  // in reads and writes of the file
};

struct FileReport {
  std::string path;
  std::uint32_t nodes = 1;
  std::uint32_t aggregators = 1;  // windows of a portion
  std::int64_t window_bytes = 0;
  FileLayout layout;
  Hints hints;               // in force
  Requests largest_write;    // without bytes: none was collected
  std::uint64_t passed = 0;  // calls that were left to the MPI
  Contest contest;           // what was learnt of the two ways, here and from files before

  // Of all ranks.
  std::uint32_t ranks = 0;
  std::uint32_t aggregator_ranks = 0;
  Counters first;  // of the first rank: calls and portions are the same on all
  Counters sum;
  Times all;
  Times largest;      // each of the rank that has most of it
  Times aggregating;  // of ranks that are aggregators

  void take(std::span<const RankReport> ranks_of_file);
};

// Communication share: of the time that ranks that are aggregators spend in collective calls, that in which they do not read or
// write the file: copying, sending and waiting. Ten-thousandths; 0 if there is no time at all.
std::uint32_t communication_share(const Times& aggregating);

// With a newline at its end, and no other. A path that is not UTF-8 has U+FFFD for each byte that is not ASCII.
std::string to_json_line(const FileReport& report);

}  // namespace iez::collective
