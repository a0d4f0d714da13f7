// D and IOPS of a server, from its arrivals and replies.
//
//   IOPS = finished operations / busy time, over the last `window` of busy time; busy is D > 0.
//
// The window is of busy time, so that an idle server keeps what it last knew. Before the first window is full, what there is
// counts; before the first reply, IOPS is 0: not known. The window is kept in kSlots parts; the oldest part leaves whole, so the
// span that counts is between window - window/kSlots and window.
//
// A silence longer than the window, while requests are pending, tells of a stopped server or of a clock that jumped, not of a
// speed: it is left out. A time before the last one counts as the last one. A finish while D = 0 changes nothing.
//
// Complexity: O(1) a call, O(1) memory.
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace iez::congestion {

class IopsEstimator {
 public:
  static constexpr std::size_t kSlots = 10;

  explicit IopsEstimator(Duration window);  // REQUIRES: window > 0; shorter than kSlots ns counts as kSlots ns

  void arrive(Duration now);
  void finish(Duration now);

  [[nodiscard]] std::uint64_t depth() const { return depth_; }
  [[nodiscard]] double iops() const;

 private:
  struct Slot {
    std::uint64_t finished = 0;
    Duration busy{};
  };

  void pass(Duration now);

  Duration slot_length_;
  std::size_t current_ = 0;  // slot
  Slot total_;               // of all slots
  std::uint64_t depth_ = 0;
  Duration last_{};
  bool started_ = false;
  std::array<Slot, kSlots> slots_{};
};

}  // namespace iez::congestion
