// The law of counters that are read twice: what was done between the two readings.
//
// Counters of Lustre only grow, with three exceptions:
//   - they wrap: behind 2^63 - 1 comes 0 (those that a kernel shows unsigned: behind 2^64 - 1);
//   - they restart at 0: cleared by an administrator, dropped by a server after 600 s without use, a new mount, a new kernel;
//   - a kernel that adds up the counters of its cores while they change may show a little less than before. That cannot be told
//   from
//     a restart, and is rare enough to be taken for one: the table then counts from 0, which is too much by what was before. So a
//     table whose start_time is known to be the same, and that fell by less than a thousandth, did nothing.
// Counters of one table restart together. So a table restarted if its start_time moved, or if one of its counters fell and did
// not wrap; then all that it shows happened since. A counter that fell has wrapped if it was in the upper half of its range
// before and is in the lower half now: no job moves 4 EiB.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "jobs/rows.hpp"

namespace iez::jobs {

enum class Course : std::uint8_t { grew, wrapped, restarted };

enum class StartTime : std::uint8_t { unknown, same, moved };

struct CounterChange {
  std::uint64_t change = 0;
  Course course = Course::grew;
};

// Of one counter alone.
CounterChange difference(std::uint64_t before, std::uint64_t after);

// Of the counters of one table; the changes go to `change`. REQUIRES: three spans of the same size.
Course difference(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after, StartTime start,
                  std::span<std::uint64_t> change);

// All counters of a row, in one order: data, then metadata.
inline constexpr std::size_t kDataCounters = 4;
inline constexpr std::size_t kIoCounters = 12;
using IoCounts = std::array<std::uint64_t, kIoCounters>;

struct IoCounters {
  DataCalls data;
  MetadataCalls metadata;

  bool operator==(const IoCounters&) const = default;
};

IoCounts to_counts(const IoCounters& counters);
IoCounters from_counts(const IoCounts& counts);

using NetworkArray = std::array<std::uint64_t, 4>;
NetworkArray to_counts(const NetworkCounts& counts);
NetworkCounts from_counts(const NetworkArray& counts);

// Sums stay at the largest number instead of wrapping.
void add(IoCounters& to, const IoCounters& more);
void add(NetworkCounts& to, const NetworkCounts& more);

bool any(const IoCounters& counters);

}  // namespace iez::jobs
