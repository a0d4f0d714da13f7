#include "trace/darshan_counters.hpp"

#include "base/text.hpp"
#include "base/units.hpp"
#include "trace/text_values.hpp"

namespace iez::trace {

namespace {

using Counter = DarshanCounter;

struct Named {
  std::string_view name;
  Counter counter;
};

// What follows the prefix of the module. The same words mean the same in POSIX, STDIO, MPI-IO and HDF5; the F names are of POSIX
// of 3.0, where it also saw stdio.
constexpr std::array kCounters = std::to_array<Named>({
    {"BYTES_READ", Counter::bytes_read},
    {"BYTES_WRITTEN", Counter::bytes_written},
    {"COLL_OPENS", Counter::opens},
    {"COLL_READS", Counter::reads},
    {"COLL_WRITES", Counter::writes},
    {"CONSEC_READS", Counter::consecutive_reads},
    {"CONSEC_WRITES", Counter::consecutive_writes},
    {"DUPS", Counter::passed_on},
    {"FDOPENS", Counter::passed_on},
    {"FILENOS", Counter::passed_on},
    {"FOPENS", Counter::opens},
    {"FREADS", Counter::reads},
    {"FWRITES", Counter::writes},
    {"F_CLOSE_END_TIMESTAMP", Counter::last_time},
    {"F_CLOSE_START_TIMESTAMP", Counter::first_time},
    {"F_CLOSE_TIMESTAMP", Counter::last_time},
    {"F_OPEN_END_TIMESTAMP", Counter::last_time},
    {"F_OPEN_START_TIMESTAMP", Counter::first_time},
    {"F_OPEN_TIMESTAMP", Counter::first_time},
    {"F_READ_END_TIMESTAMP", Counter::last_time},
    {"F_READ_START_TIMESTAMP", Counter::first_time},
    {"F_WRITE_END_TIMESTAMP", Counter::last_time},
    {"F_WRITE_START_TIMESTAMP", Counter::first_time},
    {"INDEP_OPENS", Counter::opens},
    {"INDEP_READS", Counter::reads},
    {"INDEP_WRITES", Counter::writes},
    {"MAX_BYTE_WRITTEN", Counter::max_byte_written},
    {"NB_READS", Counter::reads},
    {"NB_WRITES", Counter::writes},
    {"OPENS", Counter::opens},
    {"READS", Counter::reads},
    {"RENAMED_FROM", Counter::renamed_from},
    {"SPLIT_READS", Counter::reads},
    {"SPLIT_WRITES", Counter::writes},
    {"WRITES", Counter::writes},
});
static_assert(std::ranges::is_sorted(kCounters, {}, &Named::name));

constexpr std::array<std::string_view, 5> kPrefixes{"POSIX_", "STDIO_", "MPIIO_", "H5F_", "HDF5_"};

// A record of 2.x holds the counters of all layers: those of POSIX have their own prefix. The sizes of its calls are passed over,
// since they are of more than one layer.
constexpr std::array<std::string_view, 6> kOther2x{"INDEP_", "COLL_", "SPLIT_", "NB_", "HDF5_", "ACCESS"};

// "ACCESS3_COUNT" as 3 and "COUNT", for a word of "ACCESS"; nothing if it is not of this form.
struct Numbered {
  std::uint32_t number = 0;
  std::string_view rest;
};

std::optional<Numbered> numbered(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  const std::size_t line = text.find('_');
  if (line > 4) return std::nullopt;  // or not there
  const auto number = text::parse_u64(text.substr(0, line));
  if (!number) return std::nullopt;
  return Numbered{.number = static_cast<std::uint32_t>(*number), .rest = text.substr(line + 1)};
}

DarshanCounterName lustre_counter(std::string_view name) {
  if (name == "STRIPE_SIZE") return {.counter = Counter::stripe_size, .number = 1};
  if (name == "STRIPE_WIDTH") return {.counter = Counter::stripe_count, .number = 1};
  const auto component = numbered(name, "COMP");
  if (!component) return {};
  if (component->rest == "STRIPE_SIZE") return {.counter = Counter::stripe_size, .number = component->number};
  if (component->rest == "STRIPE_COUNT") return {.counter = Counter::stripe_count, .number = component->number};
  return {};
}

DarshanCounterName file_counter(std::string_view name) {
  if (const auto access = numbered(name, "ACCESS"); access && access->number >= 1 && access->number <= 4) {
    if (access->rest == "ACCESS") return {.counter = Counter::access_size, .number = access->number};
    if (access->rest == "COUNT") return {.counter = Counter::access_count, .number = access->number};
    return {};
  }
  const auto* const found = std::ranges::lower_bound(kCounters, name, {}, &Named::name);
  if (found == kCounters.end() || found->name != name) return {};
  return {.counter = found->counter};
}

void earlier(std::optional<std::int64_t>& time, const std::optional<std::int64_t>& other) {
  if (other && (!time || *other < *time)) time = other;
}

void later(std::optional<std::int64_t>& time, const std::optional<std::int64_t>& other) {
  if (other && (!time || *other > *time)) time = other;
}

void merge_largest(std::optional<std::uint64_t>& largest, const std::optional<std::uint64_t>& other) {
  largest = largest && other ? std::optional(std::max(*largest, *other)) : std::nullopt;
}

}  // namespace

DarshanModule darshan_module(std::string_view name) {
  if (name == "POSIX") return DarshanModule::posix;
  if (name == "STDIO") return DarshanModule::stdio;
  if (name == "MPI-IO" || name == "MPIIO") return DarshanModule::mpi_io;
  if (name == "H5F" || name == "HDF5") return DarshanModule::hdf5;
  if (name == "LUSTRE") return DarshanModule::lustre;
  return DarshanModule::other;
}

DarshanCounterName darshan_counter(std::string_view name) {
  constexpr std::string_view kLustre = "LUSTRE_";
  constexpr std::string_view kOld = "CP_";
  constexpr std::string_view kPosix = "POSIX_";
  if (name.starts_with(kOld)) {
    name.remove_prefix(kOld.size());
    if (name.starts_with(kPosix)) return file_counter(name.substr(kPosix.size()));
    for (const std::string_view other : kOther2x) {
      if (name.starts_with(other)) return {};
    }
    return file_counter(name);
  }
  if (name.starts_with(kLustre)) return lustre_counter(name.substr(kLustre.size()));
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return file_counter(name.substr(prefix.size()));
  }
  return {};
}

