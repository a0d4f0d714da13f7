#include "placing.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <climits>
#include <cstring>

#include "file_records.hpp"
#include "lustre/layout_abi.hpp"
#include "lustre/set_layout.hpp"
#include "mpi/open_note.hpp"
#include "next_symbols.hpp"
#include "scratch.hpp"
#include "settings.hpp"

namespace iez::preload {

namespace {

using lustre::FileSystemKind;
using lustre::LayoutOutcome;

constexpr int kHighDescriptor = 900;  // below the usual limit of 1024, above what programs count on

// ---- The plan file ----------------------------------------------------------------------------------------------------------

struct PlanFile {
  int fd = -1;
  plan::OpenPlan plan;
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
};
constinit PlanFile plan_file;

constexpr plan::LookupCalls kLookupCalls = {.pread = sys_pread};

bool identify(int fd, std::uint64_t& inode, std::uint64_t& device) {
  struct statx answer;
  if (::syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &answer) != 0) return false;
  inode = answer.stx_ino;
  device = static_cast<std::uint64_t>(answer.stx_dev_major) << 32U | answer.stx_dev_minor;
  return true;
}

// To the highest number that the limit allows, up to kHighDescriptor.
int move_up(int fd) {
  rlimit limit{};
  ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit);
  const int lowest = limit.rlim_cur > kHighDescriptor + 16 ? kHighDescriptor : static_cast<int>(limit.rlim_cur) / 2;
  const auto moved = static_cast<int>(::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest));
  if (moved >= 0) sys_close(fd);
  return moved >= 0 ? moved : fd;
}

bool open_at_high_number() {
  // Times of access are a tenth of a lookup; only the owner of a file can do without.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  int fd = sys_openat(AT_FDCWD, settings.plan_file, kFlags | O_NOATIME, 0);
  if (fd < 0 && errno == EPERM) fd = sys_openat(AT_FDCWD, settings.plan_file, kFlags, 0);
  if (fd < 0) return false;
  PlanFile opened;
  opened.fd = move_up(fd);
  if (!identify(opened.fd, opened.inode, opened.device) ||
      plan::open_plan(kLookupCalls, opened.fd, opened.plan) != plan::PlanState::ready) {
    sys_close(opened.fd);
    return false;
  }
  plan_file = opened;
  return true;
}

// The program may have closed every descriptor by system calls, and opened others in their place.
bool plan_is_there() {
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  return plan_file.fd >= 0 && identify(plan_file.fd, inode, device) && inode == plan_file.inode && device == plan_file.device;
}

bool find_in_plan(Name& name, plan::FoundLayout& layout) {
  if (!plan_is_there() && !open_at_high_number()) return false;
  const plan::Found found = plan::find_layout(kLookupCalls, plan_file.plan, name.text, name.size, layout);
  return found == plan::Found::file || found == plan::Found::pattern || found == plan::Found::spread;
}

// ---- The directory ----------------------------------------------------------------------------------------------------------

// A word a directory: its hash but for the last byte, and there what is known. For the life of the process, once it could be
// asked.
constexpr std::size_t kDirectories = 512;
std::uint64_t directories[kDirectories];

constexpr std::uint64_t kKnown = 0x80;
constexpr std::uint64_t kOwnLayout = 0x40;
constexpr std::uint64_t kKindMask = 0x0F;

struct DirectoryFacts {
  FileSystemKind kind = FileSystemKind::unknown;
  bool own_layout = false;
};

const lustre::LayoutCalls& layout_calls();

constexpr std::size_t kLargestDefault = 1024;  // of a directory's layout: a larger one counts as its own

// The device of what a path names, as the kernel tells it without asking a server; 0: not known.
std::uint64_t device_of(const char* path) {
  struct statx answer;
  if (::syscall(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &answer) != 0) return 0;
  return static_cast<std::uint64_t>(answer.stx_dev_major) << 32U | answer.stx_dev_minor;
}

