#include "preload/mpi/logged_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include <cerrno>
#include <vector>

#include "rank_log/log_format.hpp"

namespace iez::preload {

namespace {

using collective::Part;
using rank_log::Pattern;

// So many at a time, whatever the size of a write is.
constexpr std::size_t kMostPatterns = 512;
constexpr std::size_t kMostSegments = 1024;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return (now.tv_sec * 1'000'000'000LL) + now.tv_nsec;
}

// Where the part's bytes from `begin` on, of its view, are in memory: up to `end`, or as far as the room allows; tells how far.
std::int64_t segments_of(const Part& part, std::int64_t begin, std::int64_t end, std::vector<iovec>& segments) {
  segments.clear();
  while (begin < end && segments.size() < kMostSegments) {
    const collective::Run run = part.buffer->piece_at(begin - part.begin, end - part.begin);
    segments.push_back({.iov_base = part.memory + run.offset, .iov_len = static_cast<std::size_t>(run.length)});
    begin += run.length;
  }
  return begin;
}

// The same, where they are in the file.
std::int64_t patterns_of(const Part& part, std::int64_t begin, std::int64_t end, std::vector<Pattern>& patterns) {
  patterns.clear();
  while (begin < end) {
    const collective::Run run = part.view->piece_at(begin, end);
    const Pattern piece{.offset = static_cast<std::uint64_t>(run.offset), .block = static_cast<std::uint64_t>(run.length)};
    if (patterns.empty() || !join(patterns.back(), piece)) {
      if (patterns.size() == kMostPatterns) break;
      patterns.push_back(piece);
    }
    begin += run.length;
  }
  return begin;
}

}  // namespace

std::string log_folder(const std::string& path) { return path + rank_log::kFolderSuffix; }

std::shared_ptr<LoggedFile> LoggedFile::begin(const TeamComm& team, const std::string& path) {
  std::shared_ptr<LoggedFile> log(new LoggedFile);
  const std::string folder = log_folder(path);
  struct stat about{};
  (void)log->file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // there was none
  int error = (log->file_ ? ::fstat(log->file_.get(), &about) : ::stat(path.c_str(), &about)) == 0 ? 0 : errno;
  if (error == 0 && !S_ISREG(about.st_mode)) error = ENOTSUP;
  log->stamp_ = log->file_ ? rank_log::stamp_of(log->file_.get()) : rank_log::FileStamp{.inode = about.st_ino};
  log->device_ = about.st_dev;
  if (error == 0) {
    error = log->writer_.open(folder.c_str(), team.rank(),
                              {.ranks = team.size(), .file = log->stamp_, .now_ns = now_ns(), .mode = about.st_mode & 0666U});
  }
  if (error == 0) error = rank_log::open_folder(folder.c_str(), log->folder_);
  if (team.largest(error) != 0) return nullptr;
  return log;
}

bool LoggedFile::is_of(const std::string& path) {
  const std::lock_guard lock(mutex_);
  struct stat about{};
  return !over_ && ::stat(path.c_str(), &about) == 0 && about.st_ino == stamp_.inode && about.st_dev == device_;
}

bool LoggedFile::is_over() {
  const std::lock_guard lock(mutex_);
  return over_;
}

void LoggedFile::look_again() {
  const std::lock_guard lock(mutex_);
  view_.reset();
}

void LoggedFile::next_sequence() {
  const std::lock_guard lock(mutex_);
  ++sequence_;
  view_.reset();
}

Moved LoggedFile::write(const Part& part) {
  const std::lock_guard lock(mutex_);
  view_.reset();
  Moved moved;
  std::vector<Pattern> patterns;
  std::vector<iovec> segments;
  for (std::int64_t at = part.begin; at < part.end && moved.error == 0;) {
    const std::int64_t reached = segments_of(part, at, part.end, segments);
    const std::int64_t end = patterns_of(part, at, reached, patterns);
    if (end < reached) segments_of(part, at, end, segments);
    const rank_log::Appended done = writer_.append(sequence_, patterns, segments);
    moved.bytes += static_cast<std::int64_t>(done.bytes);
    moved.error = done.error;
    at = end;
  }
  return moved;
}

int LoggedFile::look() {
  if (view_) return 0;
  view_.emplace(folder_.get(), file_.get());
  const int error = view_->open().error;
  if (error != 0) view_.reset();
  return error;
}

Moved LoggedFile::read(const Part& part) {
  const std::lock_guard lock(mutex_);
  Moved moved{.bytes = 0, .error = look()};
  for (std::int64_t at = part.begin; at < part.end && moved.error == 0;) {
    const collective::Run in_file = part.view->piece_at(at, part.end);
    const collective::Run in_memory = part.buffer->piece_at(at - part.begin, at - part.begin + in_file.length);
    std::size_t done = 0;
    moved.error = view_
                      ->read(static_cast<std::uint64_t>(in_file.offset), part.memory + in_memory.offset,
                             static_cast<std::size_t>(in_memory.length), done)
                      .error;
    moved.bytes += static_cast<std::int64_t>(done);
    at += in_memory.length;
    if (done < static_cast<std::size_t>(in_memory.length)) break;  // the end of the file
  }
  return moved;
}

int LoggedFile::size(std::int64_t& bytes) {
  const std::lock_guard lock(mutex_);
  const int error = look();
  if (error == 0) bytes = static_cast<std::int64_t>(view_->size());
  return error;
}

int LoggedFile::put_size(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  view_.reset();
  return writer_.set_size(sequence_, static_cast<std::uint64_t>(bytes));
}

int LoggedFile::sync() {
  const std::lock_guard lock(mutex_);
  return writer_.sync();
}

int LoggedFile::close() {
  const std::lock_guard lock(mutex_);
  view_.reset();
  over_ = true;
  return writer_.close();
}

}  // namespace iez::preload
