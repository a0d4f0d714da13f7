// System calls for the library's own needs. They pass by every interposed function, ours and those of other libraries, and are
// no cancellation points. errno is changed: slow paths begin with an ErrnoGuard.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime() is not in std
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace iez::preload {

class ErrnoGuard {
 public:
  ErrnoGuard() : kept_(errno) {}
  ~ErrnoGuard() { errno = kept_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int kept_;
};

inline int sys_openat(int dirfd, const char* path, int flags, mode_t mode) {
  return static_cast<int>(::syscall(SYS_openat, dirfd, path, flags, mode));
}
inline int sys_close(int fd) { return static_cast<int>(::syscall(SYS_close, fd)); }
inline ssize_t sys_read(int fd, void* to, std::size_t size) { return ::syscall(SYS_read, fd, to, size); }
inline ssize_t sys_pread(int fd, void* to, std::size_t size, off_t offset) {
  return ::syscall(SYS_pread64, fd, to, size, offset);
}
inline ssize_t sys_pwrite(int fd, const void* from, std::size_t size, off_t offset) {
  return ::syscall(SYS_pwrite64, fd, from, size, offset);
}
inline pid_t sys_getpid() { return static_cast<pid_t>(::syscall(SYS_getpid)); }
inline ssize_t sys_readlink(const char* path, char* to, std::size_t size) {
  return ::syscall(SYS_readlinkat, AT_FDCWD, path, to, size);
}
// Bytes without the terminating zero, or -1.
inline ssize_t sys_getcwd(char* to, std::size_t size) {
  const long got = ::syscall(SYS_getcwd, to, size);
  return got > 0 ? got - 1 : -1;
}

// Memory of the program that a call of its own was to hand to the kernel: what cannot be read must give EFAULT there, and no
// signal here. One system call a page that is entered (0.15 us; a name is nearly always within one), and none where the page is
// the one that was asked for last. Where the call is forbidden, nothing counts as readable, and the program's own call is made as
// it is. errno is kept.
class ReadableMemory {
 public:
  // The word of 8 bytes around it.
  bool has(const void* at) {
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(at) / kPage;
    if (page == 0) return false;  // there lies the null pointer, which the call takes for no set at all
    if (page == known_) return true;
    if (!kernel_reads(reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{7})) return false;
    known_ = page;
    return true;
  }

  bool has(const void* at, std::size_t size) {
    const char* const bytes = static_cast<const char*>(at);
    for (std::size_t done = 0; done < size; done += left_in_page(bytes + done)) {
      if (!has(static_cast<const void*>(bytes + done))) return false;
    }
    return true;
  }

  // A text that ends within `most` bytes.
  bool has_text(const char* text, std::size_t most) {
    for (std::size_t done = 0; done < most;) {
      if (!has(static_cast<const void*>(text + done))) return false;
      const std::size_t left = left_in_page(text + done);
      const std::size_t here = left < most - done ? left : most - done;
      if (std::memchr(text + done, '\0', here) != nullptr) return true;
      done += here;
    }
    return false;
  }

 private:
  static constexpr std::uintptr_t kPage = 4096;  // rules of larger pages hold for each of these

  static std::size_t left_in_page(const char* at) { return kPage - reinterpret_cast<std::uintptr_t>(at) % kPage; }

  // The kernel reads the set of signals before it finds that there is no such way to change the mask.
  static bool kernel_reads(std::uintptr_t word) {
    const ErrnoGuard keep;
    constexpr long kNoWay = -1;
    return ::syscall(SYS_rt_sigprocmask, kNoWay, word, nullptr, 8L) != 0 && errno == EINVAL;
  }

  std::uintptr_t known_ = 0;  // 0: none
};

inline std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// "/proc/self/fd/N".
class ProcFd {
 public:
  explicit ProcFd(int fd) {
    constexpr char kPrefix[] = "/proc/self/fd/";
    char* end = text_;
    for (const char* from = kPrefix; *from != '\0'; ++from) *end++ = *from;
    char digits[12];
    std::size_t count = 0;
    for (auto rest = static_cast<unsigned>(fd); count == 0 || rest != 0; rest /= 10)
      digits[count++] = static_cast<char>('0' + rest % 10);
    while (count != 0) *end++ = digits[--count];
    *end = '\0';
  }
  const char* c_str() const { return text_; }

 private:
  char text_[32];
};

}  // namespace iez::preload