// A path that is cut at some place, and whole again afterwards.
class CutPath {
 public:
  explicit CutPath(char* text) : text_(text), end_(std::strlen(text)) {}
  ~CutPath() { text_[end_] = kept_; }
  CutPath(const CutPath&) = delete;
  CutPath& operator=(const CutPath&) = delete;

  // To the highest directory above that is on the same device.
  void cut_to_root() {
    const std::uint64_t device = device_of(text_);
    while (device != 0 && end_ > 1) {
      std::size_t shorter = end_;
      while (shorter > 0 && text_[shorter - 1] != '/') --shorter;
      if (shorter == 0) return;
      if (shorter > 1) --shorter;  // "/" keeps its name
      const char kept = text_[shorter];
      text_[shorter] = '\0';
      const bool same = device_of(text_) == device;
      if (!same) {
        text_[shorter] = kept;
        return;
      }
      text_[end_] = kept_;
      end_ = shorter;
      kept_ = kept;
    }
  }

 private:
  char* text_;
  std::size_t end_;
  char kept_ = '\0';
};

// Lustre answers with the default of the file system's root where a directory has none of its own: the bytes are the root's then.
bool has_own_layout(char* directory) {
  char own[kLargestDefault];
  const ssize_t size = ::getxattr(directory, lustre::abi::kXattrName, own, sizeof(own));
  if (size <= 0) return size < 0 && errno == ERANGE;
  char of_root[kLargestDefault];
  CutPath path(directory);
  path.cut_to_root();
  const ssize_t root_size = ::getxattr(directory, lustre::abi::kXattrName, of_root, sizeof(of_root));
  return root_size != size || std::memcmp(own, of_root, static_cast<std::size_t>(size)) != 0;
}

DirectoryFacts ask_directory(char* directory) {
  DirectoryFacts facts{.kind = lustre::file_system_kind_of(layout_calls(), AT_FDCWD, directory), .own_layout = false};
  const bool takes_layouts = facts.kind == FileSystemKind::lustre || facts.kind == FileSystemKind::lab;
  if (!takes_layouts || !settings.respect_directory_layout) return facts;
  facts.own_layout = has_own_layout(directory);
  return facts;
}

DirectoryFacts directory_facts(Name& name) {
  const std::size_t size = directory_size(name);
  const std::uint64_t hash = hash_of(name.text, size) & ~std::uint64_t{0xFF};
  std::uint64_t& word = directories[(hash >> 8U) % kDirectories];
  const std::uint64_t known = __atomic_load_n(&word, __ATOMIC_RELAXED);
  if ((known & ~std::uint64_t{0xFF}) == hash && (known & kKnown) != 0) {
    return {.kind = static_cast<FileSystemKind>(known & kKindMask), .own_layout = (known & kOwnLayout) != 0};
  }
  const char kept = name.text[size];
  name.text[size] = '\0';
  const DirectoryFacts facts = ask_directory(name.text);
  name.text[size] = kept;
  if (facts.kind == FileSystemKind::unknown) return facts;  // programs make a directory after an open() that failed in it
  __atomic_store_n(&word, hash | kKnown | (facts.own_layout ? kOwnLayout : 0) | static_cast<std::uint64_t>(facts.kind),
                   __ATOMIC_RELAXED);
  return facts;
}

const lustre::LayoutCalls& layout_calls() {
  static constexpr lustre::LayoutCalls kCalls = {
      .openat = [](int dirfd, const char* path, int flags, mode_t mode) { return next.openat(dirfd, path, flags, mode); },
      .close = [](int fd) { return next.close(fd); },
      .ioctl = [](int fd, unsigned long request,
                  const void* argument) { return next.ioctl(fd, request, const_cast<void*>(argument)); },  // NOLINT
      .getfl = [](int fd) { return next.fcntl(fd, F_GETFL, nullptr); },
      .setfl = [](int fd, int flags) { return static_cast<int>(::syscall(SYS_fcntl, fd, F_SETFL, flags)); },
      .mknodat = [](int dirfd, const char* path, mode_t mode) { return ::mknodat(dirfd, path, mode, 0); },
      .unlinkat = [](int dirfd, const char* path) { return next.unlinkat(dirfd, path, 0); },
      .fsetxattr = [](int fd, const char* name, const void* value,
                      std::size_t size) { return next.fsetxattr(fd, name, value, size, 0); },
      .setxattr = [](const char* path, const char* name, const void* value,
                     std::size_t size) { return next.setxattr(path, name, value, size, 0); },
      .getxattr = [](const char* path, const char* name, void* value,
                     std::size_t size) { return ::getxattr(path, name, value, size); },
      .fstatfs = [](int fd, struct statfs* answer) { return ::fstatfs(fd, answer); },
  };
  return kCalls;
}

