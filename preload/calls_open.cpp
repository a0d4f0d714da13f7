// open() and its kin. Files that are created may be planned: those go through open_placed().
#include <cstring>

#include "interpose.hpp"
#include "placing.hpp"

namespace iez::preload {

namespace {

// As the kernel has it (linux/openat2.h).
struct OpenHow {
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};

Created created_by(int flags) {
  if ((flags & O_TMPFILE) == O_TMPFILE) return Created::yes;
  if ((flags & O_CREAT) == 0) return Created::no;
  return (flags & O_EXCL) != 0 ? Created::yes : Created::perhaps;
}

// `open_plainly` makes the call that the program made.
template <typename Call>
int open_file(int dirfd, const char* path, int flags, mode_t mode, Call open_plainly) {
  if (active.placing) {
    PlacedOpen placed;
    if (open_placed(dirfd, path, flags, mode, placed)) {
      if (active.tracing) record_open(placed.fd, dirfd, placed.behind_link ? nullptr : path, flags, placed.created);
      return placed.fd;
    }
  }
  int fd = open_plainly();
  if (fd < 0 && spare_descriptor()) fd = open_plainly();
  if (active.tracing) record_open(fd, dirfd, path, flags, created_by(flags));
  return fd;
}

bool idle() { return !active.tracing && !active.placing; }

// ---- mkstemp ----------------------------------------------------------------------------------------------------------------

constexpr std::size_t kRandomLetters = 6;

// Puts new letters in place of the six X before the suffix. False if they are not there.
bool replace_letters(char* name, int suffix_size) {
  const std::size_t size = std::strlen(name);
  if (suffix_size < 0 || size < kRandomLetters + static_cast<std::size_t>(suffix_size)) return false;
  char* const letters = name + size - static_cast<std::size_t>(suffix_size) - kRandomLetters;
  if (std::memcmp(letters, "XXXXXX", kRandomLetters) != 0) return false;
  std::uint64_t value = 0;
  if (::syscall(SYS_getrandom, &value, sizeof(value), 1L) != sizeof(value)) {  // 1: does not wait
    value = static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC)) * 0x9E3779B9'7F4A7C15;
  }
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  for (std::size_t i = 0; i < kRandomLetters; ++i, value /= 62) letters[i] = kLetters[value % 62];
  return true;
}

// If names of this form are planned, makes the file as mkostemps() does, with its layout. Else false, and the name is as it was.
bool make_placed_temporary(char* name, int suffix_size, int flags, int& fd) {
  if (!active.placing || name == nullptr) return false;
  const int caller_errno = errno;
  const std::size_t size = std::strlen(name);
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (!replace_letters(name, suffix_size)) return false;
    PlacedOpen placed;
    const int how = (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL;
    const bool done = open_placed(AT_FDCWD, name, how, 0600, placed);
    if (done && placed.fd >= 0) {
      if (active.tracing) record_open(placed.fd, AT_FDCWD, name, how, Created::yes);
      fd = placed.fd;
      return true;
    }
    std::memcpy(name + size - static_cast<std::size_t>(suffix_size) - kRandomLetters, "XXXXXX", kRandomLetters);
    if (!done || errno != EEXIST) break;
  }
  errno = caller_errno;
  return false;
}

template <typename Call>
int make_temporary(char* name, int suffix_size, int flags, Call make_plainly) {
  if (idle()) return make_plainly();
  int fd = -1;
  if (make_placed_temporary(name, suffix_size, flags, fd)) return fd;
  fd = make_plainly();
  if (active.tracing) record_open(fd, AT_FDCWD, name, O_RDWR | (flags & O_APPEND), Created::yes);
  return fd;
}

}  // namespace

// The mode is read even where the program gave none: it then is whatever the register held, and nobody looks at it.
IEZ_INTERPOSE(int, open, (const char* path, int flags, mode_t mode)) {
  if (IEZ_LIKELY(idle())) return next.open(path, flags, mode);
  return open_file(AT_FDCWD, path, flags, mode, [=] { return next.open(path, flags, mode); });
}
IEZ_INTERPOSE(int, open64, (const char* path, int flags, mode_t mode)) {
  if (IEZ_LIKELY(idle())) return next.open64(path, flags, mode);
  return open_file(AT_FDCWD, path, flags, mode, [=] { return next.open64(path, flags, mode); });
}
IEZ_INTERPOSE(int, openat, (int dirfd, const char* path, int flags, mode_t mode)) {
  if (IEZ_LIKELY(idle())) return next.openat(dirfd, path, flags, mode);
  return open_file(dirfd, path, flags, mode, [=] { return next.openat(dirfd, path, flags, mode); });
}
IEZ_INTERPOSE(int, openat64, (int dirfd, const char* path, int flags, mode_t mode)) {
  if (IEZ_LIKELY(idle())) return next.openat64(dirfd, path, flags, mode);
  return open_file(dirfd, path, flags, mode, [=] { return next.openat64(dirfd, path, flags, mode); });
}

