// The requests that a target has in service, and the order in which its disks take them: upwards from where the head is, then
// from the lowest again (C-LOOK).
//
// A request that starts where the one before ended costs no positioning. So requests of one stream that are in service together
// are served as one run, and what keeps them together decides how fast the target is. A stream that goes on for ever would starve
// the others: every kBatch requests the one that waits longest is looked at, and taken if it has waited for too long, as Linux's
// deadline scheduler does.
//
// Complexity: O(log n) to find, and one move of at most 24 n bytes, for n in service: no more than the server has threads.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/prefetch.hpp"
#include "base/units.hpp"

namespace iez::sim {

class Elevator {
 public:
  static constexpr unsigned kBatch = 16;

  struct Entry {
    std::uint64_t place = 0;    // where it starts on the target, bytes
    std::uint32_t request = 0;  // the caller's number
    std::uint32_t bytes : 31 = 0;
    std::uint32_t read : 1 = 0;  // 0: write
    Duration since{};            // when it was added
  };

  explicit Elevator(Duration patience) : patience_(patience) {}

  void add(Entry entry);

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

  // Takes the next request. REQUIRES: not empty().
  Entry take(std::uint64_t head, Duration now);

  // Hint: one of the two above comes soon.
  void expect() const { prefetch(waiting_.data(), std::min(waiting_.size() * sizeof(Entry), kExpected)); }

 private:
  static constexpr std::size_t kExpected = 512;  // bytes

  std::vector<Entry> waiting_;  // ascending by place, then by when they came
  Duration patience_;
  unsigned in_batch_ = 0;
};

}  // namespace iez::sim
