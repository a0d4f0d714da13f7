// What the logs of all ranks tell of a part of FILE, in memory: which writes lie there, and in which order they count.
//
// Memory is bounded: if the records of a range do not fit, writes that a later one of the same place hides are dropped; if that
// is not enough, the range is made shorter, and the caller comes again for the rest. Records of a million pieces stay one entry.
//
// Algorithm: entries sorted by offset, an implicit binary tree over them with the largest end of each subtree. A query takes
// O(log(entries) + entries that reach into the range). Loading reads all indexes once.
//
// Thread safety: none while loading; afterwards visit() from any thread. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rank_log/growing_array.hpp"
#include "rank_log/index_cursor.hpp"
#include "rank_log/pattern.hpp"
#include "rank_log/problem.hpp"

namespace iez::rank_log {

// A write, or with count 0 a new size of FILE: bytes from `pattern.offset` on are gone.
struct Entry {
  Pattern pattern;
  std::uint64_t log_offset = 0;
  std::uint64_t sequence = 0;
  std::uint64_t tie = 0;    // rank and number of the record, in that order
  std::uint64_t end = 0;    // of the pattern; kNowhere for a size
  std::uint64_t reach = 0;  // the largest end in the subtree

  bool is_size() const { return pattern.count == 0; }
  std::uint32_t rank() const { return static_cast<std::uint32_t>(tie >> 40U); }
};

// Later ones win.
inline bool before(const Entry& a, const Entry& b) { return a.sequence != b.sequence ? a.sequence < b.sequence : a.tie < b.tie; }

class LogIndex {
 public:
  // Entries that have bytes in [begin, end). `end` may come back smaller, but above `begin`. ENOMEM: even a byte has more records
  // than fit into `memory` bytes.
  [[nodiscard]] Problem load(int folder, std::span<const std::uint32_t> ranks, std::uint64_t begin, std::uint64_t& end,
                             std::size_t memory);

  std::size_t size() const { return entries_.size(); }

  // Calls take(const Entry&) for those that reach into [begin, end), in order of offsets; strided ones may have no byte there.
  template <typename Take>
  void visit(std::uint64_t begin, std::uint64_t end, Take take) const {
    visit_tree(0, entries_.size(), begin, end, take);
  }

  // The first byte at or behind `from` that some entry has; kNowhere if there is none. Sizes have no bytes.
  std::uint64_t next_byte_of_any(std::uint64_t from) const;

 private:
  template <typename Take>
  void visit_tree(std::size_t low, std::size_t high, std::uint64_t begin, std::uint64_t end, Take& take) const {
    if (low >= high) return;
    const std::size_t middle = low + (high - low) / 2;
    const Entry& entry = entries_[middle];
    if (entry.reach <= begin) return;
    visit_tree(low, middle, begin, end, take);
    if (entry.pattern.offset >= end) return;
    if (entry.end > begin) take(entry);
    visit_tree(middle + 1, high, begin, end, take);
  }

  [[nodiscard]] bool make_room(std::uint64_t begin, std::uint64_t& end);
  void keep_within(std::uint64_t begin, std::uint64_t end);
  void drop_hidden();
  std::uint64_t set_reach(std::size_t low, std::size_t high);

  GrowingArray<Entry> entries_;
  std::size_t most_ = 0;
};

}  // namespace iez::rank_log
