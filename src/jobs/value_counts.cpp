#include "jobs/value_counts.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace iez::jobs {

namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

ValueCounts::Entry& ValueCounts::slot_of(std::int64_t value) {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads neighbours: runs of values would fall upon each other
  const int shift = 64 - std::countr_zero(slots_.size());
  std::size_t slot = (static_cast<std::uint64_t>(value) * kGoldenRatio) >> shift;
  while (slots_[slot].count != 0 && slots_[slot].value != value) slot = (slot + 1) & (slots_.size() - 1);
  return slots_[slot];
}

void ValueCounts::add(std::int64_t value, std::uint64_t count) {
  if (count == 0) return;
  if (2 * taken_ >= slots_.size()) grow();
  Entry& entry = slot_of(value);
  if (entry.count == 0) {
    entry.value = value;
    ++taken_;
  }
  entry.count += count;
}

void ValueCounts::grow() {
  const std::vector<Entry> old = std::exchange(slots_, std::vector<Entry>(std::max(kFirstSlots, 2 * slots_.size())));
  for (const Entry& entry : old) {
    if (entry.count != 0) slot_of(entry.value) = entry;
  }
}

void ValueCounts::join(const ValueCounts& other) {
  // Entries come in the order of their slots: into fewer slots they would all fall upon each other.
  while (slots_.size() < other.slots_.size()) grow();
  for (const Entry& entry : other.slots_) add(entry.value, entry.count);
}

std::vector<ValueCounts::Entry> ValueCounts::sorted() const {
  std::vector<Entry> entries;
  entries.reserve(taken_);
  std::ranges::copy_if(slots_, std::back_inserter(entries), [](const Entry& entry) { return entry.count != 0; });
  std::ranges::sort(entries, {}, &Entry::value);
  return entries;
}

}  // namespace iez::jobs
