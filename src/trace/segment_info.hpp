// What a segment says of itself, and a single call that it may keep: values that its reader gives and its writer takes.
//
// Thread safety: plain values. Times are nanoseconds since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "trace/traced_file.hpp"

namespace iez::trace {

enum class SegmentKind : std::uint8_t {
  process,  // of one process
  run,      // of many, merged: one row a file
};

struct SegmentInfo {
  SegmentKind kind = SegmentKind::process;
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint32_t processes = 1;
  std::int32_t rank = kNoRank;     // of a run: of the process that its texts are taken from
  std::uint32_t communicator = 0;  // ranks of the program; 0: not known
  std::string host;
  std::string job;
  std::string program;
  std::int64_t start_ns = 0;
  std::int64_t start_monotonic_ns = 0;
  std::optional<std::int64_t> end_ns;  // none: it did not end by itself
  bool closed = true;
  std::uint64_t slot_capacity = 0;  // these three are counted by the writer
  std::uint64_t slots_used = 0;
  std::uint64_t dropped = 0;  // records that found no room
  LayoutCounts layouts;
  std::uint64_t unseen_descriptors = 0;  // opened, but beyond the table of the process
  std::uint64_t plan_id = 0;             // 0: there was no plan

  friend bool operator==(const SegmentInfo&, const SegmentInfo&) = default;
};

enum class CallOperation : std::uint8_t { read = 1, write, open, close, sync, truncate };

struct TracedCall {
  CallOperation operation = CallOperation::read;
  std::uint32_t file_slot = 0;  // as the visitor of files was told
  std::uint32_t thread = 0;
  Bytes offset;
  Bytes length;
  std::int64_t start_ns = 0;
  Duration duration{0};

  friend bool operator==(const TracedCall&, const TracedCall&) = default;
};

}  // namespace iez::trace
