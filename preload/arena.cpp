#include "arena.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstring>

#include "ranks.hpp"
#include "settings.hpp"
#include "system.hpp"

namespace iez::preload {

constinit Arena arena;

namespace {

constexpr std::size_t kFirstBytes = std::size_t{64} * 1024;
constexpr std::size_t kGrowth = 4;
constexpr std::size_t kIndexBytes = Arena::kIndexSize * sizeof(std::uint64_t);
constexpr int kMostSteps = 1000;  // of a tenth of a millisecond: longer than any disk takes

__thread bool making_here;

void* map_memory(std::size_t size, int flags, int fd) {
  const long at = ::syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, flags, fd, 0L);
  return at == -1 ? nullptr : reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr): an address is a number here
}

// A file beyond the limit would bring SIGXFSZ to the program.
bool within_limit(std::uint64_t size) {
  rlimit limit{};
  return ::syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

// Bytes that the file system has set aside, all zero.
bool allocate(int fd, std::uint64_t from, std::uint64_t to) {
  if (!within_limit(to)) return false;
  if (::syscall(SYS_fallocate, fd, 0, from, to - from) == 0) return true;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
  static constexpr char kZeros[4096] = {};
  while (from < to) {
    const std::uint64_t rest = to - from;
    const ssize_t done = sys_pwrite(fd, kZeros, rest < sizeof(kZeros) ? rest : sizeof(kZeros), static_cast<off_t>(from));
    if (done <= 0) return false;
    from += static_cast<std::uint64_t>(done);
  }
  return true;
}

// Text that is cut rather than overrun.
class Text {
 public:
  Text(char* to, std::size_t room) : to_(to), room_(room) { *to_ = '\0'; }

  Text& operator<<(const char* text) {
    for (; *text != '\0'; ++text) put(*text);
    return *this;
  }
  Text& operator<<(std::uint64_t number) {
    char digits[20];
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0) put(digits[--count]);
    return *this;
  }
  // At most `most` characters; those that a file name should not have become '_'.
  Text& put_word(const char* text, std::size_t most) {
    for (; *text != '\0' && most > 0; ++text, --most) {
      const bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9') ||
                         *text == '-' || *text == '_' || *text == '+';
      put(plain ? *text : '_');
    }
    return *this;
  }
  bool whole() const { return whole_; }

 private:
  void put(char character) {
    if (size_ + 1 >= room_) {
      whole_ = false;
      return;
    }
    to_[size_++] = character;
    to_[size_] = '\0';
  }

  char* to_;
  std::size_t room_;
  std::size_t size_ = 0;
  bool whole_ = true;
};

const char* base_of(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

void read_program(char* to, std::size_t room) {
  const ssize_t size = sys_readlink("/proc/self/exe", to, room - 1);
  to[size > 0 ? size : 0] = '\0';
}

}  // namespace

void Arena::start_process() {
  if (header_ != nullptr) ::syscall(SYS_munmap, header_, settings.arena_bytes);
  if (index_ != nullptr) ::syscall(SYS_munmap, index_, kIndexBytes);
  header_ = nullptr;
  slots_ = nullptr;
  index_ = nullptr;
  ++generation_;
  pid_ = sys_getpid();
  process_start_ns_ = clock_ns(CLOCK_REALTIME);
  process_start_monotonic_ = clock_ns(CLOCK_MONOTONIC);
  times_ = 0;
  __atomic_store_n(&state_, kNone, __ATOMIC_RELEASE);
}

bool Arena::in_own_process() const { return !__atomic_load_n(&confined_, __ATOMIC_RELAXED) && sys_getpid() == pid_; }

