// What one run did to one file: the row that every reader of this module gives and every writer takes, whether it comes from
// segments of the preload library, from CSV, or from the logs of another tracer.
//
// Thread safety: plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"

namespace iez::trace {

// Nothing is known of a rank: the program ran without MPI, or the log does not say.
inline constexpr std::int32_t kNoRank = -1;

struct TracedFile {
  std::string name;     // as the program opened it, made absolute
  std::string renamed;  // the name it has at the end, if another

  Bytes written;
  Bytes read;
  std::uint64_t write_calls = 0;
  std::uint64_t read_calls = 0;
  std::uint64_t sequential_writes = 0;  // calls that went on where the call before them had ended
  std::uint64_t sequential_reads = 0;
  Bytes largest_write;
  Bytes largest_read;
  Bytes end;  // the largest offset written: at most the size of the file

  std::uint64_t creates = 0;
  std::uint64_t opens = 0;

  std::uint32_t stripe_count = 0;  // 0: not known
  Bytes stripe_size;
  std::int32_t rank = kNoRank;     // of the one process that wrote it (or, if none wrote, read it); the lowest, if several did
  std::uint32_t ranks = 0;         // processes that wrote it (or, if none wrote, read it); 0: not known
  std::uint32_t communicator = 0;  // processes of the program; 0: not known

  // Nanoseconds since 1970; none where the log keeps no time.
  std::optional<std::int64_t> first_ns;
  std::optional<std::int64_t> last_ns;

  friend bool operator==(const TracedFile&, const TracedFile&) = default;
};

// Several processes use one file: "shared"; one does: "per process".
inline bool shared(const TracedFile& file) { return file.ranks > 1; }

// The name under which the next run will find it.
inline const std::string& final_name(const TracedFile& file) { return file.renamed.empty() ? file.name : file.renamed; }

// Adds what another process did to the same file. REQUIRES: the same name.
void absorb(TracedFile& file, const TracedFile& other);

// Of the run as a whole; empty or 0 where the source does not say.
struct RunInfo {
  std::string program;  // as started, without arguments
  std::string job;
  std::string host;                // of the first process
  std::uint32_t processes = 0;     // segments or log records it was made of
  std::uint32_t communicator = 0;  // ranks of the program
  std::int64_t start_ns = 0;       // nanoseconds since 1970
  std::int64_t end_ns = 0;

  friend bool operator==(const RunInfo&, const RunInfo&) = default;
};

}  // namespace iez::trace
