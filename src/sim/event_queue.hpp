// The kernel of a discrete-event simulation: what happens next.
//
// Time is whole nanoseconds since the start. Events of the same time come out in the order they were put in, so a run repeats.
//
// Problem: a priority queue whose time never goes back. No event is put before the one taken last.
//
// Notation: a time is 11 digits of 6 bits. The level of a time is its highest digit that differs from the reference, a time
// at or before every event that waits in a slot.
//
// Algorithm: every level has 64 slots, one for each value of its digit; an event waits in the slot of its level and digit. All
// events of a slot come before those of a higher slot of the level, and before those of a higher level. When the next events are
// asked for, the first slot is emptied, and its start becomes the reference: a small one is sorted into `near_`, from which
// events are taken; a large one is dealt out to the levels below. An event put before the end of `near_` is inserted there, and
// if that grows too long, it is dealt out, too. Events are appended to slots and dealt out in order, so equal times keep theirs
// without a number to compare.
//
// Complexity: an event moves down at most 11 levels, and is sorted among at most 64: the cost does not grow with the number
// of events that wait, but for caches. A heap makes log n steps, each likely to miss. A hold (take one, put one) on one AMD EPYC
// core in ns, this | a 4-ary heap of 24 bytes an event:
//
//   waiting              100        10,000      1,000,000
//   exponential steps    32 | 40    36 | 79     50 | 402
//   uniform steps        33 | 37    36 | 76     51 | 450
//   0.3 ms or 1 s        26 | 46    31 | 84     49 | 373
//   4 values only        22 | 35    23 | 77     48 | 278
//
// Tried as well: 8, 16 and 32 slots a level (32 are as good as 64, fewer are slower), chunks of 14 to 127 events (small ones cost
// up to half as much again for 1,000,000), events packed into 16 bytes (0 to 20 % faster, but time would end after two years).
//
// Memory: 24 bytes an event, and up to 1.1 MB for slots that are hardly used. It does not shrink.
//
// Thread safety: none.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::sim {

template <typename Kind>
struct Event {
  Duration at{};
  std::uint32_t subject = 0;
  std::uint32_t detail = 0;
  Kind kind{};
};

// Kind: an enumeration of at most 8 bytes, the caller's.
template <typename Kind>
class EventQueue {
  static_assert(std::is_enum_v<Kind> && sizeof(Event<Kind>) == 24);

 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue() = default;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Duration now() const { return now_; }           // of the event taken last
  std::uint64_t taken() const { return taken_; }  // so far

  // Room for so many events at once.
  void reserve(std::size_t events) {
    for (std::size_t room = chunks_.size() * kChunk; room < events; room += kChunk) release(make_chunk());
  }

  // REQUIRES: at >= now().
  void put(Duration at, Kind kind, std::uint32_t subject, std::uint32_t detail) {
    IEZ_ASSERT(at >= now_);
    const Event<Kind> event{.at = at, .subject = subject, .detail = detail, .kind = kind};
    ++size_;
    if (ticks(at) >= near_end_) {
      append(event);
    } else if (near_.size() - near_first_ < kNearMost || near_width_ == 1) {
      insert_near(event);
    } else {
      deal_out_near();
      append(event);
    }
  }

  // The event so many behind the next one, as far as it is known by now; else none. What is put may still come before it.
  const Event<Kind>* ahead(std::size_t steps) const {
    return steps < near_.size() - near_first_ ? &near_[near_first_ + steps] : nullptr;
  }

  // The next event; now() is its time. REQUIRES: not empty.
  Event<Kind> take() {
    IEZ_ASSERT(size_ > 0);
    if (near_first_ == near_.size()) fill_near();
    const Event<Kind> event = near_[near_first_++];
    --size_;
    ++taken_;
    now_ = event.at;
    return event;
  }

 private:
  static constexpr unsigned kDigitBits = 6;  // 64 slots: one word tells which are used
  static constexpr unsigned kSlots = 1U << kDigitBits;
  static constexpr unsigned kLevels = (63 + kDigitBits - 1) / kDigitBits;
  static constexpr std::size_t kSmall = 32;  // events of a slot that is sorted at once
  static constexpr std::size_t kNearMost = 64;
  static constexpr std::size_t kChunk = 62;

  // A part of a slot.
  struct Chunk {
    std::array<Event<Kind>, kChunk> events;
    std::size_t count = 0;
    Chunk* next = nullptr;
  };
  struct Slot {
    Chunk* first = nullptr;
    Chunk* last = nullptr;
    std::size_t count = 0;
  };

