// The bytes of a log: what each rank of a program wrote to a file that all of them share, not yet in that file.
//
// Beside FILE a folder FILE.iezlog, with two files of each rank: RANK.data, the bytes in the order they were written, and
// RANK.index, a header and records of fixed size that say where in FILE they belong. docs/formats/log.md tells it in full.
//
// A record is written when its data is, and carries a checksum with its own number in it. So a process may end at any
// instruction: what is whole is used, and what is torn is seen. Little-endian machines only; all sizes and offsets in bytes.
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rank_log/byte_hash.hpp"

namespace iez::rank_log {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "logs are little-endian and are used in place");

inline constexpr char kFolderSuffix[] = ".iezlog";            // FILE.iezlog
inline constexpr char kRetiredSuffix[] = ".done";             // FILE.iezlog.done: is in FILE, only to be removed
inline constexpr char kStaleSuffix[] = ".stale";              // FILE.iezlog.stale: is of another file, which had this name
inline constexpr char kDamagedSuffix[] = ".damaged";          // FILE.iezlog.damaged: what was whole of it is in FILE
inline constexpr std::uint64_t kMagic = 0x31474F4C'525A4549;  // "IEZRLOG1"
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::uint32_t kForeignByteOrder = 0x04030201;
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::uint16_t kMinorVersion = 1;
inline constexpr std::uint32_t kMaxRank = (1U << 24U) - 1;
inline constexpr std::uint64_t kMaxOffset = 0x7FFFFFFF'FFFFFFFF;  // of FILE and of RANK.data

struct Header {
  std::uint64_t magic;
  std::uint32_t byte_order;
  std::uint16_t version;
  std::uint16_t minor_version;  // a higher one: more flags, or meanings of reserved bytes
  std::uint32_t header_size;
  std::uint32_t record_size;
  std::uint32_t rank;
  std::uint32_t ranks;        // of the program; 0: not known
  std::int64_t created_ns;    // since 1970; 0: not known
  std::uint64_t file_inode;   // of FILE; 0: not known
  std::int64_t file_born_ns;  // when FILE was made, since 1970; 0: not known, as in minor version 0
  std::uint64_t checksum;     // header_checksum()
};
static_assert(sizeof(Header) == 64 && offsetof(Header, byte_order) == 8 && offsetof(Header, version) == 12 &&
              offsetof(Header, header_size) == 16 && offsetof(Header, rank) == 24 && offsetof(Header, created_ns) == 32 &&
              offsetof(Header, file_inode) == 40 && offsetof(Header, file_born_ns) == 48 && offsetof(Header, checksum) == 56);

inline constexpr std::uint16_t kKindWrite = 1;
inline constexpr std::uint16_t kKindSize = 2;  // FILE was made this long: what was written before and lies behind is gone

inline constexpr std::uint16_t kFlagDataSum = 1;  // data_sum is there

// Bytes of a write: `count` blocks, `stride` apart in FILE, one behind the other in RANK.data.
struct Record {
  std::uint16_t kind;
  std::uint16_t flags;
  std::uint32_t checksum;    // record_checksum()
  std::uint64_t sequence;    // never falls within an index; the same for all ranks in one collective call
  std::uint64_t offset;      // in FILE; of kKindSize, its size
  std::uint64_t block;       // 1 or more
  std::uint64_t stride;      // at least block; equal to it if count is 1
  std::uint64_t count;       // 1 or more
  std::uint64_t log_offset;  // in RANK.data; of kKindSize, where the next data goes
  std::uint64_t data_sum;    // ByteHash of the data
};
static_assert(sizeof(Record) == 64 && offsetof(Record, checksum) == 4 && offsetof(Record, sequence) == 8 &&
              offsetof(Record, offset) == 16 && offsetof(Record, block) == 24 && offsetof(Record, stride) == 32 &&
              offsetof(Record, count) == 40 && offsetof(Record, log_offset) == 48 && offsetof(Record, data_sum) == 56);

inline std::uint64_t header_checksum(const Header& header) {
  ByteHash hash;
  hash.add(&header, offsetof(Header, checksum));
  return hash.value();
}

// Over all other bytes, the rank, and the number of the record: one that is in a wrong place is none.
inline std::uint32_t record_checksum(const Record& record, std::uint32_t rank, std::uint64_t number) {
  Record bare = record;
  bare.checksum = rank;
  ByteHash hash(number);
  hash.add(&bare, sizeof(bare));
  const std::uint64_t sum = hash.value();
  return static_cast<std::uint32_t>(sum ^ (sum >> 32U));
}

}  // namespace iez::rank_log
