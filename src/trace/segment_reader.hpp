// Reads a trace segment or a merged run (segment_format.hpp; docs/formats/trace.md), front to back.
//
// Nothing in the bytes is trusted. What is no segment of this version is an error that says what was found and what to do. A bad
// slot is skipped, counted and reported, and reading goes on. Any prefix of a segment gives all rows that are whole in it. The
// segment of a living process can be read, too: its numbers are then of slightly different moments.
//
// Memory: one window of 64 KiB and one row, whatever the header claims. Time: linear in the slots claimed; at most about 70 slots
// more per row for long names. Files must be seekable.
//
// Thread safety: none; one reader, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "trace/segment_format.hpp"
#include "trace/segment_info.hpp"
#include "trace/traced_file.hpp"

namespace iez::trace {

// What the slots were. A sum of these is not the number of slots: names and calls have none of their own.
struct SegmentStats {
  std::uint64_t files = 0;
  std::uint64_t renames = 0;
  std::uint64_t calls = 0;
  std::uint64_t unfinished = 0;   // claimed, not committed
  std::uint64_t passed_over = 0;  // given up by the writer, or of a type that a later minor version may know
  std::uint64_t bad = 0;

  friend bool operator==(const SegmentStats&, const SegmentStats&) = default;
};

struct SegmentVisitor {
  // The row is valid during the call. A process that listed one file twice gives two rows; see merge.hpp.
  std::function<void(std::uint32_t slot, const TracedFile& file)> file;
  std::function<void(const TracedCall& call)> call;  // may be empty
};

class SegmentReader {
 public:
  [[nodiscard]] static Result<SegmentReader> open(const std::string& path);

  // The bytes outlive the reader. `name` appears in messages.
  [[nodiscard]] static Result<SegmentReader> from_memory(std::span<const std::byte> bytes, std::string name);

  // What a segment says of itself: 512 bytes are read.
  [[nodiscard]] static Result<SegmentInfo> read_info(const std::string& path);

  // The clock of its host was ahead by so much: all times that follow are earlier by that.
  void correct_clock(std::int64_t ahead_ns);

  const SegmentInfo& info() const { return info_; }
  std::uint16_t minor_version() const { return minor_version_; }

  // Calls the visitor for what is whole, in the order of slots. An error is one of the operating system.
  [[nodiscard]] Result<SegmentStats> read(const SegmentVisitor& visitor, input::ParseReport& report);

 private:
  SegmentReader() = default;

  [[nodiscard]] static Result<SegmentReader> open(const std::string& path, std::size_t most);
  [[nodiscard]] Result<void> read_header(std::size_t most);  // into a window of so many bytes
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> buffer) const;
  [[nodiscard]] Result<void> load(std::uint64_t slot);                // makes it part of the window
  [[nodiscard]] Result<abi::Slot> slot_at(std::uint64_t slot) const;  // anywhere
  [[nodiscard]] Result<std::string_view> read_name(std::uint64_t owner, std::string_view front, std::uint32_t size,
                                                   std::string& name) const;  // the problem, or empty
  [[nodiscard]] Result<void> read_file(std::uint64_t slot, const SegmentVisitor& visitor, input::ParseReport& report);
  [[nodiscard]] Result<std::string_view> read_rename(std::uint64_t slot, std::uint32_t link);
  [[nodiscard]] Result<std::string_view> read_size(std::uint64_t slot, std::uint32_t link);
  [[nodiscard]] Result<std::string_view> read_times(std::uint64_t slot, const abi::FileSlot& file);
  void set_times(const abi::Times& times);
  void read_calls(const abi::CallsSlot& block, std::uint64_t slot, const SegmentVisitor& visitor, input::ParseReport& report);
  void set_row(const abi::FileSlot& slot);
  std::int64_t wall_time(std::int64_t since_start) const;
  void bad_slot(std::uint64_t slot, std::string_view message, input::ParseReport& report);

  std::string name_;
  input::UniqueFd fd_;                 // of a file ...
  std::span<const std::byte> memory_;  // ... or the bytes
  std::uint64_t slots_in_file_ = 0;
  SegmentInfo info_;
  std::uint16_t minor_version_ = 0;

  std::unique_ptr<std::byte[]> window_;
  std::uint64_t window_offset_ = 0;  // in the file
  std::size_t window_size_ = 0;

  TracedFile row_;
  abi::TimesSlot last_times_{};  // of a merged run: those before its files
  SegmentStats stats_;
};

}  // namespace iez::trace
