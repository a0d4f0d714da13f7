#include "jobs/counter_difference.hpp"

#include <algorithm>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::jobs {

namespace {

constexpr std::uint64_t kSignedRange = std::uint64_t{1} << 63U;
constexpr std::uint64_t kUnevenSum = 1000;  // a fall by less than this part is the kernel's adding up

// 2^64 is 0 here, which is what unsigned arithmetic makes of it.
std::uint64_t range_of(std::uint64_t before) { return before < kSignedRange ? kSignedRange : 0; }

bool wrapped(std::uint64_t before, std::uint64_t after) {
  const std::uint64_t upper = before < kSignedRange ? kSignedRange / 2 : kSignedRange / 2 * 3;
  return before >= upper && after < kSignedRange / 2;
}

bool fell_a_little(std::uint64_t before, std::uint64_t after) { return after < before && before - after <= before / kUnevenSum; }

}  // namespace

CounterChange difference(std::uint64_t before, std::uint64_t after) {
  if (after >= before) return {.change = after - before};
  if (wrapped(before, after)) return {.change = range_of(before) - before + after, .course = Course::wrapped};
  return {.change = after, .course = Course::restarted};
}

Course difference(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after, StartTime start,
                  std::span<std::uint64_t> change) {
  IEZ_ASSERT(before.size() == after.size() && before.size() == change.size());
  Course course = start == StartTime::moved ? Course::restarted : Course::grew;
  for (std::size_t i = 0; i < before.size() && course != Course::restarted; ++i) {
    CounterChange one = difference(before[i], after[i]);
    if (one.course == Course::restarted && start == StartTime::same && fell_a_little(before[i], after[i])) one = {};
    change[i] = one.change;
    course = std::max(course, one.course);
  }
  if (course == Course::restarted) std::ranges::copy(after, change.begin());
  return course;
}

IoCounts to_counts(const IoCounters& counters) {
  const auto& [data, metadata] = counters;
  return {data.read_bytes, data.write_bytes, data.read_calls, data.write_calls, metadata.open,  metadata.close,
          metadata.create, metadata.mkdir,   metadata.mknod,  metadata.rename,  metadata.rmdir, metadata.unlink};
}

IoCounters from_counts(const IoCounts& counts) {
  return {.data = {.read_bytes = counts[0], .write_bytes = counts[1], .read_calls = counts[2], .write_calls = counts[3]},
          .metadata = {.open = counts[4],
                       .close = counts[5],
                       .create = counts[6],
                       .mkdir = counts[7],
                       .mknod = counts[8],
                       .rename = counts[9],
                       .rmdir = counts[10],
                       .unlink = counts[11]}};
}

NetworkArray to_counts(const NetworkCounts& counts) {
  return {counts.received_bytes, counts.sent_bytes, counts.received, counts.sent};
}

NetworkCounts from_counts(const NetworkArray& counts) {
  return {.received_bytes = counts[0], .sent_bytes = counts[1], .received = counts[2], .sent = counts[3]};
}

void add(IoCounters& to, const IoCounters& more) {
  IoCounts sum = to_counts(to);
  const IoCounts other = to_counts(more);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = saturating_add(sum[i], other[i]);
  to = from_counts(sum);
}

void add(NetworkCounts& to, const NetworkCounts& more) {
  NetworkArray sum = to_counts(to);
  const NetworkArray other = to_counts(more);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = saturating_add(sum[i], other[i]);
  to = from_counts(sum);
}

bool any(const IoCounters& counters) {
  const IoCounts counts = to_counts(counters);
  return std::ranges::any_of(counts, [](std::uint64_t count) { return count != 0; });
}

}  // namespace iez::jobs
