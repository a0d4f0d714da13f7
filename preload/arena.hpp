// The trace segment of this process: a file in the trace directory that is mapped, so that nothing has to be flushed and nothing
// is lost when the process is killed (trace/segment_format.hpp).
//
// Made at the first record, with a name of its own. The mapping has its full size from the start and never more; the file begins
// small and grows. Only bytes that the file system has promised (fallocate) are touched: a full disk gives dropped records, never
// SIGBUS. The file is made read-only, so that nobody cuts it short by accident. No descriptor is kept open.
//
// Thread safety: any thread; async-signal-safe, lock-free. errno is changed by begin() and claim().
#pragma once

#include <sys/types.h>

#include <climits>
#include <cstdint>

#include "trace/segment_format.hpp"

namespace iez::preload {

namespace abi = trace::abi;

class Arena {
 public:
  // Of this process, from now on. REQUIRES: called in the constructor and in the child of a fork, when there is one thread.
  void start_process();

  // False in a child that shares the memory (vfork): it must leave every table alone. One system call. Also false once the
  // process is confined.
  bool in_own_process() const;

  // From now on a system call that the program did not make itself may end it (seccomp): what needs one is not recorded any more.
  void confine() { __atomic_store_n(&confined_, true, __ATOMIC_RELAXED); }

  bool ready() const { return __atomic_load_n(&state_, __ATOMIC_ACQUIRE) == kReady; }
  bool failed() const { return __atomic_load_n(&state_, __ATOMIC_RELAXED) == kFailed; }

  // True once the segment is there. False if it cannot be made, or not in time. The first call makes it; other threads that call
  // meanwhile wait for a moment.
  bool begin();

  // As abi::claim_slots(); grows the file if need be.
  std::uint32_t claim(std::uint32_t count);

  // Room for the times of one file, with none known: its number plus 1, or 0.
  std::uint32_t claim_times();

  // Whether what tells less than a record of a file may still take a slot: the last quarter is left to files.
  bool has_room_for_more() const { return __atomic_load_n(&header_->slots_used, __ATOMIC_RELAXED) < capacity_ / 4 * 3; }

  // One slot for single calls: a record of a file tells more than six of them.
  std::uint32_t claim_for_calls();

  abi::Header& header() { return *header_; }
  template <typename T>
  T& slot(std::uint32_t number) {
    return *reinterpret_cast<T*>(slots_ + number);
  }
  // By its number.
  abi::Times& times(std::uint32_t number) { return reinterpret_cast<abi::Times*>(slots_)[number]; }
  // Of the names: open addressing, kIndexSize words that were 0 at first. Private memory.
  std::uint64_t* index() { return index_; }

  std::int64_t since_start(std::int64_t monotonic_ns) const { return monotonic_ns - start_monotonic_; }
  std::int64_t process_start_ns() const { return process_start_ns_; }
  std::uint32_t generation() const { return generation_; }

  // The state in the file; nothing happens without a segment, or in a child that shares the memory.
  void mark_closed();
  void mark_open();

  // Of state_: a word, since the atomic operations of clang take no enumerators.
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::uint32_t kMaking = 1;
  static constexpr std::uint32_t kReady = 2;
  static constexpr std::uint32_t kFailed = 3;

  static constexpr std::uint32_t kIndexSize = 32768;  // a power of 2, and more than slots

 private:
  bool make();
  bool wait_until_made();
  bool map(int fd);
  bool write_header(int fd);
  bool grow(std::uint64_t slots);
  std::uint32_t take(std::uint32_t count);  // as claim(), but what finds no room is not counted

  bool confined_ = false;
  std::uint32_t state_ = kNone;
  std::uint32_t generation_ = 0;
  pid_t pid_ = 0;
  std::int64_t process_start_ns_ = 0;
  abi::Header* header_ = nullptr;
  abi::Slot* slots_ = nullptr;
  std::uint64_t* index_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t allocated_ = 0;  // slots that the file has room for
  std::uint64_t times_ = 0;      // the slot with room for times, plus 1, and in the last byte how much of it is taken; 0: none
  std::int64_t process_start_monotonic_ = 0;
  std::int64_t start_monotonic_ = 0;
  char path_[PATH_MAX] = {};
};

extern constinit Arena arena;

inline void add(std::uint64_t& counter, std::uint64_t count) { __atomic_fetch_add(&counter, count, __ATOMIC_RELAXED); }

inline void raise_to(std::uint64_t& largest, std::uint64_t value) {
  std::uint64_t seen = __atomic_load_n(&largest, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(&largest, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

inline void lower_to(std::uint64_t& smallest, std::uint64_t value) {
  std::uint64_t seen = __atomic_load_n(&smallest, __ATOMIC_RELAXED);
  while (seen > value && !__atomic_compare_exchange_n(&smallest, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

}  // namespace iez::preload
