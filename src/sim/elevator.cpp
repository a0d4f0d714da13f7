#include "sim/elevator.hpp"

#include <algorithm>

#include "base/result.hpp"

namespace iez::sim {

void Elevator::add(Entry entry) {
  const auto after = std::upper_bound(waiting_.begin(), waiting_.end(), entry.place,
                                      [](std::uint64_t place, const Entry& other) { return place < other.place; });
  waiting_.insert(after, entry);
}

Elevator::Entry Elevator::take(std::uint64_t head, Duration now) {
  IEZ_ASSERT(!waiting_.empty());
  auto next = std::lower_bound(waiting_.begin(), waiting_.end(), head,
                               [](const Entry& entry, std::uint64_t place) { return entry.place < place; });
  if (next == waiting_.end()) next = waiting_.begin();
  if (++in_batch_ >= kBatch) {
    in_batch_ = 0;
    const auto oldest =
        std::min_element(waiting_.begin(), waiting_.end(), [](const Entry& a, const Entry& b) { return a.since < b.since; });
    if (now - oldest->since > patience_) next = oldest;
  }
  const Entry entry = *next;
  waiting_.erase(next);
  return entry;
}

}  // namespace iez::sim
