#include "lab/extent_set.hpp"

#include <algorithm>
#include <iterator>

namespace iez::lab {

std::uint64_t ExtentSet::covered(std::uint64_t start, std::uint64_t end) const {
  if (start >= end) return 0;
  std::uint64_t sum = 0;
  auto next = ends_.upper_bound(start);
  if (next != ends_.begin()) --next;
  for (; next != ends_.end() && next->first < end; ++next) {
    const std::uint64_t from = std::max(start, next->first);
    const std::uint64_t to = std::min(end, next->second);
    if (from < to) sum += to - from;
  }
  return sum;
}

std::uint64_t ExtentSet::add(std::uint64_t start, std::uint64_t end) {
  if (start >= end) return 0;
  const std::uint64_t added = end - start - covered(start, end);
  auto next = ends_.upper_bound(start);
  if (next != ends_.begin() && std::prev(next)->second >= start) --next;
  while (next != ends_.end() && next->first <= end) {
    start = std::min(start, next->first);
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace_hint(next, start, end);
  total_ += added;
  return added;
}

std::uint64_t ExtentSet::remove(std::uint64_t start, std::uint64_t end) {
  if (start >= end) return 0;
  std::uint64_t removed = 0;
  auto next = ends_.upper_bound(start);
  if (next != ends_.begin()) --next;
  while (next != ends_.end() && next->first < end) {
    const auto [first, last] = *next;
    if (last <= start) {
      ++next;
      continue;
    }
    next = ends_.erase(next);
    if (first < start) ends_.emplace(first, start);
    if (last > end) ends_.emplace(end, last);
    removed += std::min(last, end) - std::max(first, start);
  }
  total_ -= removed;
  return removed;
}

}  // namespace iez::lab
