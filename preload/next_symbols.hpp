// The functions that the interposed ones stand before: of the next library in line, which is libc or another preload library.
//
// All are looked up in the constructor of the library. Constructors of other libraries may run before it and call an interposed
// function: then that one is looked up at its first call. While a lookup is under way in this thread (dlsym may allocate, and an
// allocator may open files) and for functions that nobody has, a call gives ENOSYS.
//
// Thread safety: any thread. After resolve_next_symbols() a call is one load and one jump, async-signal-safe as the function is.
#pragma once

#include <aio.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <type_traits>

#define IEZ_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))

namespace iez::preload {

// Null if there is none, or this thread is looking one up just now.
void* find_next_symbol(const char* name);

template <typename Signature>
class Next;

template <typename R, typename... Arguments>
class Next<R(Arguments...)> {
 public:
  using Function = R (*)(Arguments...);

  constexpr explicit Next(const char* name) : name_(name) {}

  [[gnu::always_inline]] R operator()(Arguments... arguments) {
    Function function = __atomic_load_n(&found_, __ATOMIC_RELAXED);
    if (!IEZ_LIKELY(function != nullptr)) {
      function = resolve();
      if (function == nullptr) return missing();
    }
    return function(arguments...);
  }

  Function resolve() {
    const auto found = reinterpret_cast<Function>(find_next_symbol(name_));
    if (found != nullptr) __atomic_store_n(&found_, found, __ATOMIC_RELAXED);
    return found;
  }
  bool exists() { return __atomic_load_n(&found_, __ATOMIC_RELAXED) != nullptr || resolve() != nullptr; }

 private:
  static R missing() {
    errno = ENOSYS;
    if constexpr (std::is_pointer_v<R>) {
      return nullptr;
    } else if constexpr (!std::is_void_v<R>) {
      return static_cast<R>(-1);
    }
  }