// ---- Chosen by the program ---------------------------------------------------------------------------------------------------

// Names whose stripes the program chooses by hints of MPI, by hash; of those that share a place the newest.
constexpr std::size_t kNamesOfProgram = 256;
std::uint64_t names_of_program[kNamesOfProgram];

std::uint64_t& place_among_names(std::uint64_t hash) { return names_of_program[hash % kNamesOfProgram]; }

void leave_to_program(const char* path) {
  const ErrnoGuard keep;
  const Scratch scratch;
  if (!scratch || !absolute_name(AT_FDCWD, path, scratch->name)) return;
  const std::uint64_t hash = hash_of(scratch->name.text, scratch->name.size);
  __atomic_store_n(&place_among_names(hash), hash, __ATOMIC_RELAXED);
}

bool left_to_program(const Name& name) {
  const std::uint64_t hash = hash_of(name.text, name.size);
  return __atomic_load_n(&place_among_names(hash), __ATOMIC_RELAXED) == hash;
}

// ---- What became of it ------------------------------------------------------------------------------------------------------

std::uint64_t* counter_of(LayoutOutcome outcome, abi::Header& header) {
  switch (outcome) {
    case LayoutOutcome::applied:
      return &header.layouts_applied;
    case LayoutOutcome::already_has_layout:
      return &header.layouts_taken;
    case LayoutOutcome::refused:
      return &header.layouts_refused;
    case LayoutOutcome::exists:
      return &header.layouts_existing;
    case LayoutOutcome::not_lustre:
      return &header.layouts_elsewhere;
    case LayoutOutcome::left_alone:
    case LayoutOutcome::open_failed:
      break;
  }
  return nullptr;
}

bool segment_is_there() {
  if (!active.tracing || !arena.in_own_process() || !arena.begin()) return false;
  __atomic_store_n(&arena.header().plan_id, plan_file.plan.id, __ATOMIC_RELAXED);
  return true;
}

void count_outcome(const lustre::LayoutResult& result) {
  if (!segment_is_there()) return;
  if (std::uint64_t* const counter = counter_of(result.outcome, arena.header()); counter != nullptr) add(*counter, 1);
  if (result.layout_errno != 0) __atomic_store_n(&arena.header().layout_errno, result.layout_errno, __ATOMIC_RELAXED);
}

// The stripes of a plain layout as asked for: reading them back would be a round trip.
void note_stripes(const Name& name, const plan::FoundLayout& layout) {
  if (!segment_is_there() || layout.size < sizeof(lustre::abi::LayoutV1)) return;
  if (lustre::abi::plain_header_size(lustre::abi::load_u32(layout.bytes)) == 0) return;
  const std::uint32_t slot = file_record(name.text, name.size);
  if (slot == abi::kNoSlot) return;
  auto& file = arena.slot<abi::FileSlot>(slot);
  const std::uint32_t size = lustre::abi::load_u32(layout.bytes + offsetof(lustre::abi::LayoutV1, stripe_size));
  const std::uint16_t count = lustre::abi::load_u16(layout.bytes + offsetof(lustre::abi::LayoutV1, stripe_count));
  __atomic_store_n(&file.stripe_size, size, __ATOMIC_RELAXED);
  if (count != 0xFFFF) __atomic_store_n(&file.stripe_count, count, __ATOMIC_RELAXED);
}

bool may_be_placed(const Name& name) {
  return (settings.only[0] == '\0' || below_any(settings.only, name.text, name.size)) &&
         !(settings.except_given && below_any(settings.except, name.text, name.size));
}

