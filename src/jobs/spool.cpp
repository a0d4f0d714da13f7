#include "jobs/spool.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::jobs {

namespace {

constexpr mode_t kFolderMode = 0750;
constexpr mode_t kFileMode = 0640;

std::uint32_t number_at(const char* at) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(at[i])} << 8U * i;
  return value;
}

// The size of a frame by its head; nothing: it is none.
std::optional<std::size_t> frame_size(std::string_view head) {
  if (head.size() < kFrameHead || !head.starts_with(kFrameMagic)) return std::nullopt;
  const std::size_t payload = number_at(head.data() + kFrameMagic.size());
  if (payload == 0 || payload > kMaxPayload) return std::nullopt;
  return kFrameHead + payload;
}

bool checksum_holds(std::string_view frame) { return number_at(frame.data() + 8) == crc32c(frame.substr(kFrameHead)); }

class Lock {
 public:
  explicit Lock(int fd) : fd_(fd) {}
  ~Lock() {
    if (held_) static_cast<void>(::flock(fd_, LOCK_UN));
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // File systems without locks have one writer a file, as long as one host runs one iez.
  Result<void> take(const std::string& path) {
    while (::flock(fd_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP) return {};
      return fail_errno(errno, path);
    }
    held_ = true;
    return {};
  }

 private:
  int fd_;
  bool held_ = false;
};

// Where the last whole frame ends, if all before it are: heads are followed, payloads are not read. A place that is damaged is
// left to the reader.
Result<std::uint64_t> end_of_frames(int fd, std::uint64_t size, const std::string& path) {
  std::uint64_t at = 0;
  while (at < size) {
    std::array<char, kFrameHead> head{};
    const ssize_t got = ::pread(fd, head.data(), head.size(), static_cast<off_t>(at));
    if (got < 0) return fail_errno(errno, path);
    const std::string_view bytes(head.data(), static_cast<std::size_t>(got));
    // A head that is cut off.
    if (bytes.size() < kFrameHead) return kFrameMagic.starts_with(bytes.substr(0, kFrameMagic.size())) ? at : size;
    const auto length = frame_size(bytes);
    if (!length) return size;
    if (*length > size - at) return at;
    at += *length;
  }
  return at;
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, path);
    if (written == 0) return fail_errno(ENOSPC, path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// Frames out of a stream, through a window that holds the largest of them.
class FrameReader {
 public:
  explicit FrameReader(input::ByteStream& stream) : stream_(stream) {}

  // The payload of the next frame whose checksum holds; nothing at the end. Valid until the next call.
  Result<std::optional<std::string_view>> next(SpoolSummary& summary) {
    while (true) {
      IEZ_CHECK(fill(kFrameHead));
      if (rest().empty()) return std::nullopt;
      const auto size = frame_size(rest());
      if (!size) {
        if (at_end_ && rest().size() < kFrameHead && kFrameMagic.starts_with(rest().substr(0, kFrameMagic.size()))) {
          return torn(summary);
        }
        pass(summary);
        continue;
      }
      IEZ_CHECK(fill(*size));
      if (rest().size() < *size) {
        // The last frame is not whole, unless it is no frame, and others follow.
        if (!another_frame()) return torn(summary);
        pass(summary);
        continue;
      }
      const std::string_view frame = rest().substr(0, *size);
      if (!checksum_holds(frame)) {
        pass(summary);
        continue;
      }
      begin_ += *size;
      return frame.substr(kFrameHead);
    }
  }

 private:
  std::string_view rest() const { return std::string_view(window_).substr(begin_); }

  Result<void> fill(std::size_t wanted) {
    if (rest().size() >= wanted || at_end_) return {};
    window_.erase(0, std::exchange(begin_, 0));
    while (window_.size() < wanted && !at_end_) {
      const std::size_t before = window_.size();
      window_.resize(before + std::max(wanted - before, kPiece));
      auto got = stream_.read(std::span(window_).subspan(before));
      window_.resize(before + (got ? *got : 0));
      if (!got) return std::unexpected(std::move(got).error());
      at_end_ = *got == 0;
    }
    return {};
  }

  // Whether a whole frame starts behind this place. REQUIRES: the stream is at its end.
  bool another_frame() const {
    const std::string_view all = rest();
    for (std::size_t at = all.find(kFrameMagic, 1); at != std::string_view::npos; at = all.find(kFrameMagic, at + 1)) {
      const auto size = frame_size(all.substr(at));
      if (size && *size <= all.size() - at && checksum_holds(all.substr(at, *size))) return true;
    }
    return false;
  }

  std::optional<std::string_view> torn(SpoolSummary& summary) {
    summary.torn_bytes += rest().size();
    begin_ = window_.size();
    return std::nullopt;
  }

  // On to where a frame may start, but at least one byte.
  void pass(SpoolSummary& summary) {
    const std::string_view all = rest();
    std::size_t to = std::min(all.find(kFrameMagic, 1), all.size());
    // The front of the next one may be at the end of the window.
    if (to == all.size() && !at_end_) to = std::max<std::size_t>(1, all.size() - std::min(all.size(), kFrameMagic.size() - 1));
    summary.damaged_bytes += to;
    begin_ += to;
  }

  static constexpr std::size_t kPiece = std::size_t{64} << 10U;

  input::ByteStream& stream_;
  std::string window_;
  std::size_t begin_ = 0;  // of what was not looked at
  bool at_end_ = false;
};

Result<void> hand_over(const SpoolPayload& payload, const SpoolVisitor& visitor) {
  if (!payload.jobs.empty() && visitor.jobs) IEZ_CHECK(visitor.jobs(payload.jobs));
  if (!payload.series.empty() && visitor.series) IEZ_CHECK(visitor.series(payload.series));
  if (!payload.reports.empty() && visitor.reports) IEZ_CHECK(visitor.reports(payload.reports));
  if (!payload.marks.empty() && visitor.marks) IEZ_CHECK(visitor.marks(payload.marks));
  return {};
}

}  // namespace

std::string spool_file_name(std::string_view host, WallTime time) {
  std::string name;
  name.reserve(host.size());
  for (const char c : host) {
    const bool plain = text::is_digit(c) || (text::to_lower(c) >= 'a' && text::to_lower(c) <= 'z') || c == '-' || c == '.';
    const bool would_hide = name.empty() && c == '.';
    name += plain && !would_hide ? c : '_';
  }
  if (name.empty()) name = "localhost";
  const auto day = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("iez-jobs-{}-{:%Y%m%d}{}", name, fmt::gmtime(std::chrono::system_clock::to_time_t(day)), kSpoolSuffix);
}

Result<void> SpoolWriter::put(std::span<const JobRow> rows) { return append(to_frames(rows)); }
Result<void> SpoolWriter::put(std::span<const SeriesRow> rows) { return append(to_frames(rows)); }
Result<void> SpoolWriter::put(std::span<const NodeReport> reports) { return append(to_frames(reports)); }
Result<void> SpoolWriter::put(std::span<const CollectedMark> marks) { return append(to_frames(marks)); }

Result<void> SpoolWriter::open() {
  std::string path = (std::filesystem::path(options_.folder) / spool_file_name(options_.host, clock_.wall())).string();
  struct stat here{};
  struct stat open{};
  // Another day, or somebody took the file away.
  if (file_ && path == path_ && ::stat(path.c_str(), &here) == 0 && ::fstat(file_.get(), &open) == 0 &&
      here.st_ino == open.st_ino && here.st_dev == open.st_dev) {
    return {};
  }
  if (::mkdir(options_.folder.c_str(), kFolderMode) != 0 && errno == ENOENT) {
    std::error_code ignored;  // the open below tells
    std::filesystem::create_directories(std::filesystem::path(options_.folder).parent_path(), ignored);
    static_cast<void>(::mkdir(options_.folder.c_str(), kFolderMode));
  }
  input::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!fd) return fail_errno(errno, path);
  file_ = std::move(fd);
  end_ = 0;
  path_ = std::move(path);
  return {};
}

