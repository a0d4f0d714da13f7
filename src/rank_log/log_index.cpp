#include "rank_log/log_index.hpp"

#include <algorithm>
#include <cerrno>
#include <tuple>

namespace iez::rank_log {

namespace {

bool has_bytes_in(const Entry& entry, std::uint64_t begin, std::uint64_t end) {
  if (entry.is_size()) return entry.pattern.offset < end;
  return next_byte(entry.pattern, begin) < end;
}

auto place_of(const Entry& entry) {
  return std::tuple(entry.pattern.offset, entry.pattern.block, entry.pattern.stride, entry.pattern.count);
}

Entry entry_of(const Record& record, std::uint32_t rank, std::uint64_t number) {
  Entry entry{.log_offset = record.log_offset, .sequence = record.sequence, .tie = (std::uint64_t{rank} << 40U) | number};
  if (record.kind == kKindSize) {
    entry.pattern = {.offset = record.offset, .count = 0};
    entry.end = kNowhere;
  } else {
    entry.pattern = pattern_of(record);
    if (entry.pattern.count == 1) entry.pattern.stride = entry.pattern.block;
    entry.end = end_of(entry.pattern);
  }
  return entry;
}

}  // namespace

Problem LogIndex::load(int folder, std::span<const std::uint32_t> ranks, std::uint64_t begin, std::uint64_t& end,
                       std::size_t memory) {
  entries_.clear();
  most_ = std::max<std::size_t>(memory / sizeof(Entry), 16);
  const Problem no_memory{.error = ENOMEM, .place = Place::folder, .action = Action::allocate, .offset = begin};
  IndexCursor cursor;
  for (const std::uint32_t rank : ranks) {
    if (const Problem problem = cursor.open(folder, rank)) return problem;
    for (;;) {
      Record record{};
      std::uint64_t number = 0;
      bool more = false;
      if (const Problem problem = cursor.next(record, number, more)) return problem;
      if (!more) break;
      const Entry entry = entry_of(record, rank, number);
      if (!has_bytes_in(entry, begin, end)) continue;
      if (entries_.size() >= most_) {
        if (!make_room(begin, end)) return no_memory;
        if (!has_bytes_in(entry, begin, end)) continue;
      }
      if (!entries_.add(entry)) return no_memory;
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.pattern.offset != b.pattern.offset ? a.pattern.offset < b.pattern.offset : before(a, b);
  });
  (void)set_reach(0, entries_.size());  // that of all is of no use
  return {};
}

// Down to three quarters, so that it is not done again for every record.
bool LogIndex::make_room(std::uint64_t begin, std::uint64_t& end) {
  drop_hidden();
  const std::size_t enough = most_ - most_ / 4;
  while (entries_.size() > enough && end - begin > 1) {
    end = begin + (end - begin) / 2;
    keep_within(begin, end);
  }
  return entries_.size() < most_;
}

void LogIndex::keep_within(std::uint64_t begin, std::uint64_t end) {
  Entry* const kept =
      std::remove_if(entries_.begin(), entries_.end(), [=](const Entry& entry) { return !has_bytes_in(entry, begin, end); });
  entries_.shrink_to(static_cast<std::size_t>(kept - entries_.begin()));
}

// Of entries with the very same place only the last one counts.
void LogIndex::drop_hidden() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return place_of(a) != place_of(b) ? place_of(a) < place_of(b) : before(b, a); });
  Entry* const kept =
      std::unique(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return place_of(a) == place_of(b); });
  entries_.shrink_to(static_cast<std::size_t>(kept - entries_.begin()));
}

std::uint64_t LogIndex::set_reach(std::size_t low, std::size_t high) {
  if (low >= high) return 0;
  const std::size_t middle = low + (high - low) / 2;
  Entry& entry = entries_[middle];
  entry.reach = std::max({set_reach(low, middle), entry.end, set_reach(middle + 1, high)});
  return entry.reach;
}

std::uint64_t LogIndex::next_byte_of_any(std::uint64_t from) const {
  std::uint64_t first = kNowhere;
  // Those that begin before it, then the first write that does not.
  visit(from, from + 1, [&](const Entry& entry) {
    if (!entry.is_size()) first = std::min(first, next_byte(entry.pattern, from));
  });
  if (first == from) return first;
  const Entry* at = std::lower_bound(entries_.begin(), entries_.end(), from,
                                     [](const Entry& entry, std::uint64_t offset) { return entry.pattern.offset < offset; });
  while (at != entries_.end() && at->is_size()) ++at;
  return at == entries_.end() ? first : std::min(first, at->pattern.offset);
}

}  // namespace iez::rank_log
