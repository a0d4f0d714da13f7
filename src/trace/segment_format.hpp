// The bytes of a trace segment: what one process did to its files, in a file of fixed size that the process has mapped.
//
// Freestanding on purpose: the preload library, which may use nothing but libc, shares this header with the reader. It allocates
// nothing and takes no lock. docs/formats/trace.md tells the same to those who write a reader of their own.
//
//   header (512 bytes) | slot 0 | slot 1 | ...       slots of 256 bytes each; zeros where nothing was written
//
// Writing. claim_slots() takes slots for good. The claimer fills them and stores the type of the slot last, by commit_slot();
// NAME slots before the slot they belong to. Numbers of 8 bytes are aligned and may be updated in place afterwards, by relaxed
// atomic operations. The header is filled before its magic, by commit_header(). So a process may end at any instruction: what was
// committed is whole, and the rest is passed over.
//
// Thread safety: the functions below, from any thread of the process. Little-endian machines only; all sizes in bytes, all times
// in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iez::trace::abi {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "segments are little-endian and are used in place");

inline constexpr char kSuffix[] = ".ieztrace";                // of the file's name
inline constexpr std::uint64_t kMagic = 0x45434152'545A4549;  // "IEZTRACE"
inline constexpr std::uint32_t kByteOrder = 0x01020304;       // reads 0x04030201 on a machine of the other order
inline constexpr std::uint32_t kForeignByteOrder = 0x04030201;
inline constexpr std::uint16_t kVersion = 1;       // another one: another format
inline constexpr std::uint16_t kMinorVersion = 2;  // a higher one: more types of slots, or meanings of reserved bytes
inline constexpr std::uint32_t kMaxNameSize = 8192;
inline constexpr std::int64_t kNoTime = -0x7FFFFFFF'FFFFFFFF - 1;
inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;  // not the number of a slot

// ---- Header -----------------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kKindProcess = 1;  // one process; rank and communicator are those of the header
inline constexpr std::uint32_t kKindRun = 2;      // many, merged: each FILE slot says its own

inline constexpr std::uint32_t kStateOpen = 1;
inline constexpr std::uint32_t kStateClosed = 2;

struct Header {
  // Constant once the magic is there, and covered by the checksum.
  std::uint64_t magic;
  std::uint32_t byte_order;
  std::uint16_t version;
  std::uint16_t minor_version;
  std::uint32_t header_size;
  std::uint32_t slot_size;
  std::uint64_t slot_capacity;
  std::uint32_t kind;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint32_t processes;       // segments that it was made of; 1 in that of a process
  std::int64_t start_ns;         // since 1970; times in slots count from here
  std::int64_t start_monotonic;  // the same instant by CLOCK_MONOTONIC
  char host[64];                 // texts end with a zero and are filled up with zeros
  char job[64];
  char program[128];
  std::uint64_t checksum;  // header_checksum()
  std::uint8_t reserved_constant[56];

  // Updated in place.
  std::uint64_t slots_used;  // claimed; more than the capacity when the arena was too small
  std::uint64_t dropped;     // records that found no slot
  std::int64_t end_ns;       // since start; kNoTime while open
  std::uint32_t state;
  std::int32_t rank;           // -1: not known
  std::uint32_t communicator;  // ranks of the program; 0: not known

  // Since minor version 1.
  std::int32_t layout_errno;         // of the layout that was refused last; 0: none
  std::uint64_t unseen_descriptors;  // opened, but beyond the table of the process
  std::uint64_t layouts_applied;     // planned files that were created as planned
  std::uint64_t layouts_taken;       // created, but another opener gave it a layout first
  std::uint64_t layouts_refused;     // created without the layout
  std::uint64_t layouts_existing;    // planned files that were there before
  std::uint64_t layouts_elsewhere;   // planned files on file systems that take no layouts
  std::uint64_t layouts_respected;   // planned files in directories with a layout of their own, or opted out
  std::uint64_t plan_id;             // 0: there was no plan
  std::uint8_t reserved[24];
};
static_assert(sizeof(Header) == 512 && offsetof(Header, byte_order) == 8 && offsetof(Header, header_size) == 16 &&
              offsetof(Header, slot_capacity) == 24 && offsetof(Header, kind) == 32 && offsetof(Header, processes) == 44 &&
              offsetof(Header, start_ns) == 48 && offsetof(Header, start_monotonic) == 56 && offsetof(Header, host) == 64 &&
              offsetof(Header, job) == 128 && offsetof(Header, program) == 192 && offsetof(Header, checksum) == 320 &&
              offsetof(Header, slots_used) == 384 && offsetof(Header, dropped) == 392 && offsetof(Header, end_ns) == 400 &&
              offsetof(Header, state) == 408 && offsetof(Header, rank) == 412 && offsetof(Header, communicator) == 416 &&
              offsetof(Header, layout_errno) == 420 && offsetof(Header, unseen_descriptors) == 424 &&
              offsetof(Header, layouts_applied) == 432 && offsetof(Header, plan_id) == 480);

