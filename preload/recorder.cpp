#include "recorder.hpp"

#include <cstring>
#include <initializer_list>

#include "file_records.hpp"
#include "lustre/layout_abi.hpp"
#include "scratch.hpp"
#include "settings.hpp"

namespace iez::preload {

constinit Activity active;

namespace {

constexpr std::uint64_t kNowhere = ~std::uint64_t{0};  // the first call is not sequential
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kClockTick = 20'000'000;  // times in files are those of a coarse clock

struct About {
  bool regular = false;
  std::uint64_t size = 0;
  std::int64_t used_ns = 0;  // the time of access
  std::int64_t changed_ns = 0;
  std::int64_t born_ns = 0;  // 0: the file system does not say
};

std::int64_t ns_of(const statx_timestamp& time) { return time.tv_sec * kSecond + time.tv_nsec; }

// Without asking servers: what the client knows is enough.
bool look_at(int fd, About& about) {
  struct statx answer;
  constexpr unsigned kWanted = STATX_TYPE | STATX_SIZE | STATX_ATIME | STATX_CTIME | STATX_BTIME;
  if (::syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &answer) != 0) return false;
  about.regular = S_ISREG(answer.stx_mode);
  about.size = answer.stx_size;
  about.used_ns = ns_of(answer.stx_atime);
  about.changed_ns = ns_of(answer.stx_ctime);
  about.born_ns = (answer.stx_mask & STATX_BTIME) != 0 ? ns_of(answer.stx_btime) : 0;
  return true;
}

bool asked_for(const Name& name) {
  return (settings.only[0] == '\0' || below_any(settings.only, name.text, name.size)) &&
         !below_any(settings.except, name.text, name.size);
}

// Whether an empty file was made a moment ago, rather than cut to nothing by O_TRUNC. A new one has one time in all places, while
// what is cut keeps the time of its last access; a birth is of the server's clock, and in whole seconds on Lustre, which tells it
// since 2.15. It costs nothing: the client has these times. Both can only miss a file that was read as it was cut, where no birth
// is told.
constexpr std::int64_t kBirthIsNear = 2 * kSecond;
bool just_born(const About& about) {
  return about.size == 0 && about.changed_ns - about.used_ns <= kClockTick &&
         (about.born_ns == 0 || about.changed_ns - about.born_ns <= kBirthIsNear);
}

// What a new descriptor of a known file begins with; the record is published by the caller.
void begin_descriptor(Descriptor& descriptor, int flags, std::uint64_t position, std::uint64_t size_before) {
  const bool appends = (flags & O_APPEND) != 0;
  descriptor.flags = ((flags & O_ACCMODE) != O_RDONLY ? kWritable : 0) | (appends ? kAppends : 0);
  descriptor.position = position;
  descriptor.write_end = descriptor.read_end = kNowhere;
  descriptor.size_before = size_before;
  descriptor.stream = nullptr;
  descriptor.stream_at = position;
  descriptor.pending = 0;
}

// The records of the file that has a name now: of those it was opened by, and those that it was given. Both, where it was renamed
// to the name and then opened by it.
struct Holders {
  std::uint32_t opened = abi::kNoSlot;
  std::uint32_t renamed = abi::kNoSlot;
};

Holders holders_of(const Name& name) {
  Holders holders{.opened = find_file_record(name.text, name.size), .renamed = find_renamed_record(name.text, name.size)};
  if (holders.opened != abi::kNoSlot && is_renamed(holders.opened)) holders.opened = abi::kNoSlot;
  return holders;
}

void set_own_layout(const abi::FileSlot& file) {
  if (abi::Times* const times = times_of(file); times != nullptr) {
    __atomic_fetch_or(&times->flags, abi::kFlagOwnLayout, __ATOMIC_RELAXED);
  }
}

// The name of what was opened, where the last part of its name may be a symbolic link.
LinkGuess opened_links;

const Name& behind_link(int fd, int flags, ScratchBlock& scratch) {
  const bool wanted = asked_for(scratch.name) || (settings.only[0] != '\0' && (flags & O_ACCMODE) != O_RDONLY);
  if (!wanted) return scratch.name;
  if (!opened_links.may_be_link(scratch.name)) return scratch.name;
  if (arena.ready() && find_file_record(scratch.name.text, scratch.name.size) != abi::kNoSlot) return scratch.name;
  if (!name_of_descriptor(fd, scratch.other_name)) return scratch.name;
  const bool same = scratch.name.size == scratch.other_name.size &&
                    std::memcmp(scratch.name.text, scratch.other_name.text, scratch.name.size) == 0;
  char target;
  const bool is_link = !same && sys_readlink(scratch.name.text, &target, 1) >= 0;
  opened_links.learn(scratch.name, is_link);
  return is_link ? scratch.other_name : scratch.name;
}

std::uint32_t record_by_name(const Name& name) {
  if (!asked_for(name)) return kIgnored;
  if (!arena.begin()) return arena.failed() ? kIgnored : kUnknown;
  const std::uint32_t slot = file_record(name.text, name.size);
  return slot == abi::kNoSlot ? kIgnored : slot + kFirstRecord;
}

void note_growth(const Descriptor& descriptor, int fd, std::uint32_t record) {
  if ((descriptor.flags & kWritable) == 0) return;
  About about;
  if (!look_at(fd, about)) return;
  const auto& file = arena.slot<abi::FileSlot>(record - kFirstRecord);
  // What the buffer of a stream still holds is counted, and about to be written.
  const std::uint64_t end = descriptor.stream != nullptr ? __atomic_load_n(&file.end, __ATOMIC_RELAXED) : 0;
  if (about.size < end) about.size = end;
  if (about.size <= descriptor.size_before) return;
  const bool linked = __atomic_load_n(&file.size_slot, __ATOMIC_RELAXED) != 0;
  if (linked || about.size - descriptor.size_before > __atomic_load_n(&file.written, __ATOMIC_RELAXED)) {
    record_growth(record - kFirstRecord, descriptor.size_before, about.size);
  }
}

}  // namespace

