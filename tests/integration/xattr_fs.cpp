#include "xattr_fs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fuse3/fuse.h>

#include "lustre/layout_abi.hpp"

namespace iez::testing {

namespace {

namespace abi = lustre::abi;
using ByteVector = std::vector<std::byte>;

constexpr unsigned kOstCount = 6;
constexpr unsigned kInactiveOst = 5;
constexpr std::uint32_t kDefaultStripeSize = 4U << 20U;

// What one mount knows. FUSE runs single-threaded here, so nothing is locked.
struct Mount {
  std::string root;
  std::map<std::string, ByteVector> layouts;  // by path within the mount
};

Mount& mount() { return *static_cast<Mount*>(fuse_get_context()->private_data); }
std::string real(const char* path) { return mount().root + path; }
int answer(int status) { return status < 0 ? -errno : 0; }

bool is_directory(const char* path) {
  struct stat status{};
  return ::stat(real(path).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// A plain layout of a file, from a plain request: its list of OSTs, or as many as it wants from OST 0 on.
ByteVector with_objects(const ByteVector& request) {
  const bool listed = abi::load_u32(request.data()) == abi::kMagicSpecific;
  const std::size_t asked = abi::load_u16(&request[offsetof(abi::LayoutV1, stripe_count)]);
  const std::size_t count = std::max<std::size_t>(1, std::min<std::size_t>(asked, kOstCount));
  const std::uint32_t size = abi::load_u32(&request[offsetof(abi::LayoutV1, stripe_size)]);
  ByteVector layout(request.begin(), request.begin() + sizeof(abi::LayoutV1));
  layout.resize(sizeof(abi::LayoutV1) + count * sizeof(abi::OstData));
  abi::store_u32(layout.data(), abi::kMagicV1);
  abi::store_u32(&layout[offsetof(abi::LayoutV1, stripe_size)], size != 0 ? size : kDefaultStripeSize);
  abi::store_u16(&layout[offsetof(abi::LayoutV1, stripe_count)], static_cast<std::uint16_t>(count));
  abi::store_u16(&layout[offsetof(abi::LayoutV1, stripe_offset)], abi::kNoStripeOffset);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t ost = i * sizeof(abi::OstData) + offsetof(abi::OstData, ost);
    const std::uint32_t index = listed ? abi::load_u32(&request[sizeof(abi::LayoutV3) + ost]) : static_cast<std::uint32_t>(i);
    abi::store_u32(&layout[sizeof(abi::LayoutV1) + ost], index);
  }
  return layout;
}

// 0 or a negative errno, as the real one gives for the OSTs of a list.
int check_request(const ByteVector& request) {
  if (request.size() < sizeof(abi::LayoutV1)) return -ERANGE;
  const std::uint32_t magic = abi::load_u32(request.data());
  if (magic == abi::kMagicComposite) return 0;
  if (abi::plain_header_size(magic) == 0) return -EINVAL;
  if (magic != abi::kMagicSpecific) return 0;
  const std::size_t count = abi::load_u16(&request[offsetof(abi::LayoutV1, stripe_count)]);
  if (request.size() < sizeof(abi::LayoutV3) + count * sizeof(abi::OstData)) return -ERANGE;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = sizeof(abi::LayoutV3) + i * sizeof(abi::OstData) + offsetof(abi::OstData, ost);
    const std::uint32_t ost = abi::load_u32(&request[at]);
    if (ost >= kOstCount) return -EINVAL;
    if (ost == kInactiveOst) return -EREMOTEIO;
  }
  return 0;
}

int set_xattr(const char* path, const char* name, const char* value, std::size_t size, int) {
  if (std::string_view(name) != abi::kXattrName) return -ENOTSUP;
  const auto* bytes = reinterpret_cast<const std::byte*>(value);
  const ByteVector request(bytes, bytes + size);
  if (const int refused = check_request(request); refused != 0) return refused;
  const bool composite = abi::load_u32(request.data()) == abi::kMagicComposite;
  // A file that has a layout keeps it, and nobody is told. A directory's default may change.
  const ByteVector layout = composite || is_directory(path) ? request : with_objects(request);
  if (is_directory(path)) {
    mount().layouts[path] = layout;
  } else {
    mount().layouts.emplace(path, layout);
  }
  return 0;
}

int get_xattr(const char* path, const char* name, char* value, std::size_t size) {
  if (std::string_view(name) != abi::kXattrName) return -ENOTSUP;
  const auto found = mount().layouts.find(path);
  if (found == mount().layouts.end()) return -ENODATA;
  if (size == 0) return static_cast<int>(found->second.size());
  if (size < found->second.size()) return -ERANGE;
  std::memcpy(value, found->second.data(), found->second.size());
  return static_cast<int>(found->second.size());
}

// A file gets the default layout when it is first opened for writing.
void instantiate(const char* path, int flags) {
  if ((flags & O_ACCMODE) == O_RDONLY) return;
  ByteVector request(sizeof(abi::LayoutV1));
  abi::store_u32(request.data(), abi::kMagicV1);
  abi::store_u32(&request[offsetof(abi::LayoutV1, pattern)], abi::kPatternRaid0);
  mount().layouts.emplace(path, with_objects(request));
}

int keep_handle(int fd, fuse_file_info* info) {
  if (fd < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(fd);
  return 0;
}

int get_attr(const char* path, struct stat* status, fuse_file_info*) { return answer(::lstat(real(path).c_str(), status)); }
int make_node(const char* path, mode_t mode, dev_t device) { return answer(::mknod(real(path).c_str(), mode, device)); }
int make_directory(const char* path, mode_t mode) { return answer(::mkdir(real(path).c_str(), mode)); }

int open_file(const char* path, fuse_file_info* info) {
  const int fd = ::open(real(path).c_str(), info->flags);
  if (fd >= 0) instantiate(path, info->flags);
  return keep_handle(fd, info);
}

int write_file(const char*, const char* data, std::size_t size, off_t offset, fuse_file_info* info) {
  const ssize_t done = ::pwrite(static_cast<int>(info->fh), data, size, offset);
  return done < 0 ? -errno : static_cast<int>(done);
}

int release_file(const char*, fuse_file_info* info) { return answer(::close(static_cast<int>(info->fh))); }

int unlink_file(const char* path) {
  mount().layouts.erase(path);
  return answer(::unlink(real(path).c_str()));
}

int cut_file(const char* path, off_t size, fuse_file_info*) { return answer(::truncate(real(path).c_str(), size)); }

// O_TRUNC is a call of its own, as on Lustre, and the client knows the times afterwards.
void* begin(fuse_conn_info* connection, fuse_config*) {
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_ATOMIC_O_TRUNC);
  return &mount();
}

int read_directory(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  DIR* directory = ::opendir(real(path).c_str());
  if (directory == nullptr) return -errno;
  while (const dirent* entry = ::readdir(directory)) fill(buffer, entry->d_name, nullptr, 0, fuse_fill_dir_flags{});
  ::closedir(directory);
  return 0;
}

}  // namespace

int serve_xattr_fs(const std::string& root, const std::string& mount_point) {
  fuse_operations operations{};
  operations.init = begin;
  operations.getattr = get_attr;
  operations.mknod = make_node;
  operations.mkdir = make_directory;
  operations.open = open_file;
  // No create: libfuse would call it for mknod of a regular file too, and the two must differ. The kernel does mknod, then open.
  operations.write = write_file;
  operations.truncate = cut_file;
  operations.release = release_file;
  operations.unlink = unlink_file;
  operations.readdir = read_directory;
  operations.setxattr = set_xattr;
  operations.getxattr = get_xattr;
  Mount state{.root = root, .layouts = {}};
  std::string name = "xattr_fs";
  std::string foreground = "-f";
  std::string single = "-s";
  std::string where = mount_point;
  char* arguments[] = {name.data(), foreground.data(), single.data(), where.data(), nullptr};
  return fuse_main(4, arguments, &operations, &state);
}

}  // namespace iez::testing
