#include "input/byte_stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace iez::input {

namespace {

class FileStream final : public ByteStream {
 public:
  FileStream(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    while (true) {
      const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return fail_errno(errno, name_);
    }
  }

 private:
  UniqueFd fd_;
  std::string name_;
};

class SectionStream final : public ByteStream {
 public:
  SectionStream(int fd, std::uint64_t offset, std::uint64_t length, std::string name)
      : fd_(fd), offset_(offset), end_(offset + length), name_(std::move(name)) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), end_ - offset_));
    if (wanted == 0) return std::size_t{0};
    while (true) {
      const ssize_t got = ::pread(fd_, buffer.data(), wanted, static_cast<off_t>(offset_));
      if (got >= 0) {
        offset_ += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) return fail_errno(errno, name_);
    }
  }

 private:
  int fd_;
  std::uint64_t offset_;
  std::uint64_t end_;
  std::string name_;
};

class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(std::string_view bytes) : rest_(bytes) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t count = std::min(buffer.size(), rest_.size());
    if (count > 0) std::memcpy(buffer.data(), rest_.data(), count);
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

}  // namespace

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::unique_ptr<ByteStream> file_stream(UniqueFd fd, std::string name) {
  return std::make_unique<FileStream>(std::move(fd), std::move(name));
}

std::unique_ptr<ByteStream> section_stream(int fd, std::uint64_t offset, std::uint64_t length, std::string name) {
  return std::make_unique<SectionStream>(fd, offset, length, std::move(name));
}

std::unique_ptr<ByteStream> memory_stream(std::string_view bytes) { return std::make_unique<MemoryStream>(bytes); }

}  // namespace iez::input
