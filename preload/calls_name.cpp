// Calls that give a file another name, take its name away, or choose its stripes.
#include <linux/fs.h>

#include <cstring>

#include "interpose.hpp"
#include "lustre/layout_abi.hpp"

namespace iez::preload {

namespace {

bool is_layout(const char* attribute) {
  return std::strcmp(attribute, lustre::abi::kXattrName) == 0 || std::strcmp(attribute, "trusted.lov") == 0;
}

}  // namespace

IEZ_INTERPOSE(int, rename, (const char* from, const char* to)) {
  const int status = next.rename(from, to);
  if (active.tracing && status == 0) record_rename(AT_FDCWD, from, AT_FDCWD, to, false);
  return status;
}
IEZ_INTERPOSE(int, renameat, (int from_dirfd, const char* from, int to_dirfd, const char* to)) {
  const int status = next.renameat(from_dirfd, from, to_dirfd, to);
  if (active.tracing && status == 0) record_rename(from_dirfd, from, to_dirfd, to, false);
  return status;
}
IEZ_INTERPOSE(int, renameat2, (int from_dirfd, const char* from, int to_dirfd, const char* to, unsigned flags)) {
  const int status = next.renameat2.exists() ? next.renameat2(from_dirfd, from, to_dirfd, to, flags)
                                             : static_cast<int>(::syscall(SYS_renameat2, from_dirfd, from, to_dirfd, to, flags));
  if (active.tracing && status == 0) record_rename(from_dirfd, from, to_dirfd, to, (flags & RENAME_EXCHANGE) != 0);
  return status;
}
IEZ_INTERPOSE(int, linkat, (int from_dirfd, const char* from, int to_dirfd, const char* to, int flags)) {
  const int status = next.linkat(from_dirfd, from, to_dirfd, to, flags);
  if (active.tracing && status == 0) record_link(from_dirfd, from, to_dirfd, to);
  return status;
}

IEZ_INTERPOSE(int, unlink, (const char* path)) {
  const int status = next.unlink(path);
  if (active.tracing && status == 0) record_removal(AT_FDCWD, path);
  return status;
}
IEZ_INTERPOSE(int, unlinkat, (int dirfd, const char* path, int flags)) {
  const int status = next.unlinkat(dirfd, path, flags);
  if (active.tracing && status == 0 && (flags & AT_REMOVEDIR) == 0) record_removal(dirfd, path);
  return status;
}
// libc's own calls unlink() and rmdir() without passing by here. The name of a directory is that of no file.
IEZ_INTERPOSE(int, remove, (const char* path)) {
  const int status = next.remove(path);
  if (active.tracing && status == 0) record_removal(AT_FDCWD, path);
  return status;
}

IEZ_INTERPOSE(int, setxattr, (const char* path, const char* attribute, const void* value, std::size_t size, int flags)) {
  const int status = next.setxattr(path, attribute, value, size, flags);
  if (active.tracing && status == 0 && is_layout(attribute)) record_own_layout(path);
  return status;
}
IEZ_INTERPOSE(int, lsetxattr, (const char* path, const char* attribute, const void* value, std::size_t size, int flags)) {
  const int status = next.lsetxattr(path, attribute, value, size, flags);
  if (active.tracing && status == 0 && is_layout(attribute)) record_own_layout(path);
  return status;
}
IEZ_INTERPOSE(int, fsetxattr, (int fd, const char* attribute, const void* value, std::size_t size, int flags)) {
  const int status = next.fsetxattr(fd, attribute, value, size, flags);
  if (active.tracing && status == 0 && is_layout(attribute)) record_own_layout(fd);
  return status;
}
IEZ_INTERPOSE(int, ioctl, (int fd, unsigned long request, void* argument)) {
  const int status = next.ioctl(fd, request, argument);
  if (active.tracing && status == 0 && request == lustre::abi::kIocSetStripe) record_own_layout(fd);
  return status;
}

}  // namespace iez::preload
