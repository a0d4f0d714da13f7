#include "workload/posix_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::workload {

namespace {

constexpr mode_t kMode = 0664;

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

  Result<void> write(std::uint64_t offset, std::span<const std::byte> data) override {
    while (!data.empty()) {
      const ssize_t done = ::pwrite(fd_, data.data(), data.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return failed();
      offset += static_cast<std::uint64_t>(done);
      data = data.subspan(static_cast<std::size_t>(done));
    }
    return {};
  }

  Result<void> read(std::uint64_t offset, std::span<std::byte> data) override {
    while (!data.empty()) {
      const ssize_t done = ::pread(fd_, data.data(), data.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return failed();
      if (done == 0)
        return fail(Errc::io, fmt::format("{}: ends at {}, where {} bytes more are expected", name_, offset, data.size()));
      offset += static_cast<std::uint64_t>(done);
      data = data.subspan(static_cast<std::size_t>(done));
    }
    return {};
  }

  Result<void> sync() override {
    if (::fsync(fd_) != 0) return failed();
    return {};
  }

  Result<void> close() override {
    if (::close(std::exchange(fd_, -1)) != 0) return failed();
    return {};
  }

 private:
  [[nodiscard]] std::unexpected<Error> failed() const { return fail_errno(errno, name_); }

  int fd_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<File>> PosixFiles::open(const Opening& opening) {
  const std::string name = text::printable(opening.name);
  int flags = O_CLOEXEC;
  if (!opening.write) {
    flags |= O_RDONLY;
  } else {
    flags |= opening.create ? O_WRONLY | O_CREAT : O_WRONLY;
  }
  const int fd = ::open(opening.name.c_str(), flags, kMode);
  if (fd < 0) return fail_errno(errno, name);
  // What is not dropped is read faster, and no more.
  if (!opening.write && opening.drop_cache) static_cast<void>(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
  return std::make_unique<PosixFile>(fd, name);
}

}  // namespace iez::workload
