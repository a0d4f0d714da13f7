// Counts what the program does, into the FILE slots of the arena.
//
// Thread safety: any thread; async-signal-safe, lock-free. errno stays as it was.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "arena.hpp"
#include "descriptors.hpp"
#include "system.hpp"

namespace iez::preload {

// What is on. All false: every call is passed on. Changed in the constructor only.
struct Activity {
  bool tracing = false;
  bool calls = false;  // single calls, too
  bool placing = false;
};
extern constinit Activity active;

inline constexpr std::int64_t kAtPosition = -1;  // in place of an offset

enum class Created : std::uint8_t { no, yes, perhaps };  // perhaps: O_CREAT without O_EXCL

// After a successful open. path: as given to the call; null if only the descriptor is known.
void record_open(int fd, int dirfd, const char* path, int flags, Created created);

// Before the descriptor is closed, and when a process ends with it open: how large the file is now. Forgets it.
void record_close(int fd);
void record_all_closed();  // forgets none

// Before dup2() takes the place of `to`, and after any call that made a duplicate.
void record_duplicate(int from, int to);

// `exchanged`: both names live on.
void record_rename(int old_dirfd, const char* old_path, int new_dirfd, const char* new_path, bool exchanged);

// After a name was taken away.
void record_removal(int dirfd, const char* path);

// The program sets the stripes of a file itself.
void record_own_layout(int fd);
void record_own_layout(const char* path);

void record_link(int old_dirfd, const char* old_path, int new_dirfd, const char* new_path);

// The file that this descriptor has written to, as far as that was seen; kNoSlot: none.
std::uint32_t written_file(int fd);

// The program has waited until now for what it wrote to the file, in fsync() or close(): that belongs to the writing.
void record_written_until_now(std::uint32_t file);

// After close(), fclose() or fflush() of that file, which began at `start`, of CLOCK_MONOTONIC_COARSE: one that took long has
// waited for what was written. kNoSlot: nothing.
void record_flushed(std::uint32_t file, std::int64_t start);

// Looks at a descriptor of which nothing is known. `moved`: by how much the call that was just made moved its position.
std::uint32_t adopt(int fd, std::uint64_t moved);

// A single call, when they are asked for. start: call_start() before it.
void record_call(std::uint32_t file, std::uint8_t operation, std::uint64_t offset, std::uint64_t length, std::int64_t start);
void record_call_of(int fd, std::uint8_t operation, std::uint64_t offset, std::int64_t start);

inline std::int64_t call_start() { return active.calls ? clock_ns(CLOCK_MONOTONIC) : 0; }

// Before a transfer. One call may take minutes, so when the first one of a descriptor began is asked for, and of no other.
// use: kHasWritten or kHasRead.
inline std::int64_t transfer_start(int fd, std::uint32_t use) {
  const Descriptor* const descriptor = descriptor_of(fd);
  const bool begun = descriptor == nullptr || (__atomic_load_n(&descriptor->flags, __ATOMIC_RELAXED) & use) != 0;
  if (active.calls) return clock_ns(CLOCK_MONOTONIC);
  return begun ? 0 : clock_ns(CLOCK_MONOTONIC_COARSE);
}

// ---- The path of every read and write ---------------------------------------------------------------------------------------

// CLOCK_MONOTONIC_COARSE: a few milliseconds are enough for the time of the last use, and it costs a few nanoseconds.
inline std::int64_t coarse_now() { return arena.since_start(clock_ns(CLOCK_MONOTONIC_COARSE)); }

inline void touch_at(abi::FileSlot& file, std::int64_t now) {
  if (now < file.first_ns) now = file.first_ns;
  if (now > __atomic_load_n(&file.last_ns, __ATOMIC_RELAXED)) __atomic_store_n(&file.last_ns, now, __ATOMIC_RELAXED);
}
inline void touch(abi::FileSlot& file) { touch_at(file, coarse_now()); }

// Null if there was no room for them.
inline abi::Times* times_of(const abi::FileSlot& file) { return file.times == 0 ? nullptr : &arena.times(file.times - 1); }

// The last use is never before the last write or read: within a tick of the clock there is nothing to store.
// start: of the call, where it is the first one of its descriptor; 0: not known.
inline void touch_transfer(abi::FileSlot& file, std::int64_t abi::Times::* first, std::int64_t abi::Times::* last,
                           std::int64_t start) {
  std::int64_t now = coarse_now();
  abi::Times* const times = times_of(file);
  if (times == nullptr) return touch_at(file, now);
  const std::int64_t seen = __atomic_load_n(&(times->*last), __ATOMIC_RELAXED);
  if (now <= seen) return;
  if (seen == abi::kNoTime) {
    std::int64_t begun = start != 0 ? arena.since_start(start) : now;
    if (begun < file.first_ns) begun = file.first_ns;
    if (now < begun) now = begun;
    __atomic_store_n(&(times->*first), begun, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&(times->*last), now, __ATOMIC_RELAXED);
  touch_at(file, now);
}
inline void touch_write(abi::FileSlot& file, std::int64_t start) {
  touch_transfer(file, &abi::Times::first_write_ns, &abi::Times::last_write_ns, start);
}
inline void touch_read(abi::FileSlot& file, std::int64_t start) {
  touch_transfer(file, &abi::Times::first_read_ns, &abi::Times::last_read_ns, start);
}

inline void note_begun(Descriptor& descriptor, std::int64_t start, std::uint32_t use) {
  if (start != 0) __atomic_fetch_or(&descriptor.flags, use, __ATOMIC_RELAXED);
}

struct TransferCounters {
  std::uint64_t& bytes;
  std::uint64_t& calls;
  std::uint64_t& sequential;
  std::uint64_t& largest;
  std::uint64_t& last_end;
};

inline void count_transfer(const TransferCounters& to, std::uint64_t offset, std::uint64_t bytes) {
  add(to.bytes, bytes);
  add(to.calls, 1);
  if (__atomic_load_n(&to.last_end, __ATOMIC_RELAXED) == offset) add(to.sequential, 1);
  __atomic_store_n(&to.last_end, offset + bytes, __ATOMIC_RELAXED);
  raise_to(to.largest, bytes);
}

// The record of a descriptor that has one, else a number below kFirstRecord.
inline std::uint32_t record_for_use(int fd, Descriptor* descriptor, std::uint64_t moved) {
  if (descriptor == nullptr) return kIgnored;
  const std::uint32_t record = record_of(*descriptor);
  return record == kUnknown ? adopt(fd, moved) : record;
}

inline std::uint64_t offset_of(Descriptor& descriptor, std::int64_t offset, std::uint64_t bytes) {
  if (offset != kAtPosition) return static_cast<std::uint64_t>(offset);
  // A stream that fopen() made moves with its descriptor.
  if (__atomic_load_n(&descriptor.stream, __ATOMIC_RELAXED) != nullptr) add(descriptor.stream_at, bytes);
  return __atomic_fetch_add(&descriptor.position, bytes, __ATOMIC_RELAXED);
}

inline void record_write(int fd, ssize_t done, std::int64_t offset, std::int64_t start) {
  if (done <= 0) return;
  const auto bytes = static_cast<std::uint64_t>(done);
  Descriptor* const descriptor = descriptor_of(fd);
  const std::uint32_t record = record_for_use(fd, descriptor, offset == kAtPosition ? bytes : 0);
  if (record < kFirstRecord) return;
  auto& file = arena.slot<abi::FileSlot>(record - kFirstRecord);
  const std::uint64_t at = offset_of(*descriptor, offset, bytes);
  count_transfer({file.written, file.write_calls, file.sequential_writes, file.largest_write, descriptor->write_end}, at, bytes);
  raise_to(file.end, at + bytes);
  note_begun(*descriptor, start, kHasWritten);
  touch_write(file, start);
  if (start != 0 && active.calls) record_call(record - kFirstRecord, abi::kCallWrite, at, bytes, start);
}

inline void record_read(int fd, ssize_t done, std::int64_t offset, std::int64_t start) {
  if (done <= 0) return;
  const auto bytes = static_cast<std::uint64_t>(done);
  Descriptor* const descriptor = descriptor_of(fd);
  const std::uint32_t record = record_for_use(fd, descriptor, offset == kAtPosition ? bytes : 0);
  if (record < kFirstRecord) return;
  auto& file = arena.slot<abi::FileSlot>(record - kFirstRecord);
  const std::uint64_t at = offset_of(*descriptor, offset, bytes);
  count_transfer({file.read, file.read_calls, file.sequential_reads, file.largest_read, descriptor->read_end}, at, bytes);
  note_begun(*descriptor, start, kHasRead);
  touch_read(file, start);
  if (start != 0 && active.calls) record_call(record - kFirstRecord, abi::kCallRead, at, bytes, start);
}

inline void record_seek(int fd, off_t position) {
  Descriptor* const descriptor = descriptor_of(fd);
  if (descriptor != nullptr && position >= 0) {
    __atomic_store_n(&descriptor->position, static_cast<std::uint64_t>(position), __ATOMIC_RELAXED);
  }
}

}  // namespace iez::preload
