#include "lab/node_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::lab {

Result<NodeLock> NodeLock::take(const std::string& path) {
  input::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(errno, path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail_errno(errno, path);
    return fail(Errc::exists, fmt::format("{}: held by process {}", path, holder(path)));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return fail_errno(errno, path);
  }
  return NodeLock(std::move(fd));
}

int NodeLock::holder(const std::string& path) {
  const input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return 0;
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return 0;
  std::array<char, 32> text{};
  const ssize_t size = ::pread(fd.get(), text.data(), text.size(), 0);
  if (size <= 0) return 0;
  const auto pid = text::parse_u64(text::trim(std::string_view(text.data(), static_cast<std::size_t>(size))));
  return pid && *pid <= 1U << 22U ? static_cast<int>(*pid) : 0;
}

}  // namespace iez::lab
