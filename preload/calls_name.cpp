// Calls that give a file another name.
#include "interpose.hpp"

namespace iez::preload {

IEZ_INTERPOSE(int, rename, (const char* from, const char* to)) {
  const int status = next.rename(from, to);
  if (active.tracing && status == 0) record_rename(AT_FDCWD, from, AT_FDCWD, to);
  return status;
}
IEZ_INTERPOSE(int, renameat, (int from_dirfd, const char* from, int to_dirfd, const char* to)) {
  const int status = next.renameat(from_dirfd, from, to_dirfd, to);
  if (active.tracing && status == 0) record_rename(from_dirfd, from, to_dirfd, to);
  return status;
}
IEZ_INTERPOSE(int, renameat2, (int from_dirfd, const char* from, int to_dirfd, const char* to, unsigned flags)) {
  const int status = next.renameat2.exists() ? next.renameat2(from_dirfd, from, to_dirfd, to, flags)
                                             : static_cast<int>(::syscall(SYS_renameat2, from_dirfd, from, to_dirfd, to, flags));
  if (active.tracing && status == 0) record_rename(from_dirfd, from, to_dirfd, to);
  return status;
}
IEZ_INTERPOSE(int, linkat, (int from_dirfd, const char* from, int to_dirfd, const char* to, int flags)) {
  const int status = next.linkat(from_dirfd, from, to_dirfd, to, flags);
  if (active.tracing && status == 0) record_link(from_dirfd, from, to_dirfd, to);
  return status;
}

}  // namespace iez::preload
