// Which aggregator takes which part of a file, and when.
//
// Stripe-contiguous: an aggregator serves stripes of one OST (or of a few, when there are fewer aggregators than OSTs), an OST is
// served by at most `clients_per_ost` aggregators, and aggregators carry about the same load. The file is worked through in
// portions, counted from the start of the file; in a portion every aggregator has a window of at most `window_bytes`, which
// is a list of chunks. All ranks compute the same from the same numbers; nothing is exchanged.
//
// Notation, for a range of n objects on d OSTs: a row is n stripes, one of each object. With at least d aggregators, each OST
// gets k of them, which take turns row by row; k rows are a turn. With fewer, OSTs are dealt to aggregators, the most loaded
// first, and k is 1. A portion is as many whole turns as fit the windows; where not even one fits, a turn is several portions.
//
// What is promised of an OST is promised in each component of the file: locks belong to objects, and a component has its own.
//
// Thread safety: immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collective/file_layout.hpp"

namespace iez::collective {

// A part of the file that lies in one stripe; of a file with a single object and a single aggregator, in neighbouring stripes.
struct Chunk {
  std::int64_t offset = 0;
  std::int64_t length = 0;

  bool operator==(const Chunk&) const = default;
};

struct WindowOptions {
  std::uint32_t aggregators = 1;        // at most; fewer are used where that makes loads even
  std::uint32_t clients_per_ost = 1;    // hint CO
  std::int64_t window_bytes = 4 << 20;  // of one aggregator in one portion; stripes that are larger are taken in parts
};

// From first to last, both included; last < first: none.
struct PortionSpan {
  std::int64_t first = 0;
  std::int64_t last = -1;

  bool operator==(const PortionSpan&) const = default;
};

class Windows {
 public:
  // Numbers out of reason are brought to the nearest that is not: 1 to 65536 aggregators, windows of 4 KiB to 1 GiB.
  Windows(const FileLayout& layout, const WindowOptions& options);

  std::uint32_t aggregators() const { return aggregators_; }   // that have work
  std::int64_t window_bytes() const { return window_bytes_; }  // no window is larger
  std::int64_t alignment() const;                              // divides the bounds of all chunks
  // Portions that hold bytes of the file range [begin, end) are all in [first, last]; not every one of them needs to.
  std::int64_t first_portion(std::int64_t begin) const;  // REQUIRES: begin >= 0
  std::int64_t last_portion(std::int64_t end) const;     // REQUIRES: end > 0
  // The same in one, and narrower where stripes are taken in parts and the range is inside of one.
  PortionSpan portions(std::int64_t begin, std::int64_t end) const;
  // Puts the chunks of a window into `chunks`, ascending by offset; they may be none (in a component with fewer OSTs than
  // others). The windows of all aggregators in all portions cover every byte of the file exactly once.
  void chunks(std::int64_t portion, std::uint32_t aggregator, std::vector<Chunk>& chunks) const;

  // The OSTs that an aggregator serves in the range of that number, ascending. For people.
  std::vector<std::uint32_t> osts_of(std::size_t range, std::uint32_t aggregator) const;

 private:
  struct Part {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t stripe = 1;   // bytes
    std::uint64_t width = 1;    // n, objects
    std::uint64_t clients = 1;  // k
    std::uint64_t turns = 1;    // of a portion
    std::uint64_t group = 1;    // objects of an aggregator in one portion and row
    std::uint64_t pieces = 1;   // of a stripe, one a portion
    std::uint64_t piece_bytes = 1;
    std::uint64_t in_turn = 1;      // portions of a turn that does not fit into one
    std::uint64_t first_block = 0;  // of `turns` turns, counted from the start of the file
    std::int64_t first_portion = 0;
    std::vector<std::uint32_t> osts;
    std::vector<std::vector<std::uint32_t>> shares;  // objects, ascending; aggregator a has share a % size, in turn a / size
    std::vector<std::uint32_t> place;                // of each object in its share

    std::uint64_t block_of(std::int64_t offset) const;
    std::int64_t portion_of(std::uint64_t block) const;
    std::int64_t portion_in_turn(std::int64_t offset) const;
  };

  Part make_part(const StripedRange& range, const WindowOptions& options) const;
  const Part& part_at(std::int64_t offset) const;

  std::int64_t window_bytes_ = 0;
  std::uint32_t aggregators_ = 1;
  std::vector<Part> parts_;
};

}  // namespace iez::collective
