// Writes a trace segment or a merged run to a file: for importers, for merged runs, for tests. The preload library does not use
// it; it fills a mapped file by segment_format.hpp.
//
// The bytes go to a temporary file beside the path, which finish() renames: readers see the old file or the whole new one. After
// any failure, or without finish(), nothing is left behind. Files are made for the user alone (mode 0600).
//
// Thread safety: none. Memory: one buffer of 256 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "trace/segment_format.hpp"
#include "trace/segment_info.hpp"
#include "trace/traced_file.hpp"

namespace iez::trace {

// Texts that are too long for the header are cut; a rank below 0 is -1; processes is 1 in that of a process.
abi::Header make_header(const SegmentInfo& info);

class SegmentWriter {
 public:
  // Counts of slots in `info` are ignored. If `info.closed` is false the segment looks like one of a process that was killed.
  [[nodiscard]] static Result<SegmentWriter> create(const std::string& path, const SegmentInfo& info);

  ~SegmentWriter();
  SegmentWriter(SegmentWriter&& other) noexcept;
  SegmentWriter& operator=(SegmentWriter&&) = delete;
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // The number of its slot. In a segment of a process, rank, ranks and communicator of the row are not read back: those of the
  // segment hold. After an error the writer accepts nothing more.
  [[nodiscard]] Result<std::uint32_t> add(const TracedFile& file);
  [[nodiscard]] Result<void> add(const TracedCall& call);

  // Puts the file in place. REQUIRES: not called before.
  [[nodiscard]] Result<void> finish();

 private:
  SegmentWriter() = default;

  [[nodiscard]] Result<void> put(const void* slot);
  [[nodiscard]] Result<void> put_name_parts(std::uint32_t owner, const std::string& name, std::size_t room);
  [[nodiscard]] Result<void> put_rename(std::uint32_t file, const std::string& name, std::int64_t time_ns);
  [[nodiscard]] Result<void> put_calls();
  [[nodiscard]] Result<std::uint32_t> add_times(const TracedFile& file);  // their number plus 1; 0: nothing is known
  [[nodiscard]] Result<void> put_times();                                 // in their place
  [[nodiscard]] Result<void> flush();
  [[nodiscard]] Result<void> write_at(std::uint64_t offset, const std::byte* bytes, std::size_t size);
  std::int64_t since_start(std::int64_t time) const;
  void discard();  // the temporary file

  std::string path_;
  std::string temporary_;  // empty: there is none
  input::UniqueFd fd_;
  abi::Header header_{};
  std::vector<std::byte> buffer_;
  std::uint64_t flushed_ = 0;  // bytes of the file
  std::uint32_t slots_ = 0;
  abi::CallsSlot calls_{};  // those that fill no slot yet
  abi::TimesSlot times_{};  // likewise; they stand before their files, in a slot that was left free for them
  std::uint32_t times_slot_ = 0;
  std::uint32_t times_count_ = 0;
};

}  // namespace iez::trace
