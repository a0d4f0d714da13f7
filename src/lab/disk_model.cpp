#include "lab/disk_model.hpp"

#include <algorithm>
#include <cmath>

#include "base/result.hpp"

namespace iez::lab {

DiskModel::DiskModel(const DiskOptions& options) : options_(options), elevator_(options.patience), slots_(options.threads) {
  IEZ_ASSERT(options.rate.value > 0 && options.threads > 0);
  free_slots_.reserve(options.threads);
  for (std::uint32_t slot = options.threads; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

void DiskModel::add(std::uint64_t ticket, std::uint64_t place, Bytes size, Duration arrived) {
  IEZ_ASSERT(arrived >= last_end_);
  waiting_.push_back({.ticket = ticket, .place = place, .size = size, .arrived = arrived});
  admit();
}

// A request keeps its thread while it is on the disks.
void DiskModel::admit() {
  while (!waiting_.empty() && elevator_.size() + (current_ ? 1 : 0) < options_.threads) {
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = waiting_.front();
    waiting_.pop_front();
    elevator_.add({.place = slots_[slot].place, .request = slot, .since = slots_[slot].arrived});
  }
}

std::optional<DiskModel::Done> DiskModel::pop(Duration now) {
  if (!current_) start(now);
  if (!current_ || current_end_ > now) return std::nullopt;
  const Done done{.ticket = current_->ticket, .start = current_start_, .end = current_end_};
  current_.reset();
  last_end_ = done.end;
  busy_ += done.end - done.start;
  admit();
  return done;
}

void DiskModel::start(Duration now) {
  if (elevator_.empty()) return;
  const std::uint32_t slot = elevator_.take(head_, std::max(last_end_, Duration{})).request;
  free_slots_.push_back(slot);
  current_ = slots_[slot];
  current_start_ = std::max({last_end_, current_->arrived, now - options_.catch_up});
  double seconds = static_cast<double>(current_->size.count) / options_.rate.value;
  if (current_->place != head_) {
    seconds += std::chrono::duration<double>(options_.seek).count();
    ++seeks_;
  }
  head_ = current_->place + current_->size.count;
  constexpr double kLongest = 1e9;  // seconds; keeps a hopeless speed within the clock's numbers
  current_end_ = current_start_ + Duration(std::llround(std::min(seconds / speed_, kLongest) * 1e9));
  admit();
}

std::optional<Duration> DiskModel::next() const {
  if (!current_) return std::nullopt;
  return current_end_;
}

}  // namespace iez::lab
