// Calls that close and duplicate descriptors. The one of the plan file is hidden: for the program it is not open.
#include <linux/close_range.h>

#include "interpose.hpp"
#include "mpi/open_note.hpp"
#include "placing.hpp"

namespace iez::preload {

namespace {

constexpr int kUnshare = CLOSE_RANGE_UNSHARE;
constexpr int kOnExec = CLOSE_RANGE_CLOEXEC;

bool is_hidden(int fd) { return active.placing && fd >= 0 && fd == own_descriptor(); }

int say_not_open() {
  errno = EBADF;
  return -1;
}

void record_range_closed(unsigned first, unsigned last) {
  const int highest = highest_descriptor();
  for (unsigned fd = first; highest >= 0 && fd <= last && fd <= static_cast<unsigned>(highest); ++fd) {
    if (record_of(descriptors[fd]) != kUnknown) record_close(static_cast<int>(fd));
  }
}

int close_range_plainly(unsigned first, unsigned last, int flags) {
  return next.close_range.exists() ? next.close_range(first, last, flags)
                                   : static_cast<int>(::syscall(SYS_close_range, first, last, flags));
}

// Around the hidden one.
int close_range_but_hidden(unsigned first, unsigned last, int flags) {
  const int hidden = active.placing ? own_descriptor() : -1;
  if (hidden < 0 || static_cast<unsigned>(hidden) < first || static_cast<unsigned>(hidden) > last)
    return close_range_plainly(first, last, flags);
  const auto at = static_cast<unsigned>(hidden);
  int status = 0;
  if (first < at) status = close_range_plainly(first, at - 1, flags);
  if (status == 0 && last > at) status = close_range_plainly(at + 1, last, flags & ~kUnshare);
  return status;
}

bool is_note(int command) {
  return (command == kAskPlanned || command == kTellOpened || command == kTellOwnLayout) && (active.tracing || active.placing);
}

// A copy of the hidden one cannot be had, and its number is free.
bool before_taking(int from, int to) {
  if (is_hidden(from)) return false;
  if (from != to && is_hidden(to)) give_up_descriptor(to);
  return true;
}

// dup2() closes what it replaces.
void before_replacing(int from, int to) {
  const Descriptor* const replaced = from == to ? nullptr : descriptor_of(to);
  if (replaced == nullptr || record_of(*replaced) < kFirstRecord) return;
  const ErrnoGuard keep;
  if (::syscall(SYS_fcntl, from, F_GETFD, 0) >= 0) record_close(to);
}

}  // namespace

IEZ_INTERPOSE(int, close, (int fd)) {
  if (IEZ_LIKELY(!active.tracing && !active.placing)) return next.close(fd);
  if (is_hidden(fd)) return say_not_open();
  const std::uint32_t file = written_file(fd);
  const std::int64_t start = file == abi::kNoSlot ? 0 : clock_ns(CLOCK_MONOTONIC_COARSE);
  record_close(fd);
  const int status = next.close(fd);
  record_flushed(file, start);
  return status;
}

IEZ_INTERPOSE(int, close_range, (unsigned first, unsigned last, int flags)) {
  if (active.tracing && (flags & kOnExec) == 0 && first <= last) record_range_closed(first, last);
  return close_range_but_hidden(first, last, flags);
}

IEZ_INTERPOSE(void, closefrom, (int first)) {
  const unsigned from = first < 0 ? 0 : static_cast<unsigned>(first);
  if (active.tracing) record_range_closed(from, ~0U);
  if (active.placing && own_descriptor() >= first) {
    close_range_but_hidden(from, ~0U, 0);
  } else {
    next.closefrom(first);
  }
}

IEZ_INTERPOSE(int, dup, (int fd)) {
  if (is_hidden(fd)) return say_not_open();
  int copy = next.dup(fd);
  if (copy < 0 && spare_descriptor()) copy = next.dup(fd);
  if (active.tracing) record_duplicate(fd, copy);
  return copy;
}

IEZ_INTERPOSE(int, dup2, (int from, int to)) {
  if (!before_taking(from, to)) return say_not_open();
  if (active.tracing) before_replacing(from, to);
  const int copy = next.dup2(from, to);
  if (active.tracing) record_duplicate(from, copy);
  return copy;
}

IEZ_INTERPOSE(int, dup3, (int from, int to, int flags)) {
  if (!before_taking(from, to)) return say_not_open();
  if (active.tracing) before_replacing(from, to);
  const int copy = next.dup3(from, to, flags);
  if (active.tracing) record_duplicate(from, copy);
  return copy;
}

#define IEZ_INTERPOSE_FCNTL(name)                                                                           \
  IEZ_INTERPOSE(int, name, (int fd, int command, void* argument)) {                                         \
    if (fd == kNoteDescriptor && is_note(command)) return answer_note(command, argument);                   \
    if (is_hidden(fd)) return say_not_open();                                                               \
    int answer = next.name(fd, command, argument);                                                          \
    if (answer < 0 && spare_descriptor()) answer = next.name(fd, command, argument);                        \
    if (active.tracing && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) record_duplicate(fd, answer); \
    return answer;                                                                                          \
  }
IEZ_INTERPOSE_FCNTL(fcntl)
IEZ_INTERPOSE_FCNTL(fcntl64)

}  // namespace iez::preload
