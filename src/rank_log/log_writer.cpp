#include "rank_log/log_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "rank_log/index_cursor.hpp"

namespace iez::rank_log {

// ---- Data -------------------------------------------------------------------------------------------------------------------

// A place in the segments that are appended.
class LogWriter::Source {
 public:
  explicit Source(std::span<const iovec> segments) : segments_(segments) {}

  // Up to `most` segments of the next `size` bytes, without moving.
  int take(iovec* out, int most, std::uint64_t size) const {
    int count = 0;
    std::size_t segment = segment_;
    std::size_t skip = skip_;
    for (; count < most && size > 0 && segment < segments_.size(); ++segment, skip = 0) {
      const iovec& from = segments_[segment];
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(from.iov_len - skip, size));
      if (length == 0) continue;
      out[count++] = {.iov_base = static_cast<char*>(from.iov_base) + skip, .iov_len = length};
      size -= length;
    }
    return count;
  }

  void move(std::uint64_t size) {
    while (size > 0) {
      const std::size_t rest = segments_[segment_].iov_len - skip_;
      if (size < rest) {
        skip_ += static_cast<std::size_t>(size);
        return;
      }
      size -= rest;
      ++segment_;
      skip_ = 0;
    }
  }

 private:
  std::span<const iovec> segments_;
  std::size_t segment_ = 0;
  std::size_t skip_ = 0;
};

namespace {

constexpr int kSegments = 64;  // a call
constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30U;

mode_t with_search(mode_t mode) { return mode | ((mode & 0444U) >> 2U); }

// Makes the folder unless it is there.
int make_folder(const char* folder, mode_t mode) {
  if (::mkdir(folder, mode) == 0 || errno == EEXIST) return 0;
  return errno;
}

int open_in(int folder, const char* name, mode_t mode, Descriptor& fd) {
  const int opened = ::openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
  if (opened < 0) return errno;
  (void)fd.reset(opened);  // was none
  return 0;
}

// Bytes of all segments; false if they do not fit into 63 bits.
bool total_of(std::span<const iovec> data, std::uint64_t& bytes) {
  bytes = 0;
  for (const iovec& segment : data) {
    if (__builtin_add_overflow(bytes, segment.iov_len, &bytes) || bytes > kMaxOffset) return false;
  }
  return true;
}

bool is_empty(const Pattern& pattern) { return pattern.block == 0 || pattern.count == 0; }

bool total_of(std::span<const Pattern> patterns, std::uint64_t& bytes) {
  bytes = 0;
  for (const Pattern& pattern : patterns) {
    if (is_empty(pattern)) continue;
    if (!is_sound(pattern)) return false;
    if (__builtin_add_overflow(bytes, bytes_of(pattern), &bytes) || bytes > kMaxOffset) return false;
  }
  return true;
}

}  // namespace

// ---- Opening ----------------------------------------------------------------------------------------------------------------

int LogWriter::open(const char* folder, std::uint32_t rank, const WriterOptions& options) {
  if (is_open()) return EALREADY;
  if (rank > kMaxRank) return EINVAL;
  rank_ = rank;
  data_sums_ = options.data_sums;
  folder_synced_ = false;
  log_end_ = records_ = sequence_ = 0;
  int error = make_folder(folder, with_search(options.mode | 0200U));
  if (error == 0) error = open_folder(folder, folder_);
  if (error == 0) error = lock_file(folder_.get(), false);
  if (error == 0) error = open_in(folder_.get(), index_name(rank).text, options.mode, index_);
  if (error == 0) error = lock_file(index_.get(), true);
  if (error == 0) error = open_in(folder_.get(), data_name(rank).text, options.mode, data_);
  struct stat about{};
  if (error == 0 && ::fstat(index_.get(), &about) != 0) error = errno;
  if (error == 0 && !S_ISREG(about.st_mode)) error = EBADMSG;
  if (error == 0) {
    const auto size = static_cast<std::uint64_t>(about.st_size);
    error = size < sizeof(Header) ? start_fresh(options) : resume(size, options);
  }
  if (error != 0) (void)close();  // that error is the one to tell
  return error;
}

int LogWriter::start_fresh(const WriterOptions& options) {
  if (::ftruncate(data_.get(), 0) != 0 || ::ftruncate(index_.get(), 0) != 0) return errno;
  Header header{.magic = kMagic,
                .byte_order = kByteOrder,
                .version = kVersion,
                .minor_version = kMinorVersion,
                .header_size = sizeof(Header),
                .record_size = sizeof(Record),
                .rank = rank_,
                .ranks = options.ranks,
                .created_ns = options.now_ns,
                .file_inode = options.file.inode,
                .file_born_ns = options.file.born_ns};
  header.checksum = header_checksum(header);
  std::size_t done = 0;
  const int error = write_at(index_.get(), &header, sizeof(header), 0, done);
  if (error != 0) (void)::ftruncate(index_.get(), 0);  // a short header would be taken for an unfinished one anyway
  return error;
}