void record_open(int fd, int dirfd, const char* path, int flags, Created created) {
  if (fd < 0) return;
  const ErrnoGuard keep;
  const std::int64_t start = call_start();
  if (!arena.in_own_process()) return;
  Descriptor* const descriptor = descriptor_of(fd);
  if (descriptor == nullptr) {
    if (arena.begin()) add(arena.header().unseen_descriptors, 1);
    return;
  }
  About about;
  if ((flags & O_PATH) != 0 || !look_at(fd, about) || !about.regular) return publish(fd, kIgnored);
  const Scratch scratch;
  const bool unnamed = path == nullptr || (flags & O_TMPFILE) == O_TMPFILE;
  if (!scratch || !(unnamed ? name_of_descriptor(fd, scratch->name) : absolute_name(dirfd, path, scratch->name))) {
    return publish(fd, kIgnored);
  }
  const bool may_be_link = !unnamed && created != Created::yes && (flags & (O_EXCL | O_NOFOLLOW)) == 0;
  const Name& name = may_be_link ? behind_link(fd, flags, *scratch) : scratch->name;
  const std::uint32_t record = record_by_name(name);
  if (record < kFirstRecord) return publish(fd, record);
  auto& file = arena.slot<abi::FileSlot>(record - kFirstRecord);
  add(file.opens, 1);
  if (abi::Times* const times = times_of(file); times != nullptr) {
    __atomic_store_n(&times->opened_ns, arena.since_start(clock_ns(CLOCK_MONOTONIC)), __ATOMIC_RELAXED);
  }
  if ((flags & O_CREAT) != 0 && (flags & lustre::abi::kOpenDelayCreate) == lustre::abi::kOpenDelayCreate) set_own_layout(file);
  if (created == Created::yes || (created == Created::perhaps && just_born(about))) add(file.creates, 1);
  begin_descriptor(*descriptor, flags, (flags & O_APPEND) != 0 ? about.size : 0, about.size);
  publish(fd, record);
  touch(file);
  if (start != 0) record_call(record - kFirstRecord, abi::kCallOpen, 0, 0, start);
}

std::uint32_t adopt(int fd, std::uint64_t moved) {
  const ErrnoGuard keep;
  if (!arena.in_own_process()) return kUnknown;
  About about;
  const auto settle = [fd](std::uint32_t record) {
    publish(fd, record);
    return record;
  };
  if (!look_at(fd, about)) return kUnknown;  // not open at all, most likely
  if (!about.regular) return settle(kIgnored);
  const Scratch scratch;
  if (!scratch || !name_of_descriptor(fd, scratch->name)) return settle(kIgnored);
  const std::uint32_t record = record_by_name(scratch->name);
  if (record < kFirstRecord) return settle(record);
  const auto flags = static_cast<int>(::syscall(SYS_fcntl, fd, F_GETFL, 0));
  const long position = ::syscall(SYS_lseek, fd, 0L, SEEK_CUR);
  const std::uint64_t at = position < 0 ? 0 : static_cast<std::uint64_t>(position);
  // How large it was before is not known. What was changed since the process began counts as its own.
  const bool old = about.changed_ns < arena.process_start_ns() - kClockTick;
  begin_descriptor(descriptors[fd], flags, at > moved ? at - moved : 0, old ? about.size : 0);
  return settle(record);
}

