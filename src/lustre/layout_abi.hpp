// The bytes in which Lustre shows and takes a file's layout, and the numbers of the calls that carry them.
//
// Freestanding on purpose: the preload library, which may use nothing but libc, shares this header with the codec.
// The structs document the format and give offsets and sizes; all words are little-endian on the wire, so code reads them with
// load_u16() and its kin at offsetof(), never through a cast pointer. docs/formats/layout.md tells what each field means and
// which of them were compared with a real Lustre 2.17.0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iez::lustre::abi {

// ---- Calls ----------------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kStatfsMagic = 0x0BD00BD0;   // statfs::f_type
inline constexpr unsigned long kIocSetStripe = 0x4008669a;  // LL_IOC_LOV_SETSTRIPE
inline constexpr int kOpenDelayCreate = 0x2100;             // O_LOV_DELAY_CREATE: O_NOCTTY | O_ASYNC, no layout at open
inline constexpr char kXattrName[] = "lustre.lov";

// ---- Values of the words ----------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kMagicV1 = 0x0BD10BD0;
inline constexpr std::uint32_t kMagicV3 = 0x0BD30BD0;        // with a pool
inline constexpr std::uint32_t kMagicSpecific = 0x0BD50BD0;  // with a list of OSTs: requests and directory defaults only
inline constexpr std::uint32_t kMagicComposite = 0x0BD60BD0;
inline constexpr std::uint32_t kMagicForeign = 0x0BD70BD0;

inline constexpr std::uint32_t kPatternRaid0 = 0x1;
inline constexpr std::uint32_t kPatternMdt = 0x100;
inline constexpr std::uint32_t kPatternOverstriping = 0x200;
inline constexpr std::uint32_t kPatternReleased = 0x80000000;

inline constexpr std::uint16_t kNoStripeOffset = 0xFFFF;  // any OST; also what getxattr shows instead of a generation

inline constexpr std::uint32_t kComponentStale = 0x1;
inline constexpr std::uint32_t kComponentPreferRead = 0x2;
inline constexpr std::uint32_t kComponentPreferWrite = 0x4;
inline constexpr std::uint32_t kComponentOffline = 0x8;
inline constexpr std::uint32_t kComponentInit = 0x10;  // instantiated: has its objects
inline constexpr std::uint32_t kComponentNoSync = 0x20;
inline constexpr std::uint32_t kComponentExtension = 0x40;  // self-extending: the stripe size word is the step, in KiB
inline constexpr std::uint32_t kComponentParity = 0x80;
inline constexpr std::uint32_t kComponentCompress = 0x100;
inline constexpr std::uint32_t kComponentPartial = 0x200;
inline constexpr std::uint32_t kComponentNoCompress = 0x400;
inline constexpr std::uint32_t kComponentNegate = 0x80000000;  // in commands that clear flags

inline constexpr std::uint64_t kExtensionUnit = 1024;
inline constexpr std::size_t kPoolNameSize = 16;  // with its terminating zero

// ---- Structs ----------------------------------------------------------------------------------------------------------------

struct LayoutV1 {
  std::uint32_t magic;
  std::uint32_t pattern;
  std::uint64_t file_object;    // the file's own id: object number first ...
  std::uint64_t file_sequence;  // ... then sequence
  std::uint32_t stripe_size;
  std::uint16_t stripe_count;
  std::uint16_t stripe_offset;  // in a file with objects: layout generation
};
static_assert(sizeof(LayoutV1) == 32 && offsetof(LayoutV1, file_object) == 8 && offsetof(LayoutV1, stripe_size) == 24 &&
              offsetof(LayoutV1, stripe_count) == 28 && offsetof(LayoutV1, stripe_offset) == 30);

// Also of kMagicSpecific. The first 32 bytes are those of LayoutV1.
struct LayoutV3 {
  LayoutV1 head;
  char pool[kPoolNameSize];
};
static_assert(sizeof(LayoutV3) == 48 && offsetof(LayoutV3, pool) == 32);

// One stripe; stripe_count of them follow a LayoutV1 or LayoutV3. A request fills only `ost`.
struct OstData {
  std::uint64_t id_high;  // the object's id in FID form: sequence ...
  std::uint64_t id_low;   // ... then object number (low half) and version (high half)
  std::uint32_t generation;
  std::uint32_t ost;
};
static_assert(sizeof(OstData) == 24 && offsetof(OstData, generation) == 16 && offsetof(OstData, ost) == 20);

struct CompositeHeader {
  std::uint32_t magic;
  std::uint32_t size;  // of everything: header, entries, sub-layouts
  std::uint32_t generation;
  std::uint16_t flags;
  std::uint16_t entry_count;
  std::uint16_t mirror_count;  // one less than there are
  std::uint16_t reserved[7];
};
static_assert(sizeof(CompositeHeader) == 32 && offsetof(CompositeHeader, flags) == 12 &&
              offsetof(CompositeHeader, entry_count) == 14 && offsetof(CompositeHeader, mirror_count) == 16);

struct CompositeEntry {
  std::uint32_t id;  // mirror id in the high half; 0: none given yet
  std::uint32_t flags;
  std::uint64_t start;
  std::uint64_t end;     // all ones: end of file
  std::uint32_t offset;  // of the sub-layout, from the header's first byte
  std::uint32_t size;    // of the sub-layout
  std::uint32_t generation;
  std::uint32_t timestamp_low;  // one 64-bit word, which lies at an odd multiple of 4
  std::uint32_t timestamp_high;
  std::uint32_t coding;  // parity and compression parameters; 0 in older versions
};
static_assert(sizeof(CompositeEntry) == 48 && offsetof(CompositeEntry, start) == 8 && offsetof(CompositeEntry, offset) == 24 &&
              offsetof(CompositeEntry, generation) == 32 && offsetof(CompositeEntry, timestamp_low) == 36 &&
              offsetof(CompositeEntry, coding) == 44);

// ---- Little-endian words at any address ---------------------------------------------------------------------------------------

constexpr std::uint16_t load_u16(const std::byte* at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) | std::to_integer<unsigned>(at[1]) << 8U);
}
constexpr std::uint32_t load_u32(const std::byte* at) {
  return static_cast<std::uint32_t>(load_u16(at)) | static_cast<std::uint32_t>(load_u16(at + 2)) << 16U;
}
constexpr std::uint64_t load_u64(const std::byte* at) {
  return static_cast<std::uint64_t>(load_u32(at)) | static_cast<std::uint64_t>(load_u32(at + 4)) << 32U;
}
constexpr void store_u16(std::byte* at, std::uint16_t value) {
  at[0] = static_cast<std::byte>(value & 0xFFU);
  at[1] = static_cast<std::byte>(value >> 8U);
}
constexpr void store_u32(std::byte* at, std::uint32_t value) {
  store_u16(at, static_cast<std::uint16_t>(value & 0xFFFFU));
  store_u16(at + 2, static_cast<std::uint16_t>(value >> 16U));
}
constexpr void store_u64(std::byte* at, std::uint64_t value) {
  store_u32(at, static_cast<std::uint32_t>(value & 0xFFFFFFFFU));
  store_u32(at + 4, static_cast<std::uint32_t>(value >> 32U));
}

// The bytes a plain layout's fixed part takes, or 0 when the magic is not of a plain layout.
constexpr std::size_t plain_header_size(std::uint32_t magic) {
  if (magic == kMagicV1) return sizeof(LayoutV1);
  return magic == kMagicV3 || magic == kMagicSpecific ? sizeof(LayoutV3) : 0;
}

}  // namespace iez::lustre::abi
