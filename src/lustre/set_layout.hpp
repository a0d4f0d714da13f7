// Creates a file with a layout in place of a plain open(dirfd, path, flags, mode).
//
// Freestanding: libc only, no allocation, no exceptions, no locks, nothing static that changes. The preload library calls it
// inside other people's processes, so the first duty is to be a faithful open(): the caller gets the descriptor or the errno that
// its own call would have got; the layout comes second, and what became of it is reported apart.
//
// A layout is given to a file that this call creates (it opens with O_EXCL first). An existing file is opened untouched, unless
// it has no layout yet and is opened for writing: then its creator is still at it, and the layout, which is the same for all who
// follow one plan, is set for it. Else an open in between would give a shared file the default one.
//   Lustre: open with O_LOV_DELAY_CREATE, then one ioctl (plain layouts) or one fsetxattr (composite ones), so one round trip
//     more than a plain create. A refused layout leaves a descriptor on which write() gives EBADF, so it is closed and the file
//     opened anew: the directory's default layout applies. A composite layout is not read back: should another client open the
//     new file in between, fsetxattr says 0 and changes nothing; who must know compares with layout_answers_request().
//   Lab (a file system that keeps `lustre.lov` like Lustre, but knows no ioctl): mknod, setxattr, read back, open.
//
// Cost when the file exists and the caller did not say O_EXCL: one failed open, and a question for the layout when it is opened
// for writing. If the caller's mode forbids its own access (open(O_WRONLY | O_CREAT, 0444)) and the layout is refused, the file
// cannot be opened again; it is then removed and created anew.
//
// Thread safety: safe from any thread; async-signal-safe when the calls are.
#pragma once

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace iez::lustre {

enum class FileSystemKind : std::uint8_t {
  lustre,
  lab,      // not Lustre, but answers `lustre.lov`
  other,    // takes no layouts
  unknown,  // could not be asked: not there yet, or no descriptor left
};

// The system as this routine sees it: -1 and errno, as in libc. The preload library passes the next definitions in line, since
// the names in its own object are the interposed ones; tests pass a fake.
struct LayoutCalls {
  int (*openat)(int dirfd, const char* path, int flags, mode_t mode);
  int (*close)(int fd);
  int (*ioctl)(int fd, unsigned long request, const void* argument);
  int (*getfl)(int fd);             // fcntl F_GETFL
  int (*setfl)(int fd, int flags);  // fcntl F_SETFL
  int (*mknodat)(int dirfd, const char* path, mode_t mode);
  int (*unlinkat)(int dirfd, const char* path);
  int (*fsetxattr)(int fd, const char* name, const void* value, std::size_t size);
  int (*setxattr)(const char* path, const char* name, const void* value, std::size_t size);
  ssize_t (*getxattr)(const char* path, const char* name, void* value, std::size_t size);
  int (*fstatfs)(int fd, struct statfs* answer);
};

const LayoutCalls& system_layout_calls() noexcept;

struct OpenArguments {
  int dirfd;
  const char* path;
  int flags;
  mode_t mode;
};

// Enough to read 340 stripes back. No default layout is larger, so a larger answer can only be the one that was asked for.
inline constexpr std::size_t kReadBackSize = 8192;

// As encode_request() makes it.
struct LayoutRequest {
  const void* bytes;
  std::size_t size;
  void* room = nullptr;  // kReadBackSize bytes to work in, for callers on small stacks; none: on the stack
};

enum class LayoutOutcome : std::uint8_t {
  applied,             // created here, with the layout
  already_has_layout,  // created here, but another opener gave it one first
  refused,             // opened, but without the layout; layout_errno says why
  exists,              // was there before: opened as it is
  not_lustre,          // created or opened plainly
  left_alone,          // not an open that creates a regular file, or the caller is about to set a layout itself
  open_failed,         // no descriptor; open_errno is what the caller's own open gives
};

struct LayoutResult {
  int fd;  // -1 only with open_failed
  LayoutOutcome outcome;
  int open_errno;    // 0 unless open_failed
  int layout_errno;  // of the call that refused the layout; 0 if none did. EEXIST: another layout was there first
};

// Where a file of this name would be. Asks the directory, by statfs and perhaps getxattr: cache the answer for a directory or a
// device, since on Lustre statfs may be a round trip. Do not keep `unknown`: the directory may be made a moment later. Leaves
// errno as it was. Like open_with_layout() not noexcept: openat and close are cancellation points.
FileSystemKind file_system_kind_at(const LayoutCalls& calls, int dirfd, const char* path);

// Of the directory itself; needs little of the stack.
FileSystemKind file_system_kind_of(const LayoutCalls& calls, int dirfd, const char* directory);

// errno afterwards: as it was on success, open_errno on failure.
LayoutResult open_with_layout(const LayoutCalls& calls, FileSystemKind kind, const OpenArguments& arguments,
                              const LayoutRequest& request);

// Whether what a file has can be the answer to a request: the same extents for a composite layout; for a plain one the stripe
// size and OSTs that were asked for. Lustre may give fewer stripes than asked, and its defaults where nothing was said.
bool layout_answers_request(const LayoutRequest& request, const void* found, std::size_t found_size) noexcept;

}  // namespace iez::lustre
