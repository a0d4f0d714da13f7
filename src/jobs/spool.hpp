// The spool: rows and reports of nodes in files, until they are read into the store. Appended to only; docs/formats/job-spool.md
// tells every byte.
//
//     FOLDER/iez-jobs-HOST-20261116.spool      one for each host and day (UTC), so that no two hosts append to one file
//
// A file is a row of frames: "iezS", length, CRC-32C, payload. What is appended is one write() of whole frames under a lock, and
// is on the disk when append() returns. If that fails in the middle, as on a full disk, the file is cut back to what it was;
// after kill -9 or a power cut the next writer cuts off what is torn. A reader takes a frame only if its checksum holds; behind a
// damaged place it looks for the next frame, and tells how many bytes it passed over.
//
// Thread safety: a writer belongs to one thread; several writers and readers may have one file. Memory: one frame.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "jobs/row_sink.hpp"
#include "jobs/spool_codec.hpp"

namespace iez::jobs {

inline constexpr std::string_view kSpoolSuffix = ".spool";

// "iez-jobs-HOST-20261116.spool"; letters of the host that no file name should have become '_'.
std::string spool_file_name(std::string_view host, WallTime time);

class SpoolWriter final : public RowSink {
 public:
  struct Options {
    std::string folder;  // made if it is not there
    std::string host;    // of this node
    bool sync = true;    // to the disk, before append() returns
  };

  SpoolWriter(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  [[nodiscard]] Result<void> put(std::span<const JobRow> rows) override;
  // Rows of one target and time that follow each other share a frame.
  [[nodiscard]] Result<void> put(std::span<const SeriesRow> rows) override;
  [[nodiscard]] Result<void> put(std::span<const NodeReport> reports);
  [[nodiscard]] Result<void> put(std::span<const CollectedMark> marks);

  const std::string& path() const { return path_; }  // of the file that was written to last

 private:
  [[nodiscard]] Result<void> append(std::string_view frames);
  [[nodiscard]] Result<void> open();

  Options options_;
  const Clock& clock_;
  std::string path_;
  input::UniqueFd file_;
  std::uint64_t end_ = 0;  // of the file, when it was written to last: what is longer was written by others
};

struct SpoolSummary {
  std::uint64_t frames = 0;
  std::uint64_t unknown_frames = 0;  // of a later version
  std::uint64_t damaged_bytes = 0;   // passed over
  std::uint64_t torn_bytes = 0;      // of the last frame, which is not whole: a writer died, or writes right now
};

// What a frame holds is handed over at once; one of the spans has elements.
struct SpoolVisitor {
  std::function<Result<void>(std::span<const JobRow>)> jobs;
  std::function<Result<void>(std::span<const SeriesRow>)> series;
  std::function<Result<void>(std::span<const NodeReport>)> reports;
  std::function<Result<void>(std::span<const CollectedMark>)> marks;
};

// A function of the visitor that is empty is not called. Fails where the stream or the visitor does; damage is no failure.
[[nodiscard]] Result<SpoolSummary> read_spool(input::ByteStream& stream, const SpoolVisitor& visitor);
[[nodiscard]] Result<SpoolSummary> read_spool_file(const std::string& path, const SpoolVisitor& visitor);

// The spool files of a folder by name, or the file itself.
[[nodiscard]] Result<std::vector<std::string>> spool_files(const std::string& path);

}  // namespace iez::jobs