bool has_layout(int dirfd, const char* path, ScratchBlock& scratch) {
  return absolute_name(dirfd, path, scratch.name) && may_be_placed(scratch.name) && find_in_plan(scratch.name, scratch.layout);
}

// ---- Behind a symbolic link -------------------------------------------------------------------------------------------------

LinkGuess created_links;

// Puts what a link leads to in its place: a name for the same dirfd, in `reach`. False: it is no link.
bool follow_link(int dirfd, Name& reach, char* target) {
  const long size = ::syscall(SYS_readlinkat, dirfd, reach.text, target, kNameRoom);
  if (size <= 0 || static_cast<std::size_t>(size) >= kNameRoom) return false;
  while (reach.size > 0 && reach.text[reach.size - 1] != '/') --reach.size;
  if (target[0] == '/') reach.size = 0;
  const auto added = static_cast<std::size_t>(size);
  if (reach.size + added > kNameRoom || target[added - 1] == '/') return false;
  std::memcpy(reach.text + reach.size, target, added);
  reach.size += added;
  reach.text[reach.size] = '\0';
  return true;
}

enum class Behind : std::uint8_t { nothing, created, planned };

// What is behind a name that is not planned. `created`: a new file, by the call that the program made. `planned`: reach is the
// name of a planned file that is not there yet. Changes the name in `scratch`.
Behind look_behind(int dirfd, const char* path, int flags, mode_t mode, ScratchBlock& scratch, Name& reach, int& fd) {
  constexpr int kMostLinks = 8;
  const std::size_t size = std::strlen(path);
  if ((flags & (O_EXCL | O_NOFOLLOW)) != 0 || size == 0 || path[size - 1] == '/' || scratch.name.size == 0)
    return Behind::nothing;
  if (below_any(settings.except, scratch.name.text, scratch.name.size) || !created_links.may_be_link(scratch.name))
    return Behind::nothing;
  if (may_be_placed(scratch.name)) {
    fd = next.openat(dirfd, path, flags | O_EXCL, mode);
    if (fd >= 0) return Behind::created;
    if (errno != EEXIST) return Behind::nothing;
  }
  std::memcpy(reach.text, path, size + 1);
  reach.size = size;
  bool is_link = follow_link(dirfd, reach, scratch.other_name.text);
  created_links.learn(scratch.name, is_link);
  for (int links = 0; is_link && links < kMostLinks; ++links) {
    if (has_layout(dirfd, reach.text, scratch)) {
      // The kernel has the last word on whether this link may be followed.
      const int there = sys_openat(dirfd, path, O_PATH | O_CLOEXEC, 0);
      if (there < 0) return errno == ENOENT ? Behind::planned : Behind::nothing;
      sys_close(there);
      if (segment_is_there()) add(arena.header().layouts_existing, 1);
      return Behind::nothing;
    }
    is_link = follow_link(dirfd, reach, scratch.other_name.text);
  }
  return Behind::nothing;
}

// REQUIRES: cancellation is off, since blocks of Scratch are held.
bool open_planned(int dirfd, const char* path, int flags, mode_t mode, PlacedOpen& placed) {
  const Scratch scratch;
  const Scratch behind;
  const int caller_errno = errno;
  DirectoryFacts facts;
  bool planned = scratch && has_layout(dirfd, path, *scratch);
  if (!planned && scratch && behind) {
    const Behind found = look_behind(dirfd, path, flags, mode, *scratch, behind->name, placed.fd);
    if (found == Behind::created) {
      placed.created = Created::yes;
      errno = caller_errno;
      return true;
    }
    planned = placed.behind_link = found == Behind::planned;
    if (planned) path = behind->name.text;
  }
  if (planned) {
    facts = directory_facts(scratch->name);
    if (facts.own_layout || left_to_program(scratch->name)) {
      if (segment_is_there()) add(arena.header().layouts_respected, 1);
      planned = false;
    }
  }
  errno = caller_errno;
  if (!planned) return false;

  const lustre::LayoutResult result =
      lustre::open_with_layout(layout_calls(), facts.kind, {.dirfd = dirfd, .path = path, .flags = flags, .mode = mode},
                               {.bytes = scratch->layout.bytes, .size = scratch->layout.size, .room = scratch->read_back});
  placed.fd = result.fd;
  const bool made_here = result.outcome == LayoutOutcome::applied || result.outcome == LayoutOutcome::already_has_layout;
  const bool not_known = result.outcome == LayoutOutcome::refused || result.outcome == LayoutOutcome::not_lustre;
  placed.created = made_here ? Created::yes : not_known ? Created::perhaps : Created::no;
  const ErrnoGuard keep;
  count_outcome(result);
  if (result.outcome == LayoutOutcome::applied) note_stripes(scratch->name, scratch->layout);
  return true;
}

}  // namespace