bool DarshanRecord::set(DarshanCounterName name, std::string_view value) {
  if (name.counter == Counter::none) return true;
  if (name.counter == Counter::first_time || name.counter == Counter::last_time) {
    if (value.starts_with('-')) return text::parse_double(value).has_value();
    const auto time = parse_seconds(value);
    if (!time) return false;
    if (*time == 0) return true;  // never
    name.counter == Counter::first_time ? earlier(first, time) : later(last, time);
    return true;
  }
  if (value.starts_with('-')) return parse_i64(value).has_value();
  const auto number = text::parse_u64(value);
  if (!number) return false;
  const auto add = [&](std::uint64_t& sum) { sum = saturating_add(sum, *number); };
  switch (name.counter) {
    case Counter::opens:
      add(opens);
      break;
    case Counter::passed_on:
      add(passed_on);
      break;
    case Counter::reads:
      add(reads);
      break;
    case Counter::writes:
      add(writes);
      break;
    case Counter::bytes_read:
      add(bytes_read);
      break;
    case Counter::bytes_written:
      add(bytes_written);
      break;
    case Counter::max_byte_written:
      max_byte_written = std::max(max_byte_written.value_or(0), *number);
      break;
    case Counter::consecutive_reads:
      add(consecutive_reads);
      break;
    case Counter::consecutive_writes:
      add(consecutive_writes);
      break;
    case Counter::access_size:
      access_size[name.number - 1] = *number;
      break;
    case Counter::access_count:
      access_count[name.number - 1] = *number;
      break;
    case Counter::renamed_from:
      renamed_from = *number;
      break;
    case Counter::stripe_size:
      open_size = *number;
      open_component = name.number;
      break;
    case Counter::stripe_count:
      if (*number > stripe_count) {
        stripe_count = *number;
        stripe_size = open_component == name.number ? open_size : 0;
      }
      break;
    case Counter::none:
    case Counter::first_time:
    case Counter::last_time:
      break;
  }
  return true;
}

std::optional<std::uint64_t> DarshanRecord::largest(std::uint64_t calls, std::uint64_t other_calls, std::uint64_t bytes) const {
  if (calls == 0) return bytes == 0 ? std::optional(bytes) : std::nullopt;
  if (calls == 1) return bytes;
  if (other_calls > 0) return std::nullopt;  // the sizes are of reads and writes together
  std::uint64_t listed = 0;
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < access_size.size(); ++i) {
    listed = saturating_add(listed, access_count[i]);
    if (access_count[i] > 0) size = std::max(size, access_size[i]);
  }
  return listed == calls && size <= bytes ? std::optional(size) : std::nullopt;
}

std::optional<std::uint64_t> DarshanRecord::largest_write() const { return largest(writes, reads, bytes_written); }
std::optional<std::uint64_t> DarshanRecord::largest_read() const { return largest(reads, writes, bytes_read); }

void RankSet::add(std::int64_t rank) {
  if (rank < 0) {
    all = true;
  } else if (single.empty() || single.back() != rank) {
    single.push_back(static_cast<std::int32_t>(rank));
  }
}

void RankSet::merge(const RankSet& other) {
  all = all || other.all;
  single.insert(single.end(), other.single.begin(), other.single.end());
}

void RankSet::arrange() {
  std::ranges::sort(single);
  const auto rest = std::ranges::unique(single);
  single.erase(rest.begin(), rest.end());
}

void DarshanTotals::add(const DarshanRecord& record, std::int64_t rank) {
  DarshanTotals other{.opens = record.opens,
                      .passed_on = record.passed_on,
                      .reads = record.reads,
                      .writes = record.writes,
                      .bytes_read = record.bytes_read,
                      .bytes_written = record.bytes_written,
                      .max_byte_written = record.max_byte_written,
                      .consecutive_reads = record.consecutive_reads,
                      .consecutive_writes = record.consecutive_writes,
                      .largest_write = record.largest_write(),
                      .largest_read = record.largest_read(),
                      .first = record.first,
                      .last = record.last};
  add(other);
  if (record.wrote()) writers.add(rank);
  if (record.read()) readers.add(rank);
}

void DarshanTotals::add(const DarshanTotals& other) {
  opens = saturating_add(opens, other.opens);
  passed_on = saturating_add(passed_on, other.passed_on);
  reads = saturating_add(reads, other.reads);
  writes = saturating_add(writes, other.writes);
  bytes_read = saturating_add(bytes_read, other.bytes_read);
  bytes_written = saturating_add(bytes_written, other.bytes_written);
  if (other.max_byte_written) max_byte_written = std::max(max_byte_written.value_or(0), *other.max_byte_written);
  consecutive_reads = saturating_add(consecutive_reads, other.consecutive_reads);
  consecutive_writes = saturating_add(consecutive_writes, other.consecutive_writes);
  merge_largest(largest_write, other.largest_write);
  merge_largest(largest_read, other.largest_read);
  writers.merge(other.writers);
  readers.merge(other.readers);
  earlier(first, other.first);
  later(last, other.last);
}

}  // namespace iez::trace
