#include "collective/wait_word.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

namespace iez::collective {

namespace {

constexpr long kFirst = 1'000'000;  // nanoseconds
constexpr std::uint32_t kDoublings = 3;

}  // namespace

void WaitWord::wake_all() { ::syscall(SYS_futex, &word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

void WaitWord::let_others_run() { ::sched_yield(); }

bool WaitWord::sleep(std::uint32_t seen, std::uint32_t round) const {
  const timespec limit{.tv_sec = 0, .tv_nsec = kFirst << std::min(round, kDoublings)};
  const long result = ::syscall(SYS_futex, &word_, FUTEX_WAIT, seen, &limit, nullptr, 0);
  return result != 0 && errno == ETIMEDOUT;
}

}  // namespace iez::collective
