// Puts what the logs have of a range of FILE into a buffer, in the order in which it was written: the last one stays.
//
// Painting reads what is hidden later, too; in return there is no map of who owns which byte, however writes overlap. Each record
// is one read of the log a window, since its blocks lie together there.
//
// Thread safety: none. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rank_log/growing_array.hpp"
#include "rank_log/log_data.hpp"
#include "rank_log/log_index.hpp"

namespace iez::rank_log {

// Which bytes of a window were painted: a bit each.
class Coverage {
 public:
  [[nodiscard]] bool reset(std::size_t bytes);  // none is; false: no memory
  void set(std::size_t begin, std::size_t end);
  void clear(std::size_t begin, std::size_t end);
  // The first byte at or behind `from` that is painted, or not; the size of the window if there is none.
  std::size_t next(std::size_t from, bool painted) const;

 private:
  template <typename Change>
  void change(std::size_t begin, std::size_t end, Change change);

  GrowingArray<std::uint64_t> words_;
  std::size_t bytes_ = 0;
};

class Painter {
 public:
  explicit Painter(int folder) : data_(folder) {}  // stays open longer than this

  // Bytes [begin, begin + size) of FILE. The buffer holds what was there before all logs. `coverage`, if any, tells what was
  // painted: bytes that a new size of FILE took away are zero, and not covered. Adds up the bytes read in `bytes`.
  [[nodiscard]] Problem paint(const LogIndex& index, std::uint64_t begin, std::size_t size, unsigned char* buffer,
                              Coverage* coverage, std::uint64_t& bytes);

  // Some memory between two calls.
  [[nodiscard]] unsigned char* scratch(std::size_t size) { return scratch_.reserve(size) ? scratch_.begin() : nullptr; }

 private:
  Problem paint_write(const Entry& entry, std::uint64_t begin, std::size_t size, unsigned char* buffer, Coverage* coverage,
                      std::uint64_t& bytes);

  LogData data_;
  struct Hit {
    const Entry* entry;
  };
  GrowingArray<Hit> hits_;
  GrowingArray<unsigned char> scratch_;
};

}  // namespace iez::rank_log
