#include "collective/storage.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace iez::collective {

namespace {

constexpr std::int64_t kPage = 4096;

bool whole_pages(std::int64_t offset, const std::byte* data, std::int64_t bytes) {
  return offset % kPage == 0 && bytes % kPage == 0 && reinterpret_cast<std::uintptr_t>(data) % kPage == 0;
}

// All of it, however often the kernel takes or gives a part.
template <typename Call>
Transferred all(std::int64_t bytes, Call call) {
  Transferred done;
  while (done.bytes < bytes) {
    const ssize_t count = call(done.bytes);
    if (count > 0) {
      done.bytes += count;
    } else if (count == 0) {
      return done;
    } else if (errno != EINTR) {
      done.error = errno;
      return done;
    }
  }
  return done;
}

}  // namespace

FileStorage::~FileStorage() {
  if (fd_ >= 0) ::close(fd_);
  if (direct_fd_ >= 0) ::close(direct_fd_);
}

Transferred FileStorage::write(std::int64_t offset, const std::byte* data, std::int64_t bytes) {
  int fd = direct_fd_ >= 0 && whole_pages(offset, data, bytes) ? direct_fd_ : fd_;
  return all(bytes, [&](std::int64_t done) {
    ssize_t count = ::pwrite(fd, data + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (count < 0 && errno == EINVAL && fd != fd_) {  // not as direct as it seemed
      fd = fd_;
      count = ::pwrite(fd, data + done, static_cast<std::size_t>(bytes - done), offset + done);
    }
    return count;
  });
}

Transferred FileStorage::read(std::int64_t offset, std::byte* data, std::int64_t bytes) {
  int fd = direct_fd_ >= 0 && whole_pages(offset, data, bytes) ? direct_fd_ : fd_;
  return all(bytes, [&](std::int64_t done) {
    ssize_t count = ::pread(fd, data + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (count < 0 && errno == EINVAL && fd != fd_) {
      fd = fd_;
      count = ::pread(fd, data + done, static_cast<std::size_t>(bytes - done), offset + done);
    }
    return count;
  });
}

std::int64_t FileStorage::size() {
  struct stat found{};
  return ::fstat(fd_, &found) == 0 ? found.st_size : -1;
}

}  // namespace iez::collective