// The fortified ones end the program when flags ask for a mode: so no planned file comes by here.
IEZ_INTERPOSE(int, __open_2, (const char* path, int flags)) {
  const int fd = next.__open_2(path, flags);
  if (active.tracing) record_open(fd, AT_FDCWD, path, flags, created_by(flags));
  return fd;
}
IEZ_INTERPOSE(int, __open64_2, (const char* path, int flags)) {
  const int fd = next.__open64_2(path, flags);
  if (active.tracing) record_open(fd, AT_FDCWD, path, flags, created_by(flags));
  return fd;
}
IEZ_INTERPOSE(int, __openat_2, (int dirfd, const char* path, int flags)) {
  const int fd = next.__openat_2(dirfd, path, flags);
  if (active.tracing) record_open(fd, dirfd, path, flags, created_by(flags));
  return fd;
}
IEZ_INTERPOSE(int, __openat64_2, (int dirfd, const char* path, int flags)) {
  const int fd = next.__openat64_2(dirfd, path, flags);
  if (active.tracing) record_open(fd, dirfd, path, flags, created_by(flags));
  return fd;
}

// Newer libcs have it. In others only a library that brings its own leads here.
IEZ_INTERPOSE(int, openat2, (int dirfd, const char* path, void* how, std::size_t size)) {
  const auto open_plainly = [=] {
    return next.openat2.exists() ? next.openat2(dirfd, path, how, size)
                                 : static_cast<int>(::syscall(SYS_openat2, dirfd, path, how, size));
  };
  if (idle() || size < sizeof(OpenHow) || !ReadableMemory().has(how, sizeof(OpenHow))) return open_plainly();
  OpenHow asked;
  std::memcpy(&asked, how, sizeof(asked));
  const auto flags = static_cast<int>(asked.flags);
  // With rules for the way to the file, or what only this call checks, it stays the program's own.
  if (asked.resolve == 0 && size == sizeof(OpenHow) && asked.flags >> 31U == 0 && (asked.mode & ~07777ULL) == 0) {
    return open_file(dirfd, path, flags, static_cast<mode_t>(asked.mode), open_plainly);
  }
  const int fd = open_plainly();
  if (active.tracing) record_open(fd, dirfd, path, flags, created_by(flags));
  return fd;
}

IEZ_INTERPOSE(int, creat, (const char* path, mode_t mode)) {
  if (idle()) return next.creat(path, mode);
  return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode, [=] { return next.creat(path, mode); });
}
IEZ_INTERPOSE(int, creat64, (const char* path, mode_t mode)) {
  if (idle()) return next.creat64(path, mode);
  return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode, [=] { return next.creat64(path, mode); });
}

IEZ_INTERPOSE(int, mkstemp, (char* name)) {
  return make_temporary(name, 0, 0, [=] { return next.mkstemp(name); });
}
IEZ_INTERPOSE(int, mkstemp64, (char* name)) {
  return make_temporary(name, 0, 0, [=] { return next.mkstemp64(name); });
}
IEZ_INTERPOSE(int, mkostemp, (char* name, int flags)) {
  return make_temporary(name, 0, flags, [=] { return next.mkostemp(name, flags); });
}
IEZ_INTERPOSE(int, mkostemp64, (char* name, int flags)) {
  return make_temporary(name, 0, flags, [=] { return next.mkostemp64(name, flags); });
}
IEZ_INTERPOSE(int, mkstemps, (char* name, int suffix_size)) {
  return make_temporary(name, suffix_size, 0, [=] { return next.mkstemps(name, suffix_size); });
}
IEZ_INTERPOSE(int, mkstemps64, (char* name, int suffix_size)) {
  return make_temporary(name, suffix_size, 0, [=] { return next.mkstemps64(name, suffix_size); });
}
IEZ_INTERPOSE(int, mkostemps, (char* name, int suffix_size, int flags)) {
  return make_temporary(name, suffix_size, flags, [=] { return next.mkostemps(name, suffix_size, flags); });
}
IEZ_INTERPOSE(int, mkostemps64, (char* name, int suffix_size, int flags)) {
  return make_temporary(name, suffix_size, flags, [=] { return next.mkostemps64(name, suffix_size, flags); });
}

}  // namespace iez::preload