int LogWriter::resume(std::uint64_t index_size, const WriterOptions& options) {
  IndexEnd end;
  if (const int error = find_end(index_.get(), rank_, index_size, end)) return error;
  if (end.fault == HeaderFault::unfinished) return start_fresh(options);
  if (end.fault != HeaderFault::none) return EBADMSG;
  if (!may_be_same(options.file, {.inode = end.header.file_inode, .born_ns = end.header.file_born_ns})) return ESTALE;
  records_ = end.records;
  sequence_ = end.sequence;
  log_end_ = end.log_end;
  if (::ftruncate(index_.get(), static_cast<off_t>(sizeof(Header) + records_ * sizeof(Record))) != 0) return errno;
  struct stat about{};
  if (::fstat(data_.get(), &about) != 0) return errno;
  // Data without a record: its writer ended in between.
  const bool orphans = static_cast<std::uint64_t>(about.st_size) > log_end_;
  return orphans && ::ftruncate(data_.get(), static_cast<off_t>(log_end_)) != 0 ? errno : 0;
}

// ---- Appending --------------------------------------------------------------------------------------------------------------

Appended LogWriter::append(std::uint64_t sequence, std::span<const Pattern> patterns, std::span<const iovec> data) {
  std::uint64_t asked = 0;
  std::uint64_t given = 0;
  if (!is_open()) return {.error = EBADF};
  if (sequence < sequence_ || !total_of(patterns, asked) || !total_of(data, given) || asked != given) return {.error = EINVAL};
  if (asked > kMaxOffset - log_end_) return {.error = EFBIG};
  Source source(data);
  Appended done;
  batched_ = 0;
  Pattern run;  // neighbours so far
  const auto keep = [&]() {
    if (run.block == 0 || (batched_ > 0 && join(batch_[batched_ - 1], run))) return;
    if (batched_ == kBatch) {
      const Appended flushed = flush(sequence, source);
      done.bytes += flushed.bytes;
      done.error = flushed.error;
      if (done.error != 0) return;
    }
    batch_[batched_++] = run;
  };
  for (const Pattern& pattern : patterns) {
    if (is_empty(pattern)) continue;
    Pattern next = pattern;
    if (is_contiguous(next)) next = {.offset = next.offset, .block = bytes_of(next)};
    if (next.count == 1 && run.count == 1 && run.block > 0 && run.offset + run.block == next.offset) {
      run.block += next.block;
      continue;
    }
    keep();
    if (done.error != 0) return done;
    run = next;
  }
  keep();
  if (done.error != 0) return done;
  const Appended flushed = flush(sequence, source);
  return {.bytes = done.bytes + flushed.bytes, .error = flushed.error};
}

Appended LogWriter::flush(std::uint64_t sequence, Source& source) {
  if (batched_ == 0) return {};
  std::uint64_t wanted = 0;
  for (std::size_t i = 0; i < batched_; ++i) wanted += bytes_of(batch_[i]);
  Source ahead = source;
  std::uint64_t written = 0;
  int error = 0;
  while (written < wanted) {
    iovec segments[kSegments];
    const int count = ahead.take(segments, kSegments, std::min(wanted - written, kMostAtOnce));
    const ssize_t put = ::pwritev(data_.get(), segments, count, static_cast<off_t>(log_end_ + written));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      error = put < 0 ? errno : ENOSPC;
      break;
    }
    ahead.move(static_cast<std::uint64_t>(put));
    written += static_cast<std::uint64_t>(put);
  }
  if (written < wanted) cut_batch(written);
  std::size_t whole = 0;
  const int index_error = write_records(sequence, source, whole);
  Appended result{.error = error != 0 ? error : index_error};
  for (std::size_t i = 0; i < whole; ++i) result.bytes += bytes_of(batch_[i]);
  records_ += whole;
  log_end_ += result.bytes;
  if (whole > 0) sequence_ = sequence;
  if (result.error != 0) {
    // What no record tells of would only be in the way; the next append writes over what cannot be cut off.
    (void)::ftruncate(index_.get(), static_cast<off_t>(sizeof(Header) + records_ * sizeof(Record)));
    (void)::ftruncate(data_.get(), static_cast<off_t>(log_end_));
  }
  source.move(result.bytes);
  batched_ = 0;
  return result;
}