bool Arena::begin() {
  if (ready()) return true;
  std::uint32_t expected = kNone;
  if (!__atomic_compare_exchange_n(&state_, &expected, kMaking, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    return expected == kReady || (expected == kMaking && wait_until_made());
  }
  if (!in_own_process()) {
    __atomic_store_n(&state_, kNone, __ATOMIC_RELEASE);
    return false;
  }
  making_here = true;
  const bool made = make();
  __atomic_store_n(&state_, made ? kReady : kFailed, __ATOMIC_RELEASE);
  making_here = false;
  return made;
}

// What other threads do meanwhile would be lost. A signal handler that interrupted the one that makes it cannot wait; and should
// that one never return (siglongjmp), nobody waits twice.
bool Arena::wait_until_made() {
  if (making_here) return false;
  constexpr timespec kStep{.tv_sec = 0, .tv_nsec = 100'000};
  for (int i = 0; i < kMostSteps; ++i) {
    ::syscall(SYS_nanosleep, &kStep, nullptr);
    const std::uint32_t state = __atomic_load_n(&state_, __ATOMIC_ACQUIRE);
    if (state != kMaking) return state == kReady;
  }
  std::uint32_t expected = kMaking;
  __atomic_compare_exchange_n(&state_, &expected, kFailed, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return false;
}

bool Arena::make() {
  char program[sizeof(abi::Header::program)];
  read_program(program, sizeof(program));
  utsname system{};
  ::uname(&system);
  const auto now = static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME));
  for (std::uint64_t attempt = 0; attempt < 16; ++attempt) {
    Text path(path_, sizeof(path_));
    (path << settings.trace_directory << "/").put_word(base_of(program), 64) << ".";
    path.put_word(system.nodename, 48) << "." << static_cast<std::uint64_t>(pid_) << "." << now + attempt << abi::kSuffix;
    if (!path.whole()) return false;
    const int fd = sys_openat(AT_FDCWD, path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return false;
    // The header first: a process may be killed while the file gets its room, which takes longest.
    const bool mapped = write_header(fd) && map(fd);
    if (mapped) {
      ::syscall(SYS_fchmod, fd, 0400);
    } else {
      ::syscall(SYS_unlinkat, AT_FDCWD, path_, 0);
    }
    sys_close(fd);
    return mapped;
  }
  return false;
}

bool Arena::map(int fd) {
  if (!allocate(fd, sizeof(abi::Header), kFirstBytes)) return false;
  void* const memory = map_memory(settings.arena_bytes, MAP_SHARED, fd);
  if (memory == nullptr) return false;
  void* const index = map_memory(kIndexBytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (index == nullptr) {
    ::syscall(SYS_munmap, memory, settings.arena_bytes);
    return false;
  }
  header_ = static_cast<abi::Header*>(memory);
  slots_ = reinterpret_cast<abi::Slot*>(header_ + 1);
  index_ = static_cast<std::uint64_t*>(index);
  allocated_ = (kFirstBytes - sizeof(abi::Header)) / sizeof(abi::Slot);
  return true;
}

bool Arena::write_header(int fd) {
  if (!within_limit(kFirstBytes)) return false;
  capacity_ = (settings.arena_bytes - sizeof(abi::Header)) / sizeof(abi::Slot);
  abi::Header header{};
  header.byte_order = abi::kByteOrder;
  header.version = abi::kVersion;
  header.minor_version = abi::kMinorVersion;
  header.header_size = sizeof(abi::Header);
  header.slot_size = sizeof(abi::Slot);
  header.slot_capacity = capacity_;
  header.kind = abi::kKindProcess;
  header.pid = static_cast<std::uint32_t>(pid_);
  header.parent_pid = static_cast<std::uint32_t>(::syscall(SYS_getppid));
  header.processes = 1;
  // Of the process, not of its first record: ranks of one program are started together, which tells the clocks of hosts apart.
  header.start_ns = process_start_ns_;
  header.start_monotonic = process_start_monotonic_;
  start_monotonic_ = header.start_monotonic;
  utsname system{};
  if (::uname(&system) == 0) Text(header.host, sizeof(header.host)) << system.nodename;
  std::memcpy(header.job, own_rank.job, sizeof(header.job));
  read_program(header.program, sizeof(header.program));
  header.end_ns = abi::kNoTime;
  header.state = abi::kStateOpen;
  header.rank = own_rank.rank;
  header.communicator = own_rank.communicator;
  abi::commit_header(header);
  return sys_pwrite(fd, &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header));
}

// Several threads may do this at once, each for itself: every step can be repeated. One that finds the file read-only again
// drops its record.
bool Arena::grow(std::uint64_t slots) {
  if (__atomic_load_n(&confined_, __ATOMIC_RELAXED)) return false;
  std::uint64_t bytes = kFirstBytes;
  while (bytes < sizeof(abi::Header) + slots * sizeof(abi::Slot)) bytes *= kGrowth;
  if (bytes > settings.arena_bytes) bytes = settings.arena_bytes;
  ::syscall(SYS_fchmodat, AT_FDCWD, path_, 0600);
  const int fd = sys_openat(AT_FDCWD, path_, O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0);
  ::syscall(SYS_fchmodat, AT_FDCWD, path_, 0400);
  if (fd < 0) return false;
  const bool grown = allocate(fd, kFirstBytes, bytes);
  sys_close(fd);
  if (grown) raise_to(allocated_, (bytes - sizeof(abi::Header)) / sizeof(abi::Slot));
  return grown;
}

std::uint32_t Arena::take(std::uint32_t count) {
  std::uint64_t used = __atomic_load_n(&header_->slots_used, __ATOMIC_RELAXED);
  for (;;) {
    const std::uint64_t end = used + count;
    if (end > capacity_ || (end > __atomic_load_n(&allocated_, __ATOMIC_ACQUIRE) && !grow(end))) return abi::kNoSlot;
    if (__atomic_compare_exchange_n(&header_->slots_used, &used, end, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return static_cast<std::uint32_t>(used);
    }
  }
}

std::uint32_t Arena::claim(std::uint32_t count) {
  const std::uint32_t first = take(count);
  if (first == abi::kNoSlot) add(header_->dropped, 1);
  return first;
}

// A file whose times find no room is told of all the same.
std::uint32_t Arena::claim_times() {
  std::uint64_t seen = __atomic_load_n(&times_, __ATOMIC_RELAXED);
  for (;;) {
    const auto taken = static_cast<std::uint32_t>(seen & 0xFF);
    if (seen != 0 && taken < abi::kTimesRoom) {
      if (!__atomic_compare_exchange_n(&times_, &seen, seen + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) continue;
      return abi::times_number(static_cast<std::uint32_t>(seen >> 8U) - 1, taken) + 1;
    }
    const std::uint32_t number = take(1);
    if (number == abi::kNoSlot) return 0;
    auto& block = slot<abi::TimesSlot>(number);
    for (abi::Times& times : block.times) {
      times.first_write_ns = times.last_write_ns = times.first_read_ns = times.last_read_ns = abi::kNoTime;
      times.opened_ns = times.removed_ns = abi::kNoTime;
    }
    for (std::size_t i = abi::kTimesRoom; i-- > 0;) abi::commit_slot(block.times[i].type, abi::kTypeTimes);
    const std::uint64_t fresh = (std::uint64_t{number} + 1) << 8U | 1;
    if (__atomic_compare_exchange_n(&times_, &seen, fresh, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
      return abi::times_number(number, 0) + 1;
    }
    abi::commit_slot(block.times[0].type, abi::kTypeSkip);  // another thread was faster
  }
}

std::uint32_t Arena::claim_for_calls() {
  if (has_room_for_more()) return claim(1);
  add(header_->dropped, 1);
  return abi::kNoSlot;
}

void Arena::mark_closed() {
  if (!ready() || !in_own_process()) return;
  __atomic_store_n(&header_->end_ns, since_start(clock_ns(CLOCK_MONOTONIC)), __ATOMIC_RELAXED);
  __atomic_store_n(&header_->state, abi::kStateClosed, __ATOMIC_RELEASE);
}

void Arena::mark_open() {
  if (!ready() || !in_own_process()) return;
  __atomic_store_n(&header_->state, abi::kStateOpen, __ATOMIC_RELEASE);
  __atomic_store_n(&header_->end_ns, abi::kNoTime, __ATOMIC_RELAXED);
}

}  // namespace iez::preload
