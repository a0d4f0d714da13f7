// The bytes of a plan file: which layout each new file gets, made once for a run and looked up by every process that creates one.
//
// Freestanding on purpose: the preload library, which may use nothing but libc, shares this header with writer and reader.
// docs/formats/plan.md tells the same to those who write a reader of their own.
//
//   header (256) | layouts | rules | trie of rules | buckets of files | directory of buckets | end mark (8)
//
// Files. A name belongs to bucket_of(name_hash). The directory has one offset for each bucket and one behind the last: two
// neighbours give the extent of a bucket, which is its check and its file records. So a lookup takes two reads.
// Rules: patterns, spreads and directories to leave alone. The trie branches by literal text and by kinds of fields.
//
// The file never changes once it has its name; a new plan takes the name over by rename(). All that a lookup believes is covered
// by a check that the id of the plan is part of: bytes that were damaged, or belong to another plan, are noticed.
//
// Thread safety: constants and pure functions. Little-endian; nothing but the header is aligned, so words are read by load_u16()
// and its kin. All sizes and offsets in bytes, offsets from the start of the file where not told otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace iez::plan::abi {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "plans are little-endian and are read in place");

inline constexpr char kSuffix[] = ".iezplan";                 // of the file's name
inline constexpr std::uint64_t kMagic = 0x004E414C'505A4549;  // "IEZPLAN" and a zero
inline constexpr std::uint32_t kByteOrder = 0x01020304;       // reads 0x04030201 on a machine of the other order
inline constexpr std::uint32_t kForeignByteOrder = 0x04030201;
inline constexpr std::uint16_t kVersion = 1;       // another one: another format
inline constexpr std::uint16_t kMinorVersion = 0;  // a higher one: meanings of reserved bytes that a lookup can do without

inline constexpr std::size_t kMaxName = 4096;      // of a file, a pattern or a prefix
inline constexpr std::size_t kMaxBucket = 40'000;  // with its check
inline constexpr std::size_t kMaxNode = 16'384;    // of the trie
inline constexpr std::size_t kMaxDepth = 256;      // of the trie, nodes
inline constexpr std::size_t kMaxFields = 16;      // of a pattern
inline constexpr std::size_t kMaxSteps = 20'000;   // of one search in the trie; then nothing was found
inline constexpr std::size_t kMaxStripes = 2000;   // of a list of OSTs
inline constexpr std::size_t kMaxRequest = 48 + kMaxStripes * 24;
inline constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 40U;  // offsets of layouts have 40 bits

// ---- Header -----------------------------------------------------------------------------------------------------------------

struct Header {
  std::uint64_t magic;
  std::uint32_t byte_order;
  std::uint16_t version;
  std::uint16_t minor_version;
  std::uint32_t header_size;
  std::uint32_t flags;       // 0
  std::uint64_t file_size;   // with the end mark
  std::uint64_t id;          // of this plan, never 0; seeds every hash below
  std::int64_t created_ns;   // since 1970
  std::uint64_t file_count;  // file records
  std::uint64_t bucket_count;
  std::uint64_t directory_at;  // bucket_count + 1 offsets of 8 bytes
  std::uint64_t layouts_at;
  std::uint64_t layouts_size;
  std::uint64_t rules_at;
  std::uint64_t rules_size;
  std::uint64_t trie_at;
  std::uint64_t trie_size;
  std::uint32_t rule_count;
  std::uint32_t reserved_word;
  std::uint64_t name_bytes;  // of all names in file records; for statistics
  std::uint8_t reserved[112];
  std::uint64_t checksum;  // hash64() of all before, seeded with 0
};
static_assert(sizeof(Header) == 256 && offsetof(Header, byte_order) == 8 && offsetof(Header, header_size) == 16 &&
              offsetof(Header, file_size) == 24 && offsetof(Header, id) == 32 && offsetof(Header, created_ns) == 40 &&
              offsetof(Header, file_count) == 48 && offsetof(Header, bucket_count) == 56 &&
              offsetof(Header, directory_at) == 64 && offsetof(Header, layouts_at) == 72 && offsetof(Header, rules_at) == 88 &&
              offsetof(Header, trie_at) == 104 && offsetof(Header, rule_count) == 120 && offsetof(Header, name_bytes) == 128 &&
              offsetof(Header, reserved) == 136 && offsetof(Header, checksum) == 248);

