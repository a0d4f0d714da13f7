// Which ranges of a file were read before, and which way: what a read leaves in caches is in those of whoever read it.
//
// Problem. Where clients have caches of their own, a collected read leaves its data with the aggregators and the MPI's own read
// with other ranks. A program that reads a range again is served from memory if the call goes the way it went before, and from
// the servers if it does not: a hundred times as slow. So such a call is no trial of the two ways, and must not be one.
//
// Ranges are those of whole calls, from the first byte of any rank to the last. At most kMost are kept; then the shortest is
// forgotten, which costs one trial more. A call costs O(kMost).
//
// Determinism: ranks that add the same ranges find the same. Compiled into preload libraries, too. Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/choices.hpp"

namespace iez::collective {

class CachedReads {
 public:
  static constexpr std::size_t kMost = 64;

  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Way way = Way::pass;

    bool operator==(const Range&) const = default;
  };

  // The range that holds all of [begin, end); none: that was not read, or not one way.
  std::optional<Range> find(std::int64_t begin, std::int64_t end) const;
  // The latest read of a range counts. An empty range is ignored.
  void add(const Range& range);
  void clear() { ranges_.clear(); }

  std::span<const Range> ranges() const { return ranges_; }  // ascending; neighbours that touch went different ways

 private:
  std::vector<Range> ranges_;
};

}  // namespace iez::collective