  static std::uint64_t ticks(Duration at) { return static_cast<std::uint64_t>(at.count()); }

  // From the back: what is put late mostly happens late, and equal times keep their order.
  void insert_near(const Event<Kind>& event) {
    if (near_first_ > kNearMost && near_first_ > near_.size() / 2) {
      near_.erase(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(near_first_));
      near_first_ = 0;
    }
    near_.push_back(event);
    std::size_t hole = near_.size() - 1;
    for (; hole > near_first_ && near_[hole - 1].at > event.at; --hole) near_[hole] = near_[hole - 1];
    near_[hole] = event;
  }

  // The reference is the start of the slot that near_ was, so its events go to lower levels, and all others stay.
  void deal_out_near() {
    near_end_ = reference_;
    for (std::size_t i = near_first_; i < near_.size(); ++i) append(near_[i]);
    near_.clear();
    near_first_ = 0;
  }

  // REQUIRES: event.at >= reference_.
  void append(const Event<Kind>& event) {
    const std::uint64_t at = ticks(event.at);
    const unsigned level = static_cast<unsigned>(std::bit_width((at ^ reference_) | 1U) - 1) / kDigitBits;
    const auto digit = static_cast<unsigned>(at >> (level * kDigitBits)) % kSlots;
    Slot& slot = slots_[level * kSlots + digit];
    if (slot.count == 0) {
      used_[level] |= std::uint64_t{1} << digit;
      used_levels_ |= 1U << level;
      slot.first = slot.last = fresh_chunk();
    } else if (slot.last->count == kChunk) {
      slot.last = slot.last->next = fresh_chunk();
    }
    slot.last->events[slot.last->count++] = event;
    ++slot.count;
  }

  // REQUIRES: near_ has no more events; a slot has.
  void fill_near() {
    near_.clear();
    near_first_ = 0;
    while (true) {
      const auto level = static_cast<unsigned>(std::countr_zero(used_levels_));
      IEZ_ASSERT(level < kLevels);
      const auto digit = static_cast<unsigned>(std::countr_zero(used_[level]));
      const Slot slot = std::exchange(slots_[level * kSlots + digit], {});
      used_[level] &= used_[level] - 1;
      if (used_[level] == 0) used_levels_ &= ~(1U << level);
      const unsigned shift = level * kDigitBits;
      const std::uint64_t above = level + 1 < kLevels ? reference_ >> (shift + kDigitBits) << (shift + kDigitBits) : 0;
      reference_ = above | (std::uint64_t{digit} << shift);
      if (slot.count <= kSmall || level == 0) {
        near_width_ = std::uint64_t{1} << shift;
        near_end_ = reference_ + near_width_;
        empty_chunks(slot.first, [this](const Event<Kind>& event) { insert_near(event); });
        return;
      }
      empty_chunks(slot.first, [this](const Event<Kind>& event) { append(event); });
    }
  }

  template <typename Visit>
  void empty_chunks(Chunk* chunk, const Visit& visit) {
    while (chunk != nullptr) {
      for (std::size_t i = 0; i < chunk->count; ++i) visit(chunk->events[i]);
      Chunk* const next = chunk->next;
      release(chunk);
      chunk = next;
    }
  }

  Chunk* make_chunk() {
    chunks_.push_back(std::make_unique<Chunk>());
    return chunks_.back().get();
  }

  Chunk* fresh_chunk() {
    Chunk* const chunk = free_ != nullptr ? std::exchange(free_, free_->next) : make_chunk();
    chunk->count = 0;
    chunk->next = nullptr;
    return chunk;
  }

  void release(Chunk* chunk) { chunk->next = std::exchange(free_, chunk); }

  // Events before near_end_, by time; those before near_first_ are taken.
  std::vector<Event<Kind>> near_;
  std::size_t near_first_ = 0;
  std::uint64_t near_end_ = 0;    // not before it: in slots
  std::uint64_t near_width_ = 0;  // of the slot that near_ was; 1: all of one time
  std::uint64_t reference_ = 0;
  Duration now_{};
  std::size_t size_ = 0;
  std::uint64_t taken_ = 0;
  std::uint32_t used_levels_ = 0;  // a bit for each
  std::array<std::uint64_t, kLevels> used_{};
  std::array<Slot, std::size_t{kLevels} * kSlots> slots_;  // level by level
  Chunk* free_ = nullptr;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace iez::sim