// ---- Words and hashes -------------------------------------------------------------------------------------------------------

inline std::uint16_t load_u16(const std::byte* at) {
  std::uint16_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
inline std::uint32_t load_u32(const std::byte* at) {
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
inline std::uint64_t load_u64(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// Both halves of the product of 128 bits, by exclusive or.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

inline constexpr std::uint64_t kHashStep = 0x9E3779B9'7F4A7C15;
inline constexpr std::uint64_t kHashEnd = 0xD6E8FEB8'6659FD93;

// For each word of 8 bytes, the last one filled up with zeros: h = fold(h ^ word, kHashStep); then h = fold(h ^ size, kHashEnd).
inline std::uint64_t hash64(std::uint64_t seed, const void* bytes, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(bytes);
  std::uint64_t hash = seed ^ kHashEnd;
  std::size_t rest = size;
  for (; rest >= 8; rest -= 8, at += 8) hash = fold(hash ^ load_u64(at), kHashStep);
  if (rest != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, rest);
    hash = fold(hash ^ word, kHashStep);
  }
  return fold(hash ^ size, kHashEnd);
}

inline std::uint64_t header_checksum(const Header& header) { return hash64(0, &header, offsetof(Header, checksum)); }
inline std::uint64_t name_hash(std::uint64_t id, const void* name, std::size_t size) { return hash64(id, name, size); }

// Grows with the hash: files in order of their hashes are in order of their buckets, whatever the number of buckets.
inline std::uint64_t bucket_of(std::uint64_t hash, std::uint64_t bucket_count) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(hash) * bucket_count) >> 64U);
}

// The last 8 bytes of the file: it was written to its end.
inline std::uint64_t end_mark(std::uint64_t id) { return fold(id ^ kHashStep, kHashEnd); }

// ---- Files ------------------------------------------------------------------------------------------------------------------

// A bucket: u64 bucket_check() of all behind it, then records without gaps.
inline std::uint64_t bucket_check(std::uint64_t id, std::uint64_t bucket, const void* records, std::size_t size) {
  return hash64(id ^ fold(bucket + 1, kHashStep), records, size);
}

// A record: these words, then the name that it is looked up by, the name that the file has in the end (none: the same), and a
// layout.
inline constexpr std::size_t kRecordHash = 0;         // u64 name_hash()
inline constexpr std::size_t kRecordNameSize = 8;     // u16, 1 to kMaxName
inline constexpr std::size_t kRecordFinalSize = 10;   // u16, 0 to kMaxName
inline constexpr std::size_t kRecordLayoutSize = 12;  // u16
inline constexpr std::size_t kRecordHead = 14;

// ---- Layouts ----------------------------------------------------------------------------------------------------------------

// The first byte tells the form.
inline constexpr std::uint8_t kLayoutList = 1;    // u8 flags, u16 stripe size in units of 64 KiB, the OSTs
inline constexpr std::uint8_t kLayoutRaw = 2;     // the request as it is given to the file system
inline constexpr std::uint8_t kLayoutShared = 3;  // u64 reference; in file records only
inline constexpr std::uint8_t kListOverstriping = 1;
inline constexpr std::uint8_t kListWide = 2;  // OSTs of 4 bytes, else of 2
inline constexpr std::size_t kListHead = 4;
inline constexpr std::size_t kSharedSize = 9;
inline constexpr std::uint32_t kStripeUnit = 65'536;

// In the section of layouts: u32 layout_check(), u16 size, then the layout.
inline constexpr std::size_t kLayoutHead = 6;
inline constexpr std::size_t kMaxLayout = kMaxRequest;  // so a raw request has at most one byte less
inline std::uint32_t layout_check(std::uint64_t id, std::uint64_t at, const void* layout, std::size_t size) {
  return static_cast<std::uint32_t>(hash64(id ^ fold(at, kHashEnd), layout, size) >> 32U);
}

