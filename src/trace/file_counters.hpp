// The numbers of a TracedFile without its texts: a flat value that can be kept by the million and written to a file as it is.
// Here is the law by which what several processes did becomes one row.
//
// Adding is commutative and associative, so that the order in which segments are merged, and merging in steps, do not matter:
//   bytes, calls, creates, opens   sums, which stay at the largest number
//   largest calls, end             maximum
//   first and last times           minimum and maximum of those known; clocks of hosts are corrected before (merge.hpp)
//   opened, removed                maximum of those known: the file did not survive if it was removed after all opens
//   own layout                     if any process chose one
//   sizes                          minimum before, maximum after, of those known
//   stripes                        the larger count, then the larger size: a file has one layout unless it was made anew
//   rank, ranks                    of those of the highest class only (writer, reader, neither): lowest known rank, sum
//   communicator                   maximum
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <limits>

#include "trace/traced_file.hpp"

namespace iez::trace {

// Stays at the largest number instead of wrapping, as the one of 64 bits (base/units.hpp).
constexpr std::uint32_t saturating_add(std::uint32_t a, std::uint32_t b) {
  return a > ~std::uint32_t{0} - b ? ~std::uint32_t{0} : a + b;
}
using iez::saturating_add;

struct FileCounters {
  static constexpr std::int64_t kNoFirst = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kNoLast = std::numeric_limits<std::int64_t>::min();
  static constexpr std::uint64_t kNoSize = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::uint64_t write_calls = 0;
  std::uint64_t read_calls = 0;
  std::uint64_t sequential_writes = 0;
  std::uint64_t sequential_reads = 0;
  std::uint64_t largest_write = 0;
  std::uint64_t largest_read = 0;
  std::uint64_t end = 0;
  std::uint64_t creates = 0;
  std::uint64_t opens = 0;
  std::uint64_t stripe_size = 0;
  std::uint64_t size_before = kNoSize;
  std::uint64_t size_after = 0;
  std::int64_t first_ns = kNoFirst;
  std::int64_t last_ns = kNoLast;
  std::int64_t first_write_ns = kNoFirst;
  std::int64_t last_write_ns = kNoLast;
  std::int64_t first_read_ns = kNoFirst;
  std::int64_t last_read_ns = kNoLast;
  std::int64_t opened_ns = kNoLast;
  std::int64_t removed_ns = kNoLast;
  std::uint32_t stripe_count = 0;
  std::int32_t rank = kNoRank;
  std::uint32_t ranks = 0;
  std::uint32_t communicator = 0;
  bool own_layout = false;
};

// What a process did to the file, as far as counting processes goes.
enum class FileUse : std::uint32_t { neither, read, written };

FileUse use_of(const FileCounters& counters);

void absorb(FileCounters& counters, const FileCounters& other);

FileCounters counters_of(const TracedFile& file);

// Sets all but the texts.
void set_counters(TracedFile& file, const FileCounters& counters);

}  // namespace iez::trace
