// What is known of each descriptor: a fixed table. A descriptor of which nothing is known is looked at when it is first used, so
// that those from a parent, an exec, a socket or a raw system call are counted, too.
//
// Positions are followed per descriptor. Those of dup() go apart from then on, as do those of a child: what is derived from them
// (sequential share, end) is then less exact, counts and bytes are not.
//
// Thread safety: any thread; async-signal-safe, lock-free: words that are loaded and stored one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace iez::preload {

inline constexpr std::size_t kDescriptors = 16384;

// Values of Descriptor::record; larger ones are a slot plus kFirstRecord.
inline constexpr std::uint32_t kUnknown = 0;
inline constexpr std::uint32_t kIgnored = 1;  // no regular file, or not asked for
inline constexpr std::uint32_t kFirstRecord = 2;

inline constexpr std::uint32_t kWritable = 1;
inline constexpr std::uint32_t kAppends = 2;
inline constexpr std::uint32_t kHasWritten = 4;  // by this descriptor, since it is known
inline constexpr std::uint32_t kHasRead = 8;
inline constexpr std::uint32_t kHasBoth = kHasWritten | kHasRead;

struct alignas(64) Descriptor {
  std::uint32_t record;  // stored last
  std::uint32_t flags;
  std::uint64_t position;
  std::uint64_t write_end;  // of the last write: the next one that begins here is sequential
  std::uint64_t read_end;
  std::uint64_t size_before;  // of the file, when it was opened
  FILE* stream;               // that fopen() made on it; null: none
  std::uint64_t stream_at;    // up to here the stream's bytes are counted
  std::uint64_t pending;      // since then, roughly
};
static_assert(sizeof(Descriptor) == 64);

extern Descriptor descriptors[kDescriptors];

// Null if the table has no room for it.
inline Descriptor* descriptor_of(int fd) { return static_cast<unsigned>(fd) < kDescriptors ? &descriptors[fd] : nullptr; }

inline std::uint32_t record_of(const Descriptor& descriptor) { return __atomic_load_n(&descriptor.record, __ATOMIC_ACQUIRE); }

// Sets the record last. Remembers the highest descriptor for highest_descriptor().
void publish(int fd, std::uint32_t record);

// Nothing is known of it any more.
void forget(int fd);

// Of those in use ever since the process began; -1: none.
int highest_descriptor();

void copy_descriptor(int from, int to);

// In a new process.
void forget_all_descriptors();

}  // namespace iez::preload
