#include "jobs/job_sampler_table.hpp"

#include <algorithm>
#include <bit>

namespace iez::jobs {

std::size_t JobTable::slot_of(std::uint64_t id) const {
  const std::size_t mask = index_.size() - 1;
  std::size_t slot = id & mask;
  while (index_[slot] != kFree && cells_[index_[slot] * width()] != id) slot = (slot + 1) & mask;
  return slot;
}

JobTable::Entry JobTable::find(std::uint64_t id) {
  if (index_.empty()) return {};
  const std::uint32_t entry = index_[slot_of(id)];
  if (entry == kFree) return {};
  return {.cells = cells_.data() + entry * width(), .counters = counters_};
}

JobTable::Entry JobTable::insert(std::uint64_t id) {
  const std::size_t number = size();
  if (2 * (number + 1) > index_.size()) rebuild(std::bit_ceil(2 * (number + 1)));
  // Grows by a quarter: doubling would leave half of a large table empty.
  if (cells_.size() + width() > cells_.capacity()) cells_.reserve(cells_.size() + std::max(cells_.size() / 4, 64 * width()));
  index_[slot_of(id)] = static_cast<std::uint32_t>(number);
  cells_.resize(cells_.size() + width());
  std::uint64_t* const cells = cells_.data() + number * width();
  cells[0] = id;
  return {.cells = cells, .counters = counters_};
}

std::size_t JobTable::remove_unseen(std::uint64_t sample) {
  const std::size_t before = size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < before; ++i) {
    const auto from = cells_.begin() + static_cast<std::ptrdiff_t>(i * width());
    if (from[3] != sample) continue;
    if (kept != i) std::copy_n(from, width(), cells_.begin() + static_cast<std::ptrdiff_t>(kept * width()));
    ++kept;
  }
  if (kept == before) return 0;
  cells_.resize(kept * width());
  rebuild(index_.size());
  return before - kept;
}

void JobTable::rebuild(std::size_t slots) {
  index_.assign(std::max<std::size_t>(slots, 16), kFree);
  for (std::size_t i = 0; i < size(); ++i) index_[slot_of(cells_[i * width()])] = static_cast<std::uint32_t>(i);
}

}  // namespace iez::jobs
