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

  // How large it was at first and in the end, where a process found that it grew by more than was seen; 0 and 0: none did.
  Bytes size_before;
  Bytes size_after;

  std::uint32_t stripe_count = 0;  // 0: not known
  Bytes stripe_size;
  std::int32_t rank = kNoRank;     // of the one process that wrote it (or, if none wrote, read it); the lowest, if several did
  std::uint32_t ranks = 0;         // processes that wrote it (or, if none wrote, read it); 0: not known
  std::uint32_t communicator = 0;  // processes of the program; 0: not known

  // Nanoseconds since 1970; none where the log keeps no time.
  std::optional<std::int64_t> first_ns;
  std::optional<std::int64_t> last_ns;
  std::optional<std::int64_t> first_write_ns;
  std::optional<std::int64_t> last_write_ns;
  std::optional<std::int64_t> first_read_ns;
  std::optional<std::int64_t> last_read_ns;
  std::optional<std::int64_t> opened_ns;   // when it was opened or renamed last
  std::optional<std::int64_t> removed_ns;  // when it was removed last, or another file took its name

  bool own_layout = false;  // the program chose its stripes itself

  friend bool operator==(const TracedFile&, const TracedFile&) = default;
};

// Several processes use one file: "shared"; one does: "per process".
inline bool shared(const TracedFile& file) { return file.ranks > 1; }

// It did not survive its run: it was removed after it was opened or renamed for the last time. Who removed it and who wrote it
// may be different processes.
inline bool removed(const TracedFile& file) {
  return file.removed_ns && (!file.opened_ns || *file.removed_ns >= *file.opened_ns);
}

// The name under which the next run will find it.
inline const std::string& final_name(const TracedFile& file) { return file.renamed.empty() ? file.name : file.renamed; }

// Bytes by which it grew and that no call was seen for: written through mappings, io_uring or raw system calls, or holes. All
// that was written counts as growth, so this is not too much.
Bytes unseen(const TracedFile& file);

// Bytes that the file holds of what was written: what was written over counts once. Several processes that append know of their
// own bytes only, and so does this: it may be too little then, but never more than what was written.
Bytes held(const TracedFile& file);

// Adds what another process did to the same file. REQUIRES: the same name.
void absorb(TracedFile& file, const TracedFile& other);

// What became of planned files at their creation.
struct LayoutCounts {
  std::uint64_t applied = 0;
  std::uint64_t taken = 0;      // another opener gave the file a layout first
  std::uint64_t refused = 0;    // created without it
  std::uint64_t existing = 0;   // were there before
  std::uint64_t elsewhere = 0;  // on a file system that takes no layouts
  std::uint64_t respected = 0;  // in a directory with a layout of its own
  std::int32_t last_errno = 0;  // of one that was refused; 0: not known

  friend bool operator==(const LayoutCounts&, const LayoutCounts&) = default;
};

void absorb(LayoutCounts& counts, const LayoutCounts& other);

// Of the run as a whole; empty or 0 where the source does not say.
struct RunInfo {
  std::string program;  // as started, without arguments
  std::string job;
  std::string host;                // of the first process
  std::uint32_t processes = 0;     // segments or log records it was made of
  std::uint32_t communicator = 0;  // ranks of the program
  std::int64_t start_ns = 0;       // nanoseconds since 1970
  std::int64_t end_ns = 0;
  LayoutCounts layouts;
  std::uint64_t unseen_descriptors = 0;  // opened, but beyond the tables of their processes

  friend bool operator==(const RunInfo&, const RunInfo&) = default;
};

}  // namespace iez::trace