// A reference: the offset of a layout in the low 40 bits, a check of who refers to it above. `rule` is the offset of the rule in
// its section, kNoRule for a file record.
inline constexpr std::uint64_t kNoRule = ~std::uint64_t{0};
inline constexpr std::uint64_t kRefMask = kMaxFile - 1;
inline std::uint64_t layout_ref(std::uint64_t id, std::uint64_t rule, std::uint64_t index, std::uint64_t at) {
  const std::uint64_t words[3] = {rule, index, at};
  return (hash64(id, words, sizeof(words)) & ~kRefMask) | at;
}

// ---- Rules ------------------------------------------------------------------------------------------------------------------

inline constexpr std::uint8_t kRulePattern = 1;
inline constexpr std::uint8_t kRuleSpread = 2;
inline constexpr std::uint8_t kRuleLeave = 3;

// Which of its layouts a file gets: (sum of factor * (value / divisor) over `count` fields + hash of the `hash` fields) mod their
// number. A spread: hash of the whole name mod their number.
inline constexpr std::uint8_t kTurnIgnore = 0;
inline constexpr std::uint8_t kTurnCount = 1;
inline constexpr std::uint8_t kTurnHash = 2;
inline constexpr std::uint64_t kTurnSeed = 0x5A2D;

struct RuleField {
  std::uint8_t turn;
  std::uint8_t reserved[3];
  std::uint32_t divisor;  // not 0
  std::uint32_t factor;
};
static_assert(sizeof(RuleField) == 12);

// Behind it: field_count RuleFields, the text, the text of the final name, and layout_count references of 8 bytes.
struct RuleHead {
  std::uint32_t check;  // hash of the rest of the head, the fields and the texts
  std::uint32_t size;   // of the rule with all behind it
  std::uint32_t layout_count;
  std::uint8_t type;
  std::uint8_t field_count;
  std::uint16_t text_size;
  std::uint16_t final_size;
  std::uint16_t reserved;
};
static_assert(sizeof(RuleHead) == 20);

inline std::uint32_t rule_check(std::uint64_t id, std::uint64_t at, const void* behind_check, std::size_t size) {
  return static_cast<std::uint32_t>(hash64(id ^ fold(at + 1, kHashEnd), behind_check, size) >> 32U);
}

// ---- Trie -------------------------------------------------------------------------------------------------------------------

// How the trie goes on from a node, in the order in which a search tries it. What each takes of a name: field_match.hpp.
inline constexpr std::uint8_t kEdgeLiteral = 0;
inline constexpr std::uint8_t kEdgeNumber = 1;  // with its width
inline constexpr std::uint8_t kEdgeFraction = 2;
inline constexpr std::uint8_t kEdgeDate = 3;
inline constexpr std::uint8_t kEdgeWord = 4;
inline constexpr std::uint8_t kEdgeOpen = 5;
inline constexpr std::uint8_t kEdgeRest = 6;  // all that follows; leads to a spread or a directory to leave alone

struct TrieEdge {
  std::uint32_t node;  // offset in the section, larger than that of this node
  std::uint8_t kind;
  std::uint8_t first;  // literal: first byte of the label; number: width; rest: type of the rule
  std::uint16_t reserved;
};
static_assert(sizeof(TrieEdge) == 8);

// Behind it: edge_count TrieEdges, literals first, by their first byte; then the label. The root is at offset 0.
struct TrieNode {
  std::uint32_t check;  // hash of the rest of the node
  std::uint32_t size;
  std::uint32_t rule;  // that ends here: its offset in its section plus 1; 0 none
  std::uint16_t edge_count;
  std::uint16_t label_size;  // literal text that leads to this node; 0 behind a field
};
static_assert(sizeof(TrieNode) == 16);

inline std::uint32_t node_check(std::uint64_t id, std::uint64_t at, const void* behind_check, std::size_t size) {
  return static_cast<std::uint32_t>(hash64(id ^ fold(at + 1, kHashStep), behind_check, size));
}

}  // namespace iez::plan::abi