bool open_plan_file() { return open_at_high_number(); }

bool open_placed(int dirfd, const char* path, int flags, mode_t mode, PlacedOpen& placed) {
  if ((flags & O_CREAT) == 0 || (flags & (O_DIRECTORY | O_PATH)) != 0 || path == nullptr) return false;
  if (!ReadableMemory().has_text(path, PATH_MAX)) return false;  // the kernel's EFAULT, or ENAMETOOLONG
  // As at the beginning of a plain open(). Inside, a cancelled thread would leave a block of Scratch and a half-made file.
  ::pthread_testcancel();
  int state = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  const bool done = open_planned(dirfd, path, flags, mode, placed);
  ::pthread_setcancelstate(state, nullptr);
  return done;
}

bool is_planned(const char* path) {
  const ErrnoGuard keep;
  const Scratch scratch;
  return scratch && absolute_name(AT_FDCWD, path, scratch->name) && may_be_placed(scratch->name) &&
         find_in_plan(scratch->name, scratch->layout);
}

int answer_note(int command, const void* note) {
  OpenNote told;
  if (note == nullptr) return -1;
  std::memcpy(&told.size, note, sizeof(told.size));
  if (told.size < sizeof(OpenNote)) return -1;
  std::memcpy(static_cast<void*>(&told), note, sizeof(told));
  if (command == kAskPlanned) return active.placing && told.path != nullptr && is_planned(told.path) ? 1 : 0;
  if (command == kTellOwnLayout) {
    if (told.path == nullptr) return -1;
    if (active.placing) leave_to_program(told.path);
    if (active.tracing) record_own_layout(told.path);
    return 0;
  }
  const ErrnoGuard keep;
  if (!active.tracing || !arena.in_own_process() || !arena.begin()) return -1;
  // Ranks of a part of the program say less than those of the launcher.
  abi::Header& header = arena.header();
  if (told.communicator > __atomic_load_n(&header.communicator, __ATOMIC_RELAXED)) {
    __atomic_store_n(&header.communicator, told.communicator, __ATOMIC_RELAXED);
    __atomic_store_n(&header.rank, told.rank, __ATOMIC_RELAXED);
  }
  return 0;
}

int own_descriptor() { return plan_file.fd; }

bool spare_descriptor() {
  if (!active.placing || errno != EMFILE || plan_file.fd < 0) return false;
  const ErrnoGuard keep;
  if (!arena.in_own_process()) return false;
  sys_close(plan_file.fd);
  plan_file.fd = -1;
  return true;
}

void give_up_descriptor(int fd) {
  if (fd != plan_file.fd || fd < 0) return;
  const ErrnoGuard keep;
  if (!arena.in_own_process()) return;  // a child that shares the memory: its copy of the descriptor is not ours to move
  // Far away: a program that fills the numbers one after the other would meet it again at once.
  auto moved = static_cast<int>(::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd + 1000));
  if (moved < 0) moved = static_cast<int>(::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd + 1));
  if (moved < 0) {
    plan_file.fd = -1;
    return;
  }
  plan_file.plan.fd = moved;
  plan_file.fd = moved;
  sys_close(fd);
}

}  // namespace iez::preload
