// Rows by name, in memory: the part of a merge that fits.
//
// An open hash table of 32-bit marks and row numbers over rows in blocks of memory that are never given back before the end: a
// million rows take no allocation each, and clear() keeps the pages for the next million. Rows are sorted by name only when
// asked, eight bytes of the name at a time: comparing whole names would miss the cache twice for each comparison.
//
// Complexity: add() O(length of the name); sorted() O(n log n) comparisons of words for each 8 bytes in which names still agree.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "trace/packed_row.hpp"

namespace iez::trace {

class FileTable {
 public:
  // More rows than this need another table.
  static constexpr std::size_t kMaxRows = std::size_t{1} << 30U;

  FileTable();

  // Adds a row; of an equal name, to the one that is there. Rows of one `source` (not 0) are of one process, which is counted
  // once, by the most that it did. REQUIRES: the name has no zero byte; packed_size() is at most kMaxRow; size() < kMaxRows.
  void add(const FileCounters& counters, std::string_view name, std::string_view renamed, std::uint32_t source);

  static constexpr std::size_t kMaxRow = std::size_t{1} << 20U;

  std::size_t size() const { return rows_.size(); }
  std::size_t memory() const;  // bytes, with what sorted() will need

  // In byte order of names. The rows stay valid until the next add() or clear().
  std::span<const PackedRow* const> sorted();

  void clear();

 private:
  struct Cell {
    std::uint32_t mark = 0;
    std::uint32_t row = 0;  // number plus 1; 0: free
  };

  std::byte* allocate(std::size_t size);
  void grow();
  void merge_into(PackedRow*& row, const FileCounters& counters, std::string_view renamed, std::uint32_t source);

  std::vector<Cell> cells_;  // a power of two of them, at most 3/4 in use
  std::vector<PackedRow*> rows_;
  std::vector<const PackedRow*> sorted_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t block_ = 0;       // the one in use ...
  std::size_t block_used_ = 0;  // ... and how much of it
  std::size_t bytes_ = 0;       // of rows
};

}  // namespace iez::trace
