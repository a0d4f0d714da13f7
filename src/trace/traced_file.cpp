#include "trace/traced_file.hpp"

#include <algorithm>

#include "trace/file_counters.hpp"

namespace iez::trace {

namespace {

std::int32_t lower_known(std::int32_t a, std::int32_t b) {
  if (a < 0 && b < 0) return kNoRank;
  if (a < 0) return b;
  return b < 0 ? a : std::min(a, b);
}

std::optional<std::int64_t> known_first(std::int64_t time) {
  return time == FileCounters::kNoFirst ? std::nullopt : std::optional(time);
}
std::optional<std::int64_t> known_last(std::int64_t time) {
  return time == FileCounters::kNoLast ? std::nullopt : std::optional(time);
}

void absorb_processes(FileCounters& counters, const FileCounters& other) {
  const FileUse own = use_of(counters);
  const FileUse others = use_of(other);
  if (own > others) return;
  if (own < others) {
    counters.rank = other.rank;
    counters.ranks = other.ranks;
    return;
  }
  counters.rank = lower_known(counters.rank, other.rank);
  counters.ranks = saturating_add(counters.ranks, other.ranks);
}

void absorb_stripes(FileCounters& counters, const FileCounters& other) {
  if (other.stripe_count < counters.stripe_count) return;
  if (other.stripe_count == counters.stripe_count && other.stripe_size <= counters.stripe_size) return;
  counters.stripe_count = other.stripe_count;
  counters.stripe_size = other.stripe_size;
}

}  // namespace

FileUse use_of(const FileCounters& counters) {
  if (counters.written > 0 || counters.write_calls > 0) return FileUse::written;
  return counters.read > 0 || counters.read_calls > 0 ? FileUse::read : FileUse::neither;
}

void absorb(FileCounters& counters, const FileCounters& other) {
  absorb_processes(counters, other);  // before the sums, which tell the use
  absorb_stripes(counters, other);
  counters.communicator = std::max(counters.communicator, other.communicator);
  counters.written = saturating_add(counters.written, other.written);
  counters.read = saturating_add(counters.read, other.read);
  counters.write_calls = saturating_add(counters.write_calls, other.write_calls);
  counters.read_calls = saturating_add(counters.read_calls, other.read_calls);
  counters.sequential_writes = saturating_add(counters.sequential_writes, other.sequential_writes);
  counters.sequential_reads = saturating_add(counters.sequential_reads, other.sequential_reads);
  counters.largest_write = std::max(counters.largest_write, other.largest_write);
  counters.largest_read = std::max(counters.largest_read, other.largest_read);
  counters.end = std::max(counters.end, other.end);
  counters.creates = saturating_add(counters.creates, other.creates);
  counters.opens = saturating_add(counters.opens, other.opens);
  counters.size_before = std::min(counters.size_before, other.size_before);
  counters.size_after = std::max(counters.size_after, other.size_after);
  counters.first_ns = std::min(counters.first_ns, other.first_ns);
  counters.last_ns = std::max(counters.last_ns, other.last_ns);
  counters.first_write_ns = std::min(counters.first_write_ns, other.first_write_ns);
  counters.last_write_ns = std::max(counters.last_write_ns, other.last_write_ns);
  counters.first_read_ns = std::min(counters.first_read_ns, other.first_read_ns);
  counters.last_read_ns = std::max(counters.last_read_ns, other.last_read_ns);
  counters.opened_ns = std::max(counters.opened_ns, other.opened_ns);
  counters.removed_ns = std::max(counters.removed_ns, other.removed_ns);
  counters.own_layout = counters.own_layout || other.own_layout;
}

FileCounters counters_of(const TracedFile& file) {
  return {.written = file.written.count,
          .read = file.read.count,
          .write_calls = file.write_calls,
          .read_calls = file.read_calls,
          .sequential_writes = file.sequential_writes,
          .sequential_reads = file.sequential_reads,
          .largest_write = file.largest_write.count,
          .largest_read = file.largest_read.count,
          .end = file.end.count,
          .creates = file.creates,
          .opens = file.opens,
          .stripe_size = file.stripe_size.count,
          .size_before = file.size_after.count > 0 ? file.size_before.count : FileCounters::kNoSize,
          .size_after = file.size_after.count,
          .first_ns = file.first_ns.value_or(FileCounters::kNoFirst),
          .last_ns = file.last_ns.value_or(FileCounters::kNoLast),
          .first_write_ns = file.first_write_ns.value_or(FileCounters::kNoFirst),
          .last_write_ns = file.last_write_ns.value_or(FileCounters::kNoLast),
          .first_read_ns = file.first_read_ns.value_or(FileCounters::kNoFirst),
          .last_read_ns = file.last_read_ns.value_or(FileCounters::kNoLast),
          .opened_ns = file.opened_ns.value_or(FileCounters::kNoLast),
          .removed_ns = file.removed_ns.value_or(FileCounters::kNoLast),
          .stripe_count = file.stripe_count,
          .rank = file.rank,
          .ranks = file.ranks,
          .communicator = file.communicator,
          .own_layout = file.own_layout};
}

void set_counters(TracedFile& file, const FileCounters& counters) {
  file.written.count = counters.written;
  file.read.count = counters.read;
  file.write_calls = counters.write_calls;
  file.read_calls = counters.read_calls;
  file.sequential_writes = counters.sequential_writes;
  file.sequential_reads = counters.sequential_reads;
  file.largest_write.count = counters.largest_write;
  file.largest_read.count = counters.largest_read;
  file.end.count = counters.end;
  file.creates = counters.creates;
  file.opens = counters.opens;
  file.stripe_size.count = counters.stripe_size;
  file.size_before.count = counters.size_after > 0 ? counters.size_before : 0;
  file.size_after.count = counters.size_after;
  file.first_ns = known_first(counters.first_ns);
  file.last_ns = known_last(counters.last_ns);
  file.first_write_ns = known_first(counters.first_write_ns);
  file.last_write_ns = known_last(counters.last_write_ns);
  file.first_read_ns = known_first(counters.first_read_ns);
  file.last_read_ns = known_last(counters.last_read_ns);
  file.opened_ns = known_last(counters.opened_ns);
  file.removed_ns = known_last(counters.removed_ns);
  file.own_layout = counters.own_layout;
  file.stripe_count = counters.stripe_count;
  file.rank = counters.rank;
  file.ranks = counters.ranks;
  file.communicator = counters.communicator;
}

Bytes unseen(const TracedFile& file) {
  const std::uint64_t grown = file.size_after.count - std::min(file.size_before.count, file.size_after.count);
  return {grown - std::min(grown, file.written.count)};
}

Bytes held(const TracedFile& file) {
  const Bytes all = file.written + unseen(file);
  return file.end.count == 0 ? all : std::min(all, std::max(file.end, file.size_after));
}

void absorb(LayoutCounts& counts, const LayoutCounts& other) {
  counts.applied = saturating_add(counts.applied, other.applied);
  counts.taken = saturating_add(counts.taken, other.taken);
  counts.refused = saturating_add(counts.refused, other.refused);
  counts.existing = saturating_add(counts.existing, other.existing);
  counts.elsewhere = saturating_add(counts.elsewhere, other.elsewhere);
  counts.respected = saturating_add(counts.respected, other.respected);
  counts.last_errno = std::max(counts.last_errno, other.last_errno);
}

void absorb(TracedFile& file, const TracedFile& other) {
  FileCounters counters = counters_of(file);
  absorb(counters, counters_of(other));
  set_counters(file, counters);
  // The time of a rename is not kept. The greatest name is at least the same whatever the order, and of numbered ones the last.
  if (other.renamed > file.renamed) file.renamed = other.renamed;
}

}  // namespace iez::trace