// Leaves the first bytes of the batch.
void LogWriter::cut_batch(std::uint64_t bytes) {
  std::size_t kept = 0;
  while (kept < batched_ && bytes_of(batch_[kept]) <= bytes) bytes -= bytes_of(batch_[kept++]);
  batched_ = kept;
  if (bytes == 0) return;
  const Pattern cut = batch_[kept];
  const std::uint64_t full = bytes / cut.block;
  if (full > 0) {
    batch_[batched_] = cut;
    batch_[batched_++].count = full;
  }
  if (const std::uint64_t rest = bytes % cut.block; rest > 0) {
    batch_[batched_++] = {.offset = cut.offset + full * (cut.count > 1 ? cut.stride : 0), .block = rest};
  }
}

int LogWriter::write_records(std::uint64_t sequence, const Source& source, std::size_t& whole) {
  Record records[kBatch + 1];
  Source ahead = source;
  std::uint64_t at = log_end_;
  for (std::size_t i = 0; i < batched_; ++i) {
    const Pattern& pattern = batch_[i];
    Record& record = records[i];
    record = {.kind = kKindWrite,
              .sequence = sequence,
              .offset = pattern.offset,
              .block = pattern.block,
              .stride = pattern.count > 1 ? pattern.stride : pattern.block,
              .count = pattern.count,
              .log_offset = at};
    if (data_sums_) {
      ByteHash hash;
      for (std::uint64_t rest = bytes_of(pattern); rest > 0;) {
        iovec segments[kSegments];
        const int count = ahead.take(segments, kSegments, rest);
        std::uint64_t taken = 0;
        for (const iovec& segment : std::span(segments, static_cast<std::size_t>(count))) {
          hash.add(segment.iov_base, segment.iov_len);
          taken += segment.iov_len;
        }
        ahead.move(taken);
        rest -= taken;
      }
      record.flags = kFlagDataSum;
      record.data_sum = hash.value();
    }
    record.checksum = record_checksum(record, rank_, records_ + i);
    at += bytes_of(pattern);
  }
  std::size_t done = 0;
  const int error = write_at(index_.get(), records, batched_ * sizeof(Record), sizeof(Header) + records_ * sizeof(Record), done);
  whole = done / sizeof(Record);
  return error;
}

int LogWriter::set_size(std::uint64_t sequence, std::uint64_t size) {
  if (!is_open()) return EBADF;
  if (sequence < sequence_ || size > kMaxOffset) return EINVAL;
  Record record{.kind = kKindSize, .sequence = sequence, .offset = size, .log_offset = log_end_};
  record.checksum = record_checksum(record, rank_, records_);
  const std::uint64_t at = sizeof(Header) + records_ * sizeof(Record);
  std::size_t done = 0;
  if (const int error = write_at(index_.get(), &record, sizeof(record), at, done)) {
    (void)::ftruncate(index_.get(), static_cast<off_t>(at));  // as in flush()
    return error;
  }
  ++records_;
  sequence_ = sequence;
  return 0;
}

int LogWriter::sync() {
  if (!is_open()) return EBADF;
  if (::fdatasync(data_.get()) != 0 || ::fdatasync(index_.get()) != 0) return errno;
  if (!folder_synced_ && ::fsync(folder_.get()) != 0 && errno != EINVAL) return errno;
  folder_synced_ = true;
  return 0;
}

int LogWriter::close() {
  const int data = data_.reset();
  const int index = index_.reset();
  const int folder = folder_.reset();
  if (data != 0) return data;
  return index != 0 ? index : folder;
}

int highest_sequence(const char* folder, std::uint64_t& sequence) {
  sequence = 0;
  Descriptor fd;
  if (const int error = open_folder(folder, fd)) return error == ENOENT ? 0 : error;
  GrowingArray<std::uint32_t> ranks;
  std::uint64_t strangers = 0;
  if (const int error = list_ranks(fd.get(), ranks, strangers)) return error;
  for (const std::uint32_t rank : ranks) {
    Descriptor index(::openat(fd.get(), index_name(rank).text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat about{};
    if (!index || ::fstat(index.get(), &about) != 0) return errno;
    IndexEnd end;
    if (const int error = find_end(index.get(), rank, static_cast<std::uint64_t>(about.st_size), end)) return error;
    if (end.fault != HeaderFault::none && end.fault != HeaderFault::unfinished) return EBADMSG;
    sequence = std::max(sequence, end.sequence);
  }
  return 0;
}

}  // namespace iez::rank_log