// ---- Slots ------------------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kTypeNone = 0;    // free, or claimed and not finished
inline constexpr std::uint32_t kTypeFile = 1;    // what the process did to one file
inline constexpr std::uint32_t kTypeName = 2;    // goes on with the name of the slot before it
inline constexpr std::uint32_t kTypeRename = 3;  // the new name of a file
inline constexpr std::uint32_t kTypeCalls = 4;   // single calls
inline constexpr std::uint32_t kTypeSkip = 5;    // claimed, given up
inline constexpr std::uint32_t kTypeSize = 6;    // how a file grew, by more than was seen; since minor version 1
inline constexpr std::uint32_t kTypeTimes = 7;   // when files were written, read, opened and removed; since minor version 2

inline constexpr std::size_t kFileNameRoom = 112;
inline constexpr std::size_t kRenameRoom = 232;
inline constexpr std::size_t kNameRoom = 240;
inline constexpr std::size_t kCallsRoom = 6;
inline constexpr std::size_t kTimesRoom = 4;

struct FileSlot {
  std::uint32_t type;
  std::uint32_t name_size;  // 1 to kMaxNameSize; what does not fit in here goes on in NAME slots, claimed with this one
  std::uint64_t written;
  std::uint64_t read;
  std::uint64_t write_calls;
  std::uint64_t read_calls;
  std::uint64_t sequential_writes;
  std::uint64_t sequential_reads;
  std::uint64_t largest_write;
  std::uint64_t largest_read;
  std::uint64_t end;
  std::uint64_t creates;
  std::uint64_t opens;
  std::uint64_t stripe_size;
  std::int64_t first_ns;  // since start; kNoTime: not known
  std::int64_t last_ns;
  std::uint32_t stripe_count;
  std::int32_t rank;  // this and the next two in merged runs only
  union {
    std::uint32_t ranks;
    std::uint32_t times;  // in the segment of a process, since minor version 2: times_number() plus 1; 0: none
  };
  std::uint32_t communicator;
  std::uint32_t rename_slot;  // number of the last RENAME slot of this file, plus 1; stored once that slot is committed
  std::uint32_t size_slot;    // number of the SIZE slot, plus 1, likewise; since minor version 1
  char name[kFileNameRoom];   // no zero inside or behind
};
static_assert(sizeof(FileSlot) == 256 && offsetof(FileSlot, written) == 8 && offsetof(FileSlot, end) == 72 &&
              offsetof(FileSlot, stripe_size) == 96 && offsetof(FileSlot, last_ns) == 112 &&
              offsetof(FileSlot, stripe_count) == 120 && offsetof(FileSlot, rename_slot) == 136 &&
              offsetof(FileSlot, name) == 144);

struct NameSlot {
  std::uint32_t type;
  std::uint32_t owner;  // number of the FILE or RENAME slot
  std::uint32_t part;   // 1 is the first behind the owner
  std::uint32_t size;   // kNameRoom in all but the last
  char text[kNameRoom];
};
static_assert(sizeof(NameSlot) == 256 && offsetof(NameSlot, text) == 16);

struct RenameSlot {
  std::uint32_t type;
  std::uint32_t name_size;
  std::uint32_t file;  // number of the FILE slot
  std::uint32_t reserved;
  std::int64_t time_ns;
  char name[kRenameRoom];
};
static_assert(sizeof(RenameSlot) == 256 && offsetof(RenameSlot, time_ns) == 16 && offsetof(RenameSlot, name) == 24);

// Of a file that grew by more than the process wrote by calls that were seen: through a mapping, io_uring, a raw system call, by
// other processes, or by holes.
struct SizeSlot {
  std::uint32_t type;
  std::uint32_t file;    // number of the FILE slot
  std::uint64_t before;  // bytes when the process first opened it; the smallest, if several times
  std::uint64_t after;   // bytes when it closed it; the largest, if several times
  std::uint8_t reserved[232];
};
static_assert(sizeof(SizeSlot) == 256 && offsetof(SizeSlot, before) == 8 && offsetof(SizeSlot, after) == 16);

