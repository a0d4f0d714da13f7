// The counters of Darshan that a trace is made of, by their names in the text; and the sums of them.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace iez::trace {

enum class DarshanModule : std::uint8_t { posix, stdio, mpi_io, hdf5, lustre, other };

// "POSIX", "MPI-IO", ...
DarshanModule darshan_module(std::string_view name);

enum class DarshanCounter : std::uint8_t {
  none,  // of no use here
  opens,
  passed_on,  // opens that are none: fileno(), dup(), fdopen()
  reads,
  writes,
  bytes_read,
  bytes_written,
  max_byte_written,
  consecutive_reads,
  consecutive_writes,
  access_size,  // with its number, 1 to 4
  access_count,
  renamed_from,
  first_time,
  last_time,
  stripe_size,  // with the number of the component
  stripe_count,
};

struct DarshanCounterName {
  DarshanCounter counter = DarshanCounter::none;
  std::uint32_t number = 0;
};

// "POSIX_BYTES_READ", "MPIIO_INDEP_OPENS", "LUSTRE_COMP2_STRIPE_SIZE", "CP_POSIX_FWRITES", ...
DarshanCounterName darshan_counter(std::string_view name);

// What one module saw of one file, on one rank or on all; as far as it has been read.
struct DarshanRecord {
  std::uint64_t opens = 0;
  std::uint64_t passed_on = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::optional<std::uint64_t> max_byte_written;
  std::uint64_t consecutive_reads = 0;
  std::uint64_t consecutive_writes = 0;
  std::array<std::uint64_t, 4> access_size{};
  std::array<std::uint64_t, 4> access_count{};
  std::uint64_t renamed_from = 0;
  std::optional<std::int64_t> first;  // nanoseconds since the start of the job
  std::optional<std::int64_t> last;
  std::uint64_t stripe_size = 0;  // of the component with most stripes
  std::uint64_t stripe_count = 0;
  std::uint64_t open_size = 0;  // of the component that is being read
  std::uint32_t open_component = 0;

  // False: the value does not follow the format. One that Darshan could not monitor is accepted, and changes nothing.
  bool set(DarshanCounterName name, std::string_view value);

  bool wrote() const { return writes > 0 || bytes_written > 0; }
  bool read() const { return reads > 0 || bytes_read > 0; }

  // Nothing where it is not certain.
  std::optional<std::uint64_t> largest_write() const;
  std::optional<std::uint64_t> largest_read() const;

 private:
  std::optional<std::uint64_t> largest(std::uint64_t calls, std::uint64_t other_calls, std::uint64_t bytes) const;
};

// The ranks that did something: some single ones, or all.
struct RankSet {
  std::vector<std::int32_t> single;  // in the order of the records
  bool all = false;

  void add(std::int64_t rank);  // -1: all of them
  void merge(const RankSet& other);
  bool empty() const { return !all && single.empty(); }

  // Puts the ranks in order, each once.
  void arrange();
};

// The sum of the records of one layer of one file.
struct DarshanTotals {
  std::uint64_t opens = 0;
  std::uint64_t passed_on = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::optional<std::uint64_t> max_byte_written;
  std::uint64_t consecutive_reads = 0;
  std::uint64_t consecutive_writes = 0;
  std::optional<std::uint64_t> largest_write = 0;  // nothing: not known
  std::optional<std::uint64_t> largest_read = 0;
  RankSet writers;
  RankSet readers;
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> last;

  void add(const DarshanRecord& record, std::int64_t rank);
  void add(const DarshanTotals& other);

  std::uint64_t real_opens() const { return opens - std::min(opens, passed_on); }
  bool wrote() const { return writes > 0 || bytes_written > 0; }
  bool idle() const { return real_opens() == 0 && !wrote() && reads == 0 && bytes_read == 0; }
};

}  // namespace iez::trace
