// Which bytes of something are there: disjoint half-open ranges, neighbours joined.
//
// Complexity: O(log n) a call for n ranges, and what it joins or removes.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace iez::lab {

class ExtentSet {
 public:
  // Bytes of [start, end) that were not there before; now they are. An empty range is nothing.
  std::uint64_t add(std::uint64_t start, std::uint64_t end);
  // Bytes of [start, end) that were there; now they are not.
  std::uint64_t remove(std::uint64_t start, std::uint64_t end);
  [[nodiscard]] std::uint64_t covered(std::uint64_t start, std::uint64_t end) const;

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::size_t ranges() const { return ends_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by start
  std::uint64_t total_ = 0;
};

}  // namespace iez::lab
