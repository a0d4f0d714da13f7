#include "congestion/iops_estimator.hpp"

#include <algorithm>
#include <chrono>

namespace iez::congestion {

IopsEstimator::IopsEstimator(Duration window) : slot_length_(std::max(window / static_cast<int>(kSlots), Duration(1))) {}

void IopsEstimator::arrive(Duration now) {
  pass(now);
  ++depth_;
}

void IopsEstimator::finish(Duration now) {
  if (depth_ == 0) return;
  pass(now);
  --depth_;
  ++slots_[current_].finished;
  ++total_.finished;
}

double IopsEstimator::iops() const {
  if (total_.finished == 0 || total_.busy <= Duration::zero()) return 0;
  return static_cast<double>(total_.finished) / std::chrono::duration<double>(total_.busy).count();
}

void IopsEstimator::pass(Duration now) {
  if (!started_) {
    started_ = true;
    last_ = now;
    return;
  }
  if (now <= last_) return;
  Duration busy = now - last_;
  last_ = now;
  if (depth_ == 0 || busy > slot_length_ * static_cast<int>(kSlots)) return;
  while (busy > Duration::zero()) {
    const Duration part = std::min(busy, slot_length_ - slots_[current_].busy);
    slots_[current_].busy += part;
    total_.busy += part;
    busy -= part;
    if (slots_[current_].busy < slot_length_) break;
    // Dropping a slot before anything of its successor is known would forget operations that still count.
    current_ = (current_ + 1) % kSlots;
    total_.finished -= slots_[current_].finished;
    total_.busy -= slots_[current_].busy;
    slots_[current_] = {};
  }
}

}  // namespace iez::congestion