Result<void> SpoolWriter::append(std::string_view frames) {
  if (frames.empty()) return {};
  IEZ_CHECK(open());
  Lock lock(file_.get());
  IEZ_CHECK(lock.take(path_));
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return fail_errno(errno, path_);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t end = size;
  if (size != end_) {
    IEZ_TRY(end, end_of_frames(file_.get(), size, path_));
  }
  if (end < size && ::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) return fail_errno(errno, path_);
  auto written = write_all(file_.get(), frames, path_);
  if (written && options_.sync && ::fdatasync(file_.get()) != 0) written = fail_errno(errno, path_);
  if (!written && ::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) {
    return with_context(std::move(written).error(), "and what was written of it cannot be taken back");
  }
  end_ = written ? end + frames.size() : end;
  return written;
}

Result<SpoolSummary> read_spool(input::ByteStream& stream, const SpoolVisitor& visitor) {
  SpoolSummary summary;
  FrameReader frames(stream);
  while (true) {
    IEZ_TRY(const auto payload, frames.next(summary));
    if (!payload) return summary;
    const auto parsed = parse_payload(*payload);
    if (!parsed) {
      summary.damaged_bytes += kFrameHead + payload->size();
      continue;
    }
    ++summary.frames;
    if (parsed->unknown) ++summary.unknown_frames;
    IEZ_CHECK(hand_over(*parsed, visitor));
  }
}

Result<SpoolSummary> read_spool_file(const std::string& path, const SpoolVisitor& visitor) {
  input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, path);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::unsupported, path + ": not a regular file");
  const auto stream = input::file_stream(std::move(fd), path);
  return read_spool(*stream, visitor);
}

Result<std::vector<std::string>> spool_files(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) return fail_errno(error.value(), path);
  std::vector<std::string> files;
  if (!std::filesystem::is_directory(status)) {
    files.push_back(path);
    return files;
  }
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kSpoolSuffix) files.push_back(entry->path().string());
  }
  if (error) return fail_errno(error.value(), path);
  std::ranges::sort(files);
  return files;
}

}  // namespace iez::jobs
