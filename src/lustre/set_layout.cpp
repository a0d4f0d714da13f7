#include "lustre/set_layout.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "lustre/layout_abi.hpp"

namespace iez::lustre {

namespace {

constexpr int kForOwnNode = O_PATH | O_NOFOLLOW | O_CLOEXEC;

const std::byte* as_bytes(const void* at) { return static_cast<const std::byte*>(at); }

bool is_composite(const LayoutRequest& request) {
  return request.size >= sizeof(std::uint32_t) && abi::load_u32(as_bytes(request.bytes)) == abi::kMagicComposite;
}

// An open that makes a new regular file and leaves its layout to others. O_TMPFILE contains O_DIRECTORY; a caller with
// O_LOV_DELAY_CREATE, such as `lfs setstripe`, has a layout of its own in mind.
bool creates_file(int flags) {
  return (flags & O_CREAT) != 0 && (flags & (O_DIRECTORY | O_PATH)) == 0 &&
         (flags & abi::kOpenDelayCreate) != abi::kOpenDelayCreate;
}

// ---- Results ----

LayoutResult opened(int fd, LayoutOutcome outcome, int layout_errno = 0) {
  if (fd >= 0) return {.fd = fd, .outcome = outcome, .open_errno = 0, .layout_errno = layout_errno};
  return {.fd = -1, .outcome = LayoutOutcome::open_failed, .open_errno = errno, .layout_errno = layout_errno};
}

LayoutResult open_plainly(const LayoutCalls& calls, const OpenArguments& to, LayoutOutcome outcome, int layout_errno = 0) {
  return opened(calls.openat(to.dirfd, to.path, to.flags, to.mode), outcome, layout_errno);
}

// "/proc/self/fd/N": reaches what an O_PATH descriptor holds, for calls that have no dirfd.
class ProcPath {
 public:
  explicit ProcPath(int fd) {
    std::memcpy(text_, kPrefix, sizeof(kPrefix) - 1);
    char digits[12];
    std::size_t count = 0;
    for (int rest = fd; count == 0 || rest != 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
    char* end = text_ + sizeof(kPrefix) - 1;
    while (count != 0) *end++ = digits[--count];
    *end = '\0';
  }
  const char* c_str() const { return text_; }

 private:
  static constexpr char kPrefix[] = "/proc/self/fd/";
  char text_[sizeof(kPrefix) + 12];
};

// Another process made the file a moment ago and is about to set its layout, or never will: a plain open for writing now would
// give it the default one. All who follow one plan ask for the same layout, so whoever is first may set it; to the others it says
// 0 and changes nothing. A file that has its layout is not touched.
void set_for_creator(const LayoutCalls& calls, const OpenArguments& to, const LayoutRequest& request) {
  if ((to.flags & O_ACCMODE) == O_RDONLY) return;
  const int node = calls.openat(to.dirfd, to.path, kForOwnNode, 0);
  if (node < 0) return;
  const ProcPath path(node);
  if (calls.getxattr(path.c_str(), abi::kXattrName, nullptr, 0) < 0 && errno == ENODATA) {
    calls.setxattr(path.c_str(), abi::kXattrName, request.bytes, request.size);
  }
  calls.close(node);
}

// The exclusive create failed: the caller gets whatever its own open gives, be it the existing file or the very same errno.
LayoutResult not_created(const LayoutCalls& calls, const OpenArguments& to, const LayoutRequest& request) {
  const int reason = errno;
  if (reason != EEXIST) return open_plainly(calls, to, LayoutOutcome::refused, reason);
  if ((to.flags & O_EXCL) != 0) return opened(-1, LayoutOutcome::open_failed);
  set_for_creator(calls, to, request);
  return open_plainly(calls, to, LayoutOutcome::exists);
}

// Opens the file that this call created. The name may have changed hands since, so it creates no other file, leads an exclusive
// caller through no symbolic link, and truncates nothing that somebody else may have written.
int open_own(const LayoutCalls& calls, const OpenArguments& to) {
  const int no_follow = (to.flags & O_EXCL) != 0 ? O_NOFOLLOW : 0;
  return calls.openat(to.dirfd, to.path, (to.flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | no_follow, to.mode);
}

LayoutResult open_own_or_anew(const LayoutCalls& calls, const OpenArguments& to, LayoutOutcome outcome, int layout_errno) {
  const int fd = open_own(calls, to);
  const int reason = errno;
  if (fd < 0 && (reason == EMFILE || reason == ENFILE)) {
    // A plain open would not have got as far as creating it.
    calls.unlinkat(to.dirfd, to.path);
    errno = reason;
  }
  if (fd >= 0 || (reason != EACCES && reason != ENOENT)) return opened(fd, outcome, layout_errno);
  // Removed by somebody, or its mode forbids what the creating open was allowed to do: start again, without the layout.
  if (reason == EACCES) calls.unlinkat(to.dirfd, to.path);
  return open_plainly(calls, to, LayoutOutcome::refused, layout_errno != 0 ? layout_errno : reason);
}

// ---- Reading back ----

// 0, or the errno for which the node has not the layout that was asked for.
int compare_in(const LayoutCalls& calls, const char* node, const LayoutRequest& request, void* room, std::size_t room_size) {
  const ssize_t size = calls.getxattr(node, abi::kXattrName, room, room_size);
  if (size < 0) return errno == ERANGE ? 0 : errno;
  return layout_answers_request(request, room, static_cast<std::size_t>(size)) ? 0 : EEXIST;
}

// Apart, so that only those who bring no room pay for it with their stack.
[[gnu::noinline]] int compare_on_stack(const LayoutCalls& calls, const char* node, const LayoutRequest& request) {
  std::byte found[kReadBackSize];
  return compare_in(calls, node, request, found, sizeof(found));
}

int compare(const LayoutCalls& calls, const char* node, const LayoutRequest& request) {
  if (request.room == nullptr) return compare_on_stack(calls, node, request);
  return compare_in(calls, node, request, request.room, kReadBackSize);
}

// ---- Lustre ----

// On Lustre O_ASYNC does not survive the delayed open; where it does, a signal would follow every write.
void drop_async(const LayoutCalls& calls, int fd) {
  const int flags = calls.getfl(fd);
  if (flags >= 0 && (flags & O_ASYNC) != 0) calls.setfl(fd, flags & ~O_ASYNC);
}

LayoutResult open_on_lustre(const LayoutCalls& calls, const OpenArguments& to, const LayoutRequest& request) {
  const int fd = calls.openat(to.dirfd, to.path, to.flags | O_EXCL | abi::kOpenDelayCreate, to.mode);
  if (fd < 0) return not_created(calls, to, request);
  const int set = is_composite(request) ? calls.fsetxattr(fd, abi::kXattrName, request.bytes, request.size)
                                        : calls.ioctl(fd, abi::kIocSetStripe, request.bytes);
  int reason = set == 0 ? 0 : errno;
  if (reason == EEXIST) reason = compare(calls, ProcPath(fd).c_str(), request) == 0 ? 0 : EEXIST;
  if (reason == 0 || reason == EEXIST) {
    if ((to.flags & O_ASYNC) == 0) drop_async(calls, fd);
    return opened(fd, reason == 0 ? LayoutOutcome::applied : LayoutOutcome::already_has_layout, reason);
  }
  // write() on this descriptor would give EBADF, and on any other one as long as this one is open.
  calls.close(fd);
  return open_own_or_anew(calls, to, LayoutOutcome::refused, reason);
}

// ---- Lab ----

int set_and_read_back(const LayoutCalls& calls, const char* node, const LayoutRequest& request) {
  if (calls.setxattr(node, abi::kXattrName, request.bytes, request.size) != 0) return errno;
  return compare(calls, node, request);
}

int set_on_node(const LayoutCalls& calls, const OpenArguments& to, const LayoutRequest& request) {
  const int node = calls.openat(to.dirfd, to.path, kForOwnNode, 0);
  if (node < 0) return errno;
  const int reason = set_and_read_back(calls, ProcPath(node).c_str(), request);
  calls.close(node);
  return reason;
}

LayoutResult open_in_lab(const LayoutCalls& calls, const OpenArguments& to, const LayoutRequest& request) {
  if (calls.mknodat(to.dirfd, to.path, S_IFREG | (to.mode & 07777U)) != 0) return not_created(calls, to, request);
  const int reason = set_on_node(calls, to, request);
  const LayoutOutcome outcome = reason == 0        ? LayoutOutcome::applied
                                : reason == EEXIST ? LayoutOutcome::already_has_layout
                                                   : LayoutOutcome::refused;
  return open_own_or_anew(calls, to, outcome, reason);
}

// ---- Comparing ----

bool composite_answers(const std::byte* asked, std::size_t asked_size, const std::byte* found, std::size_t found_size) {
  if (asked_size < sizeof(abi::CompositeHeader) || found_size < sizeof(abi::CompositeHeader)) return false;
  if (abi::load_u32(found) != abi::kMagicComposite) return false;
  const std::size_t count = abi::load_u16(asked + offsetof(abi::CompositeHeader, entry_count));
  const std::size_t needed = sizeof(abi::CompositeHeader) + count * sizeof(abi::CompositeEntry);
  if (count != abi::load_u16(found + offsetof(abi::CompositeHeader, entry_count))) return false;
  if (asked_size < needed || found_size < needed) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = sizeof(abi::CompositeHeader) + i * sizeof(abi::CompositeEntry);
    const std::size_t extent = entry + offsetof(abi::CompositeEntry, start);
    if (std::memcmp(asked + extent, found + extent, 2 * sizeof(std::uint64_t)) != 0) return false;
  }
  return true;
}

// The OSTs of `found`, stripe by stripe, are the first of those in the list.
bool stripes_follow_list(const std::byte* list, const std::byte* found, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t ost = i * sizeof(abi::OstData) + offsetof(abi::OstData, ost);
    if (std::memcmp(list + ost, found + ost, sizeof(std::uint32_t)) != 0) return false;
  }
  return true;
}

bool plain_answers(const std::byte* asked, std::size_t asked_size, const std::byte* found, std::size_t found_size) {
  if (asked_size < sizeof(abi::LayoutV1) || found_size < sizeof(abi::LayoutV1)) return false;
  const std::size_t asked_header = abi::plain_header_size(abi::load_u32(asked));
  const std::size_t found_header = abi::plain_header_size(abi::load_u32(found));
  if (asked_header == 0 || found_header == 0 || asked_size < asked_header || found_size < found_header) return false;

  const std::uint32_t asked_stripe = abi::load_u32(asked + offsetof(abi::LayoutV1, stripe_size));
  if (asked_stripe != 0 && asked_stripe != abi::load_u32(found + offsetof(abi::LayoutV1, stripe_size))) return false;
  const std::size_t asked_count = abi::load_u16(asked + offsetof(abi::LayoutV1, stripe_count));
  const std::size_t found_count = abi::load_u16(found + offsetof(abi::LayoutV1, stripe_count));
  if (asked_count != 0 && found_count > asked_count) return false;
  if (abi::load_u32(asked) != abi::kMagicSpecific) return true;
  if (asked_size < asked_header + asked_count * sizeof(abi::OstData)) return false;
  if (found_size < found_header + found_count * sizeof(abi::OstData)) return false;
  return stripes_follow_list(asked + asked_header, found + found_header, found_count);
}

// ---- The directory ----

// The directory part of path, "." if there is none. False if it does not fit.
bool directory_of(const char* path, char (&directory)[PATH_MAX]) {
  const char* slash = std::strrchr(path, '/');
  const std::size_t length = slash == nullptr ? 1 : slash == path ? 1 : static_cast<std::size_t>(slash - path);
  if (length >= sizeof(directory)) return false;
  std::memcpy(directory, slash == nullptr ? "." : path, length);
  directory[length] = '\0';
  return true;
}

FileSystemKind kind_of_directory(const LayoutCalls& calls, int directory) {
  struct statfs answer;
  if (calls.fstatfs(directory, &answer) != 0) return FileSystemKind::unknown;
  if (static_cast<std::uint32_t>(answer.f_type) == abi::kStatfsMagic) return FileSystemKind::lustre;
  const ssize_t size = calls.getxattr(ProcPath(directory).c_str(), abi::kXattrName, nullptr, 0);
  return size >= 0 || errno == ENODATA ? FileSystemKind::lab : FileSystemKind::other;
}

// ---- The system ----

constexpr LayoutCalls kSystemCalls = {
    .openat = [](int dirfd, const char* path, int flags, mode_t mode) { return ::openat(dirfd, path, flags, mode); },
    .close = [](int fd) { return ::close(fd); },
    .ioctl = [](int fd, unsigned long request, const void* argument) { return ::ioctl(fd, request, argument); },
    .getfl = [](int fd) { return ::fcntl(fd, F_GETFL); },
    .setfl = [](int fd, int flags) { return ::fcntl(fd, F_SETFL, flags); },
    .mknodat = [](int dirfd, const char* path, mode_t mode) { return ::mknodat(dirfd, path, mode, 0); },
    .unlinkat = [](int dirfd, const char* path) { return ::unlinkat(dirfd, path, 0); },
    .fsetxattr = [](int fd, const char* name, const void* value,
                    std::size_t size) { return ::fsetxattr(fd, name, value, size, 0); },
    .setxattr = [](const char* path, const char* name, const void* value,
                   std::size_t size) { return ::setxattr(path, name, value, size, 0); },
    .getxattr = [](const char* path, const char* name, void* value,
                   std::size_t size) { return ::getxattr(path, name, value, size); },
    .fstatfs = [](int fd, struct statfs* answer) { return ::fstatfs(fd, answer); },
};

}  // namespace

const LayoutCalls& system_layout_calls() noexcept { return kSystemCalls; }

FileSystemKind file_system_kind_of(const LayoutCalls& calls, int dirfd, const char* directory) {
  const int caller_errno = errno;
  FileSystemKind kind = FileSystemKind::unknown;
  const int fd = calls.openat(dirfd, directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd >= 0) {
    kind = kind_of_directory(calls, fd);
    calls.close(fd);
  }
  errno = caller_errno;
  return kind;
}

FileSystemKind file_system_kind_at(const LayoutCalls& calls, int dirfd, const char* path) {
  char name[PATH_MAX];
  return directory_of(path, name) ? file_system_kind_of(calls, dirfd, name) : FileSystemKind::unknown;
}

LayoutResult open_with_layout(const LayoutCalls& calls, FileSystemKind kind, const OpenArguments& arguments,
                              const LayoutRequest& request) {
  const int caller_errno = errno;
  LayoutResult result;
  if (!creates_file(arguments.flags)) {
    result = open_plainly(calls, arguments, LayoutOutcome::left_alone);
  } else if (kind == FileSystemKind::lustre) {
    result = open_on_lustre(calls, arguments, request);
  } else if (kind == FileSystemKind::lab) {
    result = open_in_lab(calls, arguments, request);
  } else {
    result = open_plainly(calls, arguments, LayoutOutcome::not_lustre);
  }
  errno = result.fd >= 0 ? caller_errno : result.open_errno;
  return result;
}

bool layout_answers_request(const LayoutRequest& request, const void* found, std::size_t found_size) noexcept {
  return is_composite(request) ? composite_answers(as_bytes(request.bytes), request.size, as_bytes(found), found_size)
                               : plain_answers(as_bytes(request.bytes), request.size, as_bytes(found), found_size);
}

}  // namespace iez::lustre
