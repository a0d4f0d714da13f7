// Reads the index of one rank, front to back. Nothing in it is trusted.
//
// A record that is not whole, makes no sense, or tells of data that is not there is passed over and counted. Those at the end are
// what a killed writer leaves: torn. Others are damage. The index of a living writer can be read: what is whole at that time.
//
// Memory: one window of 16 KiB. Thread safety: none. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rank_log/log_files.hpp"
#include "rank_log/log_format.hpp"
#include "rank_log/problem.hpp"

namespace iez::rank_log {

enum class HeaderFault : std::uint8_t {
  none,
  unfinished,  // its writer ended before it began: there is nothing in this log
  magic,
  byte_order,
  version,
  sizes,
  checksum,
  rank,      // not the one of its name
  not_file,  // no regular file
};

enum class RecordFault : std::uint8_t {
  none,
  checksum,
  kind,      // of a later version
  pattern,   // impossible numbers
  sequence,  // falls
  data,      // is not there
};

struct RankCounts {
  std::uint32_t rank = 0;
  HeaderFault header_fault = HeaderFault::none;
  std::uint16_t version = 0;
  Header header{};                              // valid if there is no fault
  std::uint64_t slots = 0;                      // records that the file has room for, the last one maybe cut
  std::uint64_t writes = 0;                     // sound records
  std::uint64_t sizes = 0;                      // sound ones that set the size of FILE
  std::uint64_t pieces = 0;                     // blocks of all writes
  std::uint64_t bytes = 0;                      // of all writes
  std::uint64_t torn = 0;                       // records at the end that are not whole
  std::uint64_t damaged = 0;                    // others that cannot be used
  RecordFault first_fault = RecordFault::none;  // of the first damaged one
  std::uint64_t first_damaged = 0;              // its number
  std::uint64_t data_size = 0;                  // of RANK.data
  std::uint64_t data_used = 0;                  // up to the end of what sound records tell of
  std::uint64_t last_sequence = 0;

  bool sound() const { return damaged == 0 && (header_fault == HeaderFault::none || header_fault == HeaderFault::unfinished); }
};

// Says what is wrong with a header of which `size` bytes are there; `file_size`: of the whole index.
HeaderFault check_header(const Header& header, std::size_t size, std::uint64_t file_size, std::uint32_t rank);

// What is wrong with a record alone, whatever is before it and in its data.
RecordFault check_record(const Record& record, std::uint32_t rank, std::uint64_t number);

class IndexCursor {
 public:
  IndexCursor() = default;

  // A header with a fault is no problem: there are no records then, and counts() tells.
  [[nodiscard]] Problem open(int folder, std::uint32_t rank);

  // False at the end. The number of the record is its place in the index.
  [[nodiscard]] Problem next(Record& record, std::uint64_t& number, bool& more);

  // All of it once next() found the end.
  const RankCounts& counts() const { return counts_; }

 private:
  static constexpr std::size_t kWindow = 256;  // records

  RecordFault judge(const Record& record);

  Descriptor index_;
  Descriptor data_;
  RankCounts counts_;
  std::uint64_t at_ = 0;       // number of the next record
  std::uint64_t whole_ = 0;    // records that are there in full
  std::uint64_t pending_ = 0;  // not sound, since the last sound one
  RecordFault pending_fault_ = RecordFault::none;
  std::uint64_t window_from_ = 0;
  std::uint64_t window_count_ = 0;
  Record window_[kWindow];
};

// Where a writer goes on.
struct IndexEnd {
  HeaderFault fault = HeaderFault::none;
  Header header{};
  std::uint64_t records = 0;   // up to the last sound one
  std::uint64_t sequence = 0;  // of that
  std::uint64_t log_end = 0;   // behind its data
};

// An errno of reading; looks from the end.
int find_end(int index, std::uint32_t rank, std::uint64_t size, IndexEnd& end);

}  // namespace iez::rank_log
