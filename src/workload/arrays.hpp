// Arrays of all processes that a file holds one behind the other, and the part of each that a process has: what a program
// describes to MPI-IO by a view, and to HDF5 by a selection. By POSIX calls it is a write for each run of bytes.
//
// Thread safety: pure functions. Units: sizes, parts and starts in elements; offsets in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workload/pattern.hpp"

namespace iez::workload {

// Part of an array whose last dimension lies together.
struct Box {
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> parts;
  std::vector<std::uint64_t> starts;

  [[nodiscard]] std::uint64_t elements() const;  // of the part
  [[nodiscard]] std::uint64_t all() const;       // of the array
};

struct Array {
  std::string name;
  std::vector<std::uint64_t> sizes;
  std::uint32_t element = 1;  // bytes
};

// What a process has of one array. As many elements in memory as in the file, in the same order.
struct ArrayPart {
  std::uint32_t array = 0;    // its number in the file
  std::uint64_t offset = 0;   // where it begins there
  std::uint32_t element = 1;  // bytes
  Box file;
  Box memory;
  std::uint32_t buffer = 0;  // parts with the same number lie in the same memory

  [[nodiscard]] std::uint64_t bytes() const { return file.elements() * element; }
};

// Whether the pattern is written by arrays: flash, chimera, and ior with a view.
bool has_arrays(const Pattern& pattern);

// All functions below REQUIRE has_arrays(), and a pattern that check() takes.
std::vector<Array> arrays_of(const Pattern& pattern);
// In the order in which they are written. Every process has as many, so that they can be written together.
std::vector<ArrayPart> array_parts(const Pattern& pattern, std::uint32_t rank);
std::uint64_t bytes_of_arrays(const Pattern& pattern);

// A process grid of so many dimensions, as even as the number allows; larger ones first.
std::vector<std::uint64_t> process_grid(std::uint64_t ranks, std::size_t dimensions);

// The runs of a box, in elements: each lies together, and as long as possible.
class BoxRuns {
 public:
  explicit BoxRuns(const Box& box);
  // False: there is none left.
  bool next(std::uint64_t& at, std::uint64_t& length);

 private:
  const Box& box_;
  std::size_t outer_ = 0;  // dimensions that are counted through; those behind them lie together
  std::uint64_t length_ = 0;
  std::uint64_t left_ = 0;
  std::vector<std::uint64_t> index_;
};

// visit(offset in the file, offset in memory, bytes) for each run that lies together in both.
template <typename Visit>
void each_run(const ArrayPart& part, const Visit& visit) {
  BoxRuns file(part.file);
  BoxRuns memory(part.memory);
  std::uint64_t file_at = 0;
  std::uint64_t file_left = 0;
  std::uint64_t memory_at = 0;
  std::uint64_t memory_left = 0;
  while (file_left > 0 || file.next(file_at, file_left)) {
    if (memory_left == 0 && !memory.next(memory_at, memory_left)) return;
    const std::uint64_t length = file_left < memory_left ? file_left : memory_left;
    visit(part.offset + (file_at * part.element), memory_at * part.element, length * part.element);
    file_at += length;
    file_left -= length;
    memory_at += length;
    memory_left -= length;
  }
}

}  // namespace iez::workload