void record_close(int fd) {
  if (!active.tracing) return;
  const ErrnoGuard keep;
  Descriptor* const descriptor = descriptor_of(fd);
  if (descriptor == nullptr || !arena.in_own_process()) return;
  const std::int64_t start = call_start();
  std::uint32_t record = record_of(*descriptor);
  // One that was opened and perhaps written behind our back: it grew, and nobody saw it.
  if (record == kUnknown) record = adopt(fd, 0);
  if (record >= kFirstRecord) {
    note_growth(*descriptor, fd, record);
    if (start != 0) record_call(record - kFirstRecord, abi::kCallClose, 0, 0, start);
  }
  forget(fd);
}

std::uint32_t written_file(int fd) {
  if (!active.tracing) return abi::kNoSlot;
  const Descriptor* const descriptor = descriptor_of(fd);
  if (descriptor == nullptr || (__atomic_load_n(&descriptor->flags, __ATOMIC_RELAXED) & kHasWritten) == 0) return abi::kNoSlot;
  const std::uint32_t record = record_of(*descriptor);
  return record >= kFirstRecord ? record - kFirstRecord : abi::kNoSlot;
}

void record_written_until_now(std::uint32_t file) {
  const ErrnoGuard keep;
  if (!arena.in_own_process()) return;
  touch_write(arena.slot<abi::FileSlot>(file), 0);
}

void record_flushed(std::uint32_t file, std::int64_t start) {
  constexpr std::int64_t kFlushed = 8'000'000;  // two ticks of that clock
  if (file != abi::kNoSlot && clock_ns(CLOCK_MONOTONIC_COARSE) - start > kFlushed) record_written_until_now(file);
}

void record_all_closed() {
  const ErrnoGuard keep;
  if (!arena.ready() || !arena.in_own_process()) return;
  for (int fd = highest_descriptor(); fd >= 0; --fd) {
    const std::uint32_t record = record_of(descriptors[fd]);
    if (record >= kFirstRecord) note_growth(descriptors[fd], fd, record);
  }
}

void record_duplicate(int from, int to) {
  const ErrnoGuard keep;
  if (to < 0 || from == to || !arena.in_own_process()) return;
  if (descriptor_of(to) == nullptr && arena.ready()) add(arena.header().unseen_descriptors, 1);
  copy_descriptor(from, to);
}

void record_rename(int old_dirfd, const char* old_path, int new_dirfd, const char* new_path, bool exchanged) {
  const ErrnoGuard keep;
  if (!arena.in_own_process()) return;
  const Scratch scratch;
  if (!scratch || !absolute_name(old_dirfd, old_path, scratch->name) || !absolute_name(new_dirfd, new_path, scratch->other_name))
    return;
  const Name& from = scratch->name;
  const Name& to = scratch->other_name;
  forget_directory(from);
  forget_directory(to);
  if (!arena.ready() || (from.size == to.size && std::memcmp(from.text, to.text, to.size) == 0)) return;
  const Holders moved = holders_of(from);
  const Holders replaced = exchanged ? Holders{} : holders_of(to);
  const std::int64_t now = arena.since_start(clock_ns(CLOCK_MONOTONIC));
  for (const std::uint32_t file : {replaced.opened, replaced.renamed}) {
    if (file != abi::kNoSlot && file != moved.opened && file != moved.renamed) record_removed(file, now);
  }
  for (const std::uint32_t file : {moved.opened, moved.renamed}) {
    if (file != abi::kNoSlot) record_rename(file, to.text, to.size);
  }
}

// Also of a file that another process wrote: the merge of both says that it is gone.
void record_removal(int dirfd, const char* path) {
  const ErrnoGuard keep;
  if (!arena.in_own_process()) return;
  const Scratch scratch;
  if (!scratch || !absolute_name(dirfd, path, scratch->name)) return;
  forget_directory(scratch->name);
  if (!asked_for(scratch->name) || !arena.begin()) return;
  const Name& name = scratch->name;
  Holders gone = holders_of(name);
  const bool unknown = gone.renamed == abi::kNoSlot && find_file_record(name.text, name.size) == abi::kNoSlot;
  if (unknown && arena.has_room_for_more()) gone.opened = file_record(name.text, name.size);
  const std::int64_t now = arena.since_start(clock_ns(CLOCK_MONOTONIC));
  for (const std::uint32_t file : {gone.opened, gone.renamed}) {
    if (file != abi::kNoSlot) record_removed(file, now);
  }
}

