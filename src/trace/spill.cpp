#include "trace/spill.hpp"

#include <fcntl.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp() is not in std
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace iez::trace {

namespace {

constexpr std::size_t kWriteBuffer = std::size_t{1} << 20U;
constexpr std::size_t kSmallestBuffer = std::size_t{64} * 1024;  // of a run; some long rows fit
constexpr std::size_t kLargestBuffer = std::size_t{4} << 20U;

std::string default_directory() {
  const char* const given = std::getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/tmp";
}

}  // namespace

// One run, row by row.
class Spill::Cursor {
 public:
  Cursor(int fd, Run run, std::size_t buffer_size) : fd_(fd), run_(run), capacity_(buffer_size) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  }

  // Moves to the next row; false at the end.
  [[nodiscard]] Result<bool> next() {
    if (row_ != nullptr) at_ += packed_size(*row_);
    row_ = nullptr;
    IEZ_TRY(const bool more, has(sizeof(PackedRow)));
    if (!more) return false;
    const std::size_t size = packed_size(*reinterpret_cast<const PackedRow*>(buffer_.get() + at_));
    IEZ_TRY(const bool whole, has(size));
    if (!whole) return fail(Errc::io, "a temporary file of the merge is shorter than what was written to it");
    row_ = reinterpret_cast<const PackedRow*>(buffer_.get() + at_);
    return true;
  }

  const PackedRow& row() const { return *row_; }

 private:
  // Whether so many bytes follow; they are in the buffer then.
  [[nodiscard]] Result<bool> has(std::size_t size) {
    if (filled_ - at_ >= size) return true;
    std::memmove(buffer_.get(), buffer_.get() + at_, filled_ - at_);
    filled_ -= at_;
    at_ = 0;
    if (size > capacity_) {
      auto larger = std::make_unique_for_overwrite<std::byte[]>(size);
      std::memcpy(larger.get(), buffer_.get(), filled_);
      buffer_ = std::move(larger);
      capacity_ = size;
    }
    while (filled_ < size && run_.begin < run_.end) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(capacity_ - filled_, run_.end - run_.begin));
      const ssize_t got = ::pread(fd_, buffer_.get() + filled_, wanted, static_cast<off_t>(run_.begin));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, "cannot read a temporary file of the merge");
      if (got == 0) break;
      filled_ += static_cast<std::size_t>(got);
      run_.begin += static_cast<std::uint64_t>(got);
    }
    return filled_ >= size;
  }

  int fd_;
  Run run_;  // what was not read yet
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t capacity_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  const PackedRow* row_ = nullptr;
};

Spill::Spill(std::string directory) : directory_(std::move(directory)) {
  if (directory_.empty()) directory_ = default_directory();
}

Result<void> Spill::open() {
  if (fd_) return {};
  std::string name = directory_ + "/iez-merge-XXXXXX";
  fd_ = input::UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd_) {
    return fail_errno(errno,
                      fmt::format("{}: cannot create a temporary file; give a directory that can be written to", directory_));
  }
  if (::unlink(name.c_str()) != 0) return fail_errno(errno, fmt::format("{}: cannot remove the name of a temporary file", name));
  buffer_.reserve(kWriteBuffer);
  return {};
}

Result<void> Spill::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t put = ::pwrite(fd_.get(), buffer_.data() + done, buffer_.size() - done, static_cast<off_t>(written_));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      return fail_errno(put < 0 ? errno : EIO,
                        fmt::format("{}: cannot write a temporary file of the merge; it needs about 300 bytes for each file of "
                                    "each process: give a directory with room, or more memory",
                                    directory_));
    }
    done += static_cast<std::size_t>(put);
    written_ += static_cast<std::uint64_t>(put);
  }
  buffer_.clear();
  return {};
}

Result<void> Spill::put(const PackedRow& row) {
  const std::size_t size = packed_size(row);
  if (!buffer_.empty() && buffer_.size() + size > kWriteBuffer) IEZ_CHECK(flush());
  const auto* const bytes = reinterpret_cast<const std::byte*>(&row);
  buffer_.insert(buffer_.end(), bytes, bytes + size);
  return {};
}

Result<void> Spill::add_run(std::span<const PackedRow* const> rows) {
  IEZ_CHECK(open());
  const std::uint64_t begin = written_;
  for (const PackedRow* row : rows) IEZ_CHECK(put(*row));
  IEZ_CHECK(flush());
  runs_.push_back({.begin = begin, .end = written_});
  return {};
}

Result<void> Spill::merge_runs(std::span<const Run> runs, Bytes memory, const Visitor& visitor) const {
  const std::size_t buffer_size =
      std::clamp<std::uint64_t>(memory.count / std::max<std::size_t>(runs.size(), 1), kSmallestBuffer, kLargestBuffer);
  std::vector<Cursor> cursors;
  cursors.reserve(runs.size());
  std::vector<Cursor*> heap;  // the least name on top; which of equal ones does not matter: adding up commutes
  heap.reserve(runs.size());
  const auto later = [](const Cursor* a, const Cursor* b) { return b->row().name() < a->row().name(); };
  for (const Run& run : runs) {
    cursors.emplace_back(fd_.get(), run, buffer_size);
    IEZ_TRY(const bool more, cursors.back().next());
    if (more) heap.push_back(&cursors.back());
  }
  std::make_heap(heap.begin(), heap.end(), later);

  std::vector<std::byte> sum;  // a row of one name, as far as it is added up
  while (!heap.empty()) {
    const auto row_of_sum = [&] { return reinterpret_cast<PackedRow*>(sum.data()); };
    std::pop_heap(heap.begin(), heap.end(), later);
    Cursor& cursor = *heap.back();
    const PackedRow& row = cursor.row();
    if (!sum.empty() && row_of_sum()->name() == row.name()) {
      absorb(row_of_sum()->counters, row.counters);
      if (row.renamed() > row_of_sum()->renamed()) {
        const PackedRow head = *row_of_sum();
        sum.resize(packed_size(row));
        pack(sum.data(), head, row.name(), row.renamed());
      }
    } else {
      if (!sum.empty()) IEZ_CHECK(visitor(*row_of_sum()));
      const auto* const bytes = reinterpret_cast<const std::byte*>(&row);
      sum.assign(bytes, bytes + packed_size(row));
    }
    IEZ_TRY(const bool more, cursor.next());
    if (more) {
      std::push_heap(heap.begin(), heap.end(), later);
    } else {
      heap.pop_back();
    }
  }
  if (!sum.empty()) IEZ_CHECK(visitor(*reinterpret_cast<const PackedRow*>(sum.data())));
  return {};
}

Result<void> Spill::merge(Bytes memory, const Visitor& visitor) {
  std::size_t done = 0;  // runs that went into longer ones
  while (runs_.size() - done > kFanIn) {
    const std::vector<Run> group(runs_.begin() + static_cast<std::ptrdiff_t>(done),
                                 runs_.begin() + static_cast<std::ptrdiff_t>(done + kFanIn));
    const std::uint64_t begin = written_;
    IEZ_CHECK(merge_runs(group, memory, [this](const PackedRow& row) { return put(row); }));
    IEZ_CHECK(flush());
    runs_.push_back({.begin = begin, .end = written_});
    done += kFanIn;
  }
  runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(done));
  const std::vector<Run> last = std::exchange(runs_, {});
  IEZ_CHECK(merge_runs(last, memory, visitor));
  fd_.reset();
  written_ = 0;
  return {};
}

}  // namespace iez::trace