inline constexpr std::uint32_t kFlagOwnLayout = 1;  // the program chose the stripes itself

// Of one file: since start, kNoTime where not known. Committed with no time, then updated in place. All of it is in one line of
// the cache.
struct Times {
  std::uint32_t type;  // that of the slot is the one of its first
  std::uint32_t file;  // number of the FILE slot, plus 1; 0: of none
  std::int64_t first_write_ns;
  std::int64_t last_write_ns;
  std::int64_t first_read_ns;
  std::int64_t last_read_ns;
  std::int64_t opened_ns;   // when it was opened or renamed last: then the file was there
  std::int64_t removed_ns;  // when its name was taken away last, or given to another file
  std::uint32_t flags;
  std::uint32_t reserved;
};
static_assert(sizeof(Times) == 64 && offsetof(Times, first_write_ns) == 8 && offsetof(Times, opened_ns) == 40 &&
              offsetof(Times, removed_ns) == 48 && offsetof(Times, flags) == 56);

// Four files share a slot. In merged runs it stands before them.
struct TimesSlot {
  Times times[kTimesRoom];
};
static_assert(sizeof(TimesSlot) == 256);

constexpr std::uint32_t times_number(std::uint32_t slot, std::uint32_t entry) {
  return slot * static_cast<std::uint32_t>(kTimesRoom) + entry;
}

inline constexpr std::uint8_t kCallRead = 1;
inline constexpr std::uint8_t kCallWrite = 2;
inline constexpr std::uint8_t kCallOpen = 3;
inline constexpr std::uint8_t kCallClose = 4;
inline constexpr std::uint8_t kCallSync = 5;
inline constexpr std::uint8_t kCallTruncate = 6;

struct Call {
  std::uint32_t file;  // number of the FILE slot
  std::uint8_t operation;
  std::uint8_t reserved[3];
  std::uint64_t offset;
  std::uint64_t length;  // done, not asked for
  std::int64_t start_ns;
  std::uint64_t duration_ns;
};
static_assert(sizeof(Call) == 40 && offsetof(Call, operation) == 4 && offsetof(Call, offset) == 8 &&
              offsetof(Call, start_ns) == 24);

// Committed empty, then filled one call after the other: `count` is stored behind each.
struct CallsSlot {
  std::uint32_t type;
  std::uint32_t count;
  std::uint32_t thread;
  std::uint32_t reserved;
  Call calls[kCallsRoom];
};
static_assert(sizeof(CallsSlot) == 256 && offsetof(CallsSlot, calls) == 16);

// Any slot, before its type is known.
struct alignas(8) Slot {
  std::uint32_t type;
  std::uint8_t rest[252];
};
static_assert(sizeof(Slot) == 256);

// ---- Writing ----------------------------------------------------------------------------------------------------------------

// NAME slots needed for a name of which `room` bytes fit into its own slot.
constexpr std::uint32_t name_slots(std::size_t name_size, std::size_t room) {
  return name_size <= room ? 0 : static_cast<std::uint32_t>((name_size - room + kNameRoom - 1) / kNameRoom);
}

// FNV-1a, 64 bits, over the bytes before `checksum`.
inline std::uint64_t header_checksum(const Header& header) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  std::uint64_t sum = 0xCBF29CE4'84222325;
  for (std::size_t i = 0; i < offsetof(Header, checksum); ++i) sum = (sum ^ bytes[i]) * 0x00000100'000001B3;
  return sum;
}

// Makes a filled header valid. REQUIRES: its magic is 0 until now.
inline void commit_header(Header& header) {
  Header copy = header;
  copy.magic = kMagic;
  header.checksum = header_checksum(copy);
  __atomic_store_n(&header.magic, kMagic, __ATOMIC_RELEASE);
}

// The number of the first of `count` neighbouring slots, or kNoSlot when they do not fit; that is counted as one dropped record.
inline std::uint32_t claim_slots(Header& header, std::uint32_t count) {
  const std::uint64_t first = __atomic_fetch_add(&header.slots_used, count, __ATOMIC_RELAXED);
  if (first < header.slot_capacity && count <= header.slot_capacity - first) return static_cast<std::uint32_t>(first);
  __atomic_fetch_add(&header.dropped, 1, __ATOMIC_RELAXED);
  return kNoSlot;
}

inline void commit_slot(std::uint32_t& type, std::uint32_t value) { __atomic_store_n(&type, value, __ATOMIC_RELEASE); }

}  // namespace iez::trace::abi
