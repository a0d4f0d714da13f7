#include "collective/cached_reads.hpp"

#include <algorithm>
#include <iterator>

namespace iez::collective {

std::optional<CachedReads::Range> CachedReads::find(std::int64_t begin, std::int64_t end) const {
  const auto after = std::ranges::upper_bound(ranges_, begin, {}, &Range::begin);
  if (after == ranges_.begin()) return std::nullopt;
  const Range& range = *std::prev(after);
  if (end > range.end) return std::nullopt;
  return range;
}

void CachedReads::add(const Range& range) {
  if (range.begin >= range.end) return;
  if (const auto known = find(range.begin, range.end); known && known->way == range.way) return;
  std::vector<Range> all;
  const auto append = [&all](const Range& one) {
    if (one.begin >= one.end) return;
    if (!all.empty() && all.back().end == one.begin && all.back().way == one.way) {
      all.back().end = one.end;
    } else {
      all.push_back(one);
    }
  };
  for (const Range& one : ranges_) append({.begin = one.begin, .end = std::min(one.end, range.begin), .way = one.way});
  append(range);
  for (const Range& one : ranges_) append({.begin = std::max(one.begin, range.end), .end = one.end, .way = one.way});
  // One within another makes two more.
  while (all.size() > kMost) all.erase(std::ranges::min_element(all, {}, [](const Range& one) { return one.end - one.begin; }));
  ranges_ = std::move(all);
}

}  // namespace iez::collective
