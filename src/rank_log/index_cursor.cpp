#include "rank_log/index_cursor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rank_log/pattern.hpp"

namespace iez::rank_log {

namespace {

bool only_zeros(const Header& header) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  return std::all_of(bytes, bytes + sizeof(header), [](unsigned char byte) { return byte == 0; });
}

// Behind the data of a sound record.
std::uint64_t data_end(const Record& record) {
  return record.log_offset + (record.kind == kKindWrite ? bytes_of(pattern_of(record)) : 0);
}

// Not a FIFO that would let us wait, not a link to elsewhere.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

}  // namespace

HeaderFault check_header(const Header& header, std::size_t size, std::uint64_t file_size, std::uint32_t rank) {
  if (size < sizeof(Header)) return HeaderFault::unfinished;
  if (only_zeros(header) && file_size == sizeof(Header)) return HeaderFault::unfinished;
  if (header.magic != kMagic) return HeaderFault::magic;
  if (header.byte_order != kByteOrder) return HeaderFault::byte_order;
  if (header.version != kVersion) return HeaderFault::version;
  if (header.header_size != sizeof(Header) || header.record_size != sizeof(Record)) return HeaderFault::sizes;
  if (header.checksum != header_checksum(header)) return HeaderFault::checksum;
  if (header.rank != rank) return HeaderFault::rank;
  return HeaderFault::none;
}

RecordFault check_record(const Record& record, std::uint32_t rank, std::uint64_t number) {
  if (record.checksum != record_checksum(record, rank, number)) return RecordFault::checksum;
  if (record.kind == kKindSize)
    return record.offset <= kMaxOffset && record.log_offset <= kMaxOffset ? RecordFault::none : RecordFault::pattern;
  if (record.kind != kKindWrite) return RecordFault::kind;
  const Pattern pattern = pattern_of(record);
  if (!is_sound(pattern) || record.log_offset > kMaxOffset || bytes_of(pattern) > kMaxOffset - record.log_offset) {
    return RecordFault::pattern;
  }
  return RecordFault::none;
}

Problem IndexCursor::open(int folder, std::uint32_t rank) {
  counts_ = {.rank = rank};
  at_ = whole_ = pending_ = window_from_ = window_count_ = 0;
  pending_fault_ = RecordFault::none;
  const Problem cannot_open{.place = Place::index, .action = Action::open, .rank = rank};
  (void)index_.reset(::openat(folder, index_name(rank).text, kReadFlags));  // the one before was only read
  (void)data_.reset();
  Problem problem = cannot_open;
  struct stat about{};
  if (!index_ || ::fstat(index_.get(), &about) != 0) {
    problem.error = errno;
    return problem;
  }
  if (!S_ISREG(about.st_mode)) {
    counts_.header_fault = HeaderFault::not_file;
    return {};
  }
  const auto size = static_cast<std::uint64_t>(about.st_size);
  std::size_t done = 0;
  if (const int error = read_at(index_.get(), &counts_.header, sizeof(Header), 0, done)) {
    return {.error = error, .place = Place::index, .action = Action::read, .rank = rank};
  }
  counts_.version = counts_.header.version;
  counts_.header_fault = check_header(counts_.header, done, size, rank);
  (void)data_.reset(::openat(folder, data_name(rank).text, kReadFlags));  // as above
  if (!data_ && errno != ENOENT) return {.error = errno, .place = Place::data, .action = Action::open, .rank = rank};
  if (data_ && ::fstat(data_.get(), &about) == 0 && S_ISREG(about.st_mode)) {
    counts_.data_size = static_cast<std::uint64_t>(about.st_size);
  }
  if (counts_.header_fault != HeaderFault::none) return {};
  whole_ = (size - sizeof(Header)) / sizeof(Record);
  const bool cut = (size - sizeof(Header)) % sizeof(Record) != 0;
  counts_.slots = whole_ + (cut ? 1 : 0);
  return {};
}

RecordFault IndexCursor::judge(const Record& record) {
  if (const RecordFault fault = check_record(record, counts_.rank, at_); fault != RecordFault::none) return fault;
  if (record.sequence < counts_.last_sequence) return RecordFault::sequence;
  const std::uint64_t end = data_end(record);
  if (record.kind == kKindWrite && end > counts_.data_size) {
    // A living writer may have gone on since.
    struct stat about{};
    if (data_ && ::fstat(data_.get(), &about) == 0 && S_ISREG(about.st_mode)) {
      counts_.data_size = static_cast<std::uint64_t>(about.st_size);
    }
    if (end > counts_.data_size) return RecordFault::data;
  }
  return RecordFault::none;
}

Problem IndexCursor::next(Record& record, std::uint64_t& number, bool& more) {
  for (; at_ < whole_; ++at_) {
    if (at_ >= window_from_ + window_count_) {
      const std::uint64_t wanted = std::min<std::uint64_t>(kWindow, whole_ - at_);
      const std::uint64_t offset = sizeof(Header) + at_ * sizeof(Record);
      std::size_t done = 0;
      if (const int error = read_at(index_.get(), window_, wanted * sizeof(Record), offset, done)) {
        return {.error = error, .place = Place::index, .action = Action::read, .rank = counts_.rank, .offset = offset};
      }
      window_from_ = at_;
      window_count_ = done / sizeof(Record);
      if (window_count_ < wanted) {
        // Cut since it was opened.
        whole_ = at_ + window_count_;
        if (window_count_ == 0) break;
      }
    }
    record = window_[at_ - window_from_];
    const RecordFault fault = judge(record);
    if (fault != RecordFault::none) {
      if (pending_ == 0 && counts_.damaged == 0) {
        counts_.first_damaged = at_;
        pending_fault_ = fault;
      }
      // Whole, but useless: that is never the end of a killed writer.
      if (fault == RecordFault::checksum) {
        ++pending_;
      } else {
        if (counts_.damaged == 0) counts_.first_fault = pending_fault_;
        counts_.damaged += pending_ + 1;
        pending_ = 0;
      }
      continue;
    }
    if (pending_ > 0) {
      if (counts_.damaged == 0) counts_.first_fault = pending_fault_;
      counts_.damaged += pending_;
      pending_ = 0;
    }
    counts_.last_sequence = record.sequence;
    counts_.data_used = std::max(counts_.data_used, data_end(record));
    if (record.kind == kKindSize) {
      ++counts_.sizes;
    } else {
      ++counts_.writes;
      counts_.pieces += record.count;
      counts_.bytes += bytes_of(pattern_of(record));
    }
    number = at_++;
    more = true;
    return {};
  }
  counts_.torn = pending_ + (counts_.slots > whole_ ? counts_.slots - whole_ : 0);
  if (counts_.damaged == 0) counts_.first_damaged = 0;
  more = false;
  return {};
}

int find_end(int index, std::uint32_t rank, std::uint64_t size, IndexEnd& end) {
  end = {};
  std::size_t done = 0;
  if (const int error = read_at(index, &end.header, sizeof(Header), 0, done)) return error;
  end.fault = check_header(end.header, done, size, rank);
  if (end.fault != HeaderFault::none) return 0;
  for (std::uint64_t number = (size - sizeof(Header)) / sizeof(Record); number > 0; --number) {
    Record record{};
    if (const int error = read_at(index, &record, sizeof(record), sizeof(Header) + (number - 1) * sizeof(Record), done))
      return error;
    if (done < sizeof(record) || check_record(record, rank, number - 1) != RecordFault::none) continue;
    end.records = number;
    end.sequence = record.sequence;
    end.log_end = data_end(record);
    return 0;
  }
  return 0;
}

}  // namespace iez::rank_log