  const char* name_;
  Function found_ = nullptr;
};

// Those with "..." in libc are called with the arguments that they may have: the calling conventions of Linux pass them alike.
#define IEZ_NEXT_SYMBOLS(X)                                                                                         \
  X(int, open, (const char*, int, mode_t))                                                                          \
  X(int, open64, (const char*, int, mode_t))                                                                        \
  X(int, __open_2, (const char*, int))                                                                              \
  X(int, __open64_2, (const char*, int))                                                                            \
  X(int, openat, (int, const char*, int, mode_t))                                                                   \
  X(int, openat64, (int, const char*, int, mode_t))                                                                 \
  X(int, __openat_2, (int, const char*, int))                                                                       \
  X(int, __openat64_2, (int, const char*, int))                                                                     \
  X(int, creat, (const char*, mode_t))                                                                              \
  X(int, creat64, (const char*, mode_t))                                                                            \
  X(int, mkstemp, (char*))                                                                                          \
  X(int, mkstemp64, (char*))                                                                                        \
  X(int, mkostemp, (char*, int))                                                                                    \
  X(int, mkostemp64, (char*, int))                                                                                  \
  X(int, mkstemps, (char*, int))                                                                                    \
  X(int, mkstemps64, (char*, int))                                                                                  \
  X(int, mkostemps, (char*, int, int))                                                                              \
  X(int, mkostemps64, (char*, int, int))                                                                            \
  X(int, close, (int))                                                                                              \
  X(int, dup, (int))                                                                                                \
  X(int, dup2, (int, int))                                                                                          \
  X(int, dup3, (int, int, int))                                                                                     \
  X(int, fcntl, (int, int, void*))                                                                                  \
  X(int, fcntl64, (int, int, void*))                                                                                \
  X(ssize_t, write, (int, const void*, std::size_t))                                                                \
  X(ssize_t, pwrite, (int, const void*, std::size_t, off_t))                                                        \
  X(ssize_t, pwrite64, (int, const void*, std::size_t, off_t))                                                      \
  X(ssize_t, writev, (int, const iovec*, int))                                                                      \
  X(ssize_t, pwritev, (int, const iovec*, int, off_t))                                                              \
  X(ssize_t, pwritev64, (int, const iovec*, int, off_t))                                                            \
  X(ssize_t, pwritev2, (int, const iovec*, int, off_t, int))                                                        \
  X(ssize_t, pwritev64v2, (int, const iovec*, int, off_t, int))                                                     \
  X(ssize_t, read, (int, void*, std::size_t))                                                                       \
  X(ssize_t, pread, (int, void*, std::size_t, off_t))                                                               \
  X(ssize_t, pread64, (int, void*, std::size_t, off_t))                                                             \
  X(ssize_t, readv, (int, const iovec*, int))                                                                       \
  X(ssize_t, preadv, (int, const iovec*, int, off_t))                                                               \
  X(ssize_t, preadv64, (int, const iovec*, int, off_t))                                                             \
  X(ssize_t, preadv2, (int, const iovec*, int, off_t, int))                                                         \
  X(ssize_t, preadv64v2, (int, const iovec*, int, off_t, int))                                                      \
  X(ssize_t, __read_chk, (int, void*, std::size_t, std::size_t))                                                    \
  X(ssize_t, __pread_chk, (int, void*, std::size_t, off_t, std::size_t))                                            \
  X(ssize_t, __pread64_chk, (int, void*, std::size_t, off_t, std::size_t))                                          \
  X(off_t, lseek, (int, off_t, int))                                                                                \
  X(off_t, lseek64, (int, off_t, int))                                                                              \
  X(ssize_t, sendfile, (int, int, off_t*, std::size_t))                                                             \
  X(ssize_t, sendfile64, (int, int, off_t*, std::size_t))                                                           \
  X(ssize_t, copy_file_range, (int, off_t*, int, off_t*, std::size_t, unsigned))                                    \
  X(ssize_t, splice, (int, off_t*, int, off_t*, std::size_t, unsigned))                                             \
  X(ssize_t, aio_return, (aiocb*))                                                                                  \
  X(ssize_t, aio_return64, (aiocb*))                                                                                \
  X(int, fsync, (int))                                                                                              \
  X(int, fdatasync, (int))                                                                                          \
  X(int, ftruncate, (int, off_t))                                                                                   \
  X(int, ftruncate64, (int, off_t))                                                                                 \
  X(int, vdprintf, (int, const char*, va_list))                                                                     \
  X(int, __vdprintf_chk, (int, int, const char*, va_list))                                                          \
  X(FILE*, fopen, (const char*, const char*))                                                                       \
  X(FILE*, fopen64, (const char*, const char*))                                                                     \
  X(FILE*, freopen, (const char*, const char*, FILE*))                                                              \
  X(FILE*, freopen64, (const char*, const char*, FILE*))                                                            \
  X(FILE*, fdopen, (int, const char*))                                                                              \
  X(int, fclose, (FILE*))                                                                                           \
  X(int, fflush, (FILE*))                                                                                           \
  X(int, fflush_unlocked, (FILE*))                                                                                  \
  X(int, fseek, (FILE*, long, int))                                                                                 \
  X(int, fseeko, (FILE*, off_t, int))                                                                               \
  X(int, fseeko64, (FILE*, off_t, int))                                                                             \
  X(void, rewind, (FILE*))                                                                                          \
  X(int, fsetpos, (FILE*, const fpos_t*))                                                                           \
  X(int, fsetpos64, (FILE*, const fpos_t*))                                                                         \
  X(off_t, ftello, (FILE*))                                                                                         \
  X(std::size_t, fwrite, (const void*, std::size_t, std::size_t, FILE*))                                            \
  X(std::size_t, fwrite_unlocked, (const void*, std::size_t, std::size_t, FILE*))                                   \
  X(std::size_t, fread, (void*, std::size_t, std::size_t, FILE*))                                                   \
  X(std::size_t, fread_unlocked, (void*, std::size_t, std::size_t, FILE*))                                          \
  X(std::size_t, __fread_chk, (void*, std::size_t, std::size_t, std::size_t, FILE*))                                \
  X(std::size_t, __fread_unlocked_chk, (void*, std::size_t, std::size_t, std::size_t, FILE*))                       \
  X(int, rename, (const char*, const char*))                                                                        \
  X(int, renameat, (int, const char*, int, const char*))                                                            \
  X(int, linkat, (int, const char*, int, const char*, int))                                                         \
  X(int, unlink, (const char*))                                                                                     \
  X(int, unlinkat, (int, const char*, int))                                                                         \
  X(int, remove, (const char*))                                                                                     \
  X(int, setxattr, (const char*, const char*, const void*, std::size_t, int))                                       \
  X(int, lsetxattr, (const char*, const char*, const void*, std::size_t, int))                                      \
  X(int, fsetxattr, (int, const char*, const void*, std::size_t, int))                                              \
  X(int, ioctl, (int, unsigned long, void*))                                                                        \
  X(int, execve, (const char*, char* const*, char* const*))                                                         \
  X(int, execv, (const char*, char* const*))                                                                        \
  X(int, execvp, (const char*, char* const*))                                                                       \
  X(int, execvpe, (const char*, char* const*, char* const*))                                                        \
  X(int, fexecve, (int, char* const*, char* const*))                                                                \
  X(int, posix_spawn,                                                                                               \
    (pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*)) \
  X(int, posix_spawnp,                                                                                              \
    (pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*)) \
  X(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long))                                  \
  X(void, _exit, (int))                                                                                             \
  X(void, _Exit, (int))                                                                                             \
  X(void, quick_exit, (int))

// Not in every libc: looked up when they are called.
#define IEZ_LATE_SYMBOLS(X)                                         \
  X(int, openat2, (int, const char*, void*, std::size_t))           \
  X(int, close_range, (unsigned, unsigned, int))                    \
  X(void, closefrom, (int))                                         \
  X(int, renameat2, (int, const char*, int, const char*, unsigned)) \
  X(int, execveat, (int, const char*, char* const*, char* const*, int))

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are those of libc
struct NextSymbols {
#define IEZ_MEMBER(result, name, parameters) Next<result parameters> name{#name};
  IEZ_NEXT_SYMBOLS(IEZ_MEMBER)
  IEZ_LATE_SYMBOLS(IEZ_MEMBER)
#undef IEZ_MEMBER
};

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

extern constinit NextSymbols next;

void resolve_next_symbols();

}  // namespace iez::preload