void record_own_layout(int fd) {
  const ErrnoGuard keep;
  Descriptor* const descriptor = descriptor_of(fd);
  if (descriptor == nullptr || !arena.in_own_process()) return;
  const std::uint32_t record = record_for_use(fd, descriptor, 0);
  if (record >= kFirstRecord) set_own_layout(arena.slot<abi::FileSlot>(record - kFirstRecord));
}

void record_own_layout(const char* path) {
  const ErrnoGuard keep;
  struct statx about;
  constexpr int kHow = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC;
  if (!arena.in_own_process() || ::syscall(SYS_statx, AT_FDCWD, path, kHow, STATX_TYPE, &about) != 0) return;
  const Scratch scratch;
  if (!S_ISREG(about.stx_mode) || !scratch || !absolute_name(AT_FDCWD, path, scratch->name)) return;
  const std::uint32_t record = record_by_name(scratch->name);
  if (record >= kFirstRecord) set_own_layout(arena.slot<abi::FileSlot>(record - kFirstRecord));
}

// A file without a name (O_TMPFILE) gets one: linkat(fd, "", ...), or of "/proc/self/fd/N".
void record_link(int old_dirfd, const char* old_path, int new_dirfd, const char* new_path) {
  const ErrnoGuard keep;
  if (!arena.ready() || !arena.in_own_process() || old_path == nullptr) return;
  int fd = old_dirfd;
  constexpr char kOwn[] = "/proc/self/fd/";
  if (std::strncmp(old_path, kOwn, sizeof(kOwn) - 1) == 0) {
    fd = 0;
    for (const char* digit = old_path + sizeof(kOwn) - 1; *digit != '\0'; ++digit) {
      if (*digit < '0' || *digit > '9' || fd > 1'000'000) return;
      fd = fd * 10 + (*digit - '0');
    }
  } else if (*old_path != '\0') {
    return;
  }
  const Descriptor* const descriptor = descriptor_of(fd);
  const std::uint32_t record = descriptor == nullptr ? kIgnored : record_of(*descriptor);
  const Scratch scratch;
  if (record < kFirstRecord || !scratch || !absolute_name(new_dirfd, new_path, scratch->name)) return;
  record_rename(record - kFirstRecord, scratch->name.text, scratch->name.size);
}

// ---- Single calls -----------------------------------------------------------------------------------------------------------

namespace {

// The block that this thread fills. A signal handler that comes in between finds it taken, and its call is dropped.
struct CallsOfThread {
  std::uint32_t generation;
  std::uint32_t slot;
  std::uint32_t thread;
  bool taken;
};
__thread CallsOfThread own_calls;

abi::CallsSlot* block_with_room() {
  if (own_calls.generation == arena.generation()) {
    auto& block = arena.slot<abi::CallsSlot>(own_calls.slot);
    if (block.count < abi::kCallsRoom) return &block;
  } else {
    own_calls.thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  }
  const std::uint32_t slot = arena.claim_for_calls();
  if (slot == abi::kNoSlot) return nullptr;
  auto& block = arena.slot<abi::CallsSlot>(slot);
  block.thread = own_calls.thread;
  abi::commit_slot(block.type, abi::kTypeCalls);
  own_calls.slot = slot;
  own_calls.generation = arena.generation();
  return &block;
}

}  // namespace

void record_call(std::uint32_t file, std::uint8_t operation, std::uint64_t offset, std::uint64_t length, std::int64_t start) {
  const ErrnoGuard keep;
  if (own_calls.taken) {
    add(arena.header().dropped, 1);
    return;
  }
  const std::int64_t now = clock_ns(CLOCK_MONOTONIC);
  own_calls.taken = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (abi::CallsSlot* const block = block_with_room(); block != nullptr) {
    abi::Call& call = block->calls[block->count];
    call.file = file;
    call.operation = operation;
    call.offset = offset;
    call.length = length;
    call.start_ns = arena.since_start(start);
    call.duration_ns = static_cast<std::uint64_t>(now - start);
    __atomic_store_n(&block->count, block->count + 1, __ATOMIC_RELEASE);
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  own_calls.taken = false;
}

void record_call_of(int fd, std::uint8_t operation, std::uint64_t offset, std::int64_t start) {
  const Descriptor* const descriptor = descriptor_of(fd);
  if (start == 0 || descriptor == nullptr) return;
  const std::uint32_t record = record_of(*descriptor);
  if (record >= kFirstRecord) record_call(record - kFirstRecord, operation, offset, 0, start);
}

}  // namespace iez::preload
