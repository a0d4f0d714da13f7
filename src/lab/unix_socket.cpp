#include "lab/unix_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace iez::lab {
namespace {

constexpr int kBacklog = 512;
constexpr int kSendBuffer = 4 << 20;  // a few requests of data; the kernel gives as much of it as it allows

struct Address {
  sockaddr_un bytes{};
  input::UniqueFd folder;  // keeps a path through /proc valid
};

Result<Address> address_of(const std::string& path) {
  Address address;
  address.bytes.sun_family = AF_UNIX;
  std::string reachable = path;
  if (path.size() >= sizeof address.bytes.sun_path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    address.folder = input::UniqueFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (address.folder.get() < 0) return fail_errno(errno, fmt::format("folder of socket {}", path));
    reachable = fmt::format("/proc/self/fd/{}/{}", address.folder.get(), path.substr(slash + 1));
  }
  if (reachable.size() >= sizeof address.bytes.sun_path) return fail_errno(ENAMETOOLONG, fmt::format("socket {}", path));
  std::memcpy(address.bytes.sun_path, reachable.c_str(), reachable.size() + 1);
  return address;
}

const sockaddr* generic(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.bytes); }

}  // namespace

Result<input::UniqueFd> listen_at(const std::string& path) {
  IEZ_TRY(const Address address, address_of(path));
  struct stat found{};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode))
      return fail(Errc::exists, fmt::format("socket {}: the path is taken by another kind of file", path));
    if (connect_to(path)) return fail(Errc::exists, fmt::format("socket {}: another server listens there", path));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, fmt::format("remove socket {}", path));
  }
  input::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return fail_errno(errno, fmt::format("socket {}", path));
  if (::bind(fd.get(), generic(address), sizeof address.bytes) != 0)
    return fail_errno(errno, fmt::format("bind socket {}", path));
  if (::listen(fd.get(), kBacklog) != 0) return fail_errno(errno, fmt::format("listen at socket {}", path));
  return fd;
}

Result<input::UniqueFd> connect_to(const std::string& path) {
  IEZ_TRY(const Address address, address_of(path));
  input::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return fail_errno(errno, fmt::format("socket {}", path));
  while (::connect(fd.get(), generic(address), sizeof address.bytes) != 0) {
    if (errno != EINTR) return fail_errno(errno, fmt::format("connect to socket {}", path));
  }
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);  // slower without, no more
  return fd;
}

}  // namespace iez::lab
