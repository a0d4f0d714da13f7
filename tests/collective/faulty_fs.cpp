// A file system for tests that passes everything through to a directory, but fails reads or writes of some bytes of every file.
//
// usage: collective_faulty_fs ROOT MOUNT_POINT read|write ERRNO FROM TO
//
// A call that touches a byte at FROM to TO (exclusive) of a file gets the errno; those before it in the same call are not moved.
// Nothing is cached, so that the program that called gets the error. Serves until unmounted, in the foreground.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <fuse3/fuse.h>

namespace {

struct Mount {
  std::string root;
  bool writes = false;
  int error = 0;
  off_t from = 0;
  off_t to = 0;

  [[nodiscard]] bool hits(bool write, off_t offset, std::size_t size) const {
    return write == writes && offset < to && offset + static_cast<off_t>(size) > from;
  }
};

const Mount& mount() { return *static_cast<const Mount*>(fuse_get_context()->private_data); }
std::string real(const char* path) { return mount().root + path; }
int answer(int status) { return status < 0 ? -errno : 0; }
int fd_of(const fuse_file_info* info) { return static_cast<int>(info->fh); }

int keep_handle(int fd, fuse_file_info* info) {
  if (fd < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(fd);
  info->direct_io = 1;
  return 0;
}

// The kernel adds nothing here, but the caller's umask holds.
int create_file(const char* path, mode_t mode, fuse_file_info* info) {
  return keep_handle(::open(real(path).c_str(), info->flags | O_CREAT, mode), info);
}
int open_file(const char* path, fuse_file_info* info) {
  return keep_handle(::open(real(path).c_str(), info->flags & ~O_APPEND), info);
}
int get_attr(const char* path, struct stat* status, fuse_file_info*) { return answer(::lstat(real(path).c_str(), status)); }
int truncate_file(const char* path, off_t size, fuse_file_info*) { return answer(::truncate(real(path).c_str(), size)); }
int sync_file(const char*, int, fuse_file_info* info) { return answer(::fsync(fd_of(info))); }
int release_file(const char*, fuse_file_info* info) { return answer(::close(fd_of(info))); }
int unlink_file(const char* path) { return answer(::unlink(real(path).c_str())); }

int write_file(const char*, const char* data, std::size_t size, off_t offset, fuse_file_info* info) {
  if (mount().hits(true, offset, size)) return -mount().error;
  const ssize_t done = ::pwrite(fd_of(info), data, size, offset);
  return done < 0 ? -errno : static_cast<int>(done);
}

int read_file(const char*, char* data, std::size_t size, off_t offset, fuse_file_info* info) {
  if (mount().hits(false, offset, size)) return -mount().error;
  const ssize_t done = ::pread(fd_of(info), data, size, offset);
  return done < 0 ? -errno : static_cast<int>(done);
}

template <typename T>
bool parse(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  Mount state{.root = argv[1], .writes = std::string_view(argv[3]) == "write"};
  if (!parse(argv[4], state.error) || !parse(argv[5], state.from) || !parse(argv[6], state.to)) return 2;
  fuse_operations operations{};
  operations.getattr = get_attr;
  operations.create = create_file;
  operations.open = open_file;
  operations.read = read_file;
  operations.write = write_file;
  operations.truncate = truncate_file;
  operations.fsync = sync_file;
  operations.release = release_file;
  operations.unlink = unlink_file;
  std::string name = "faulty_fs";
  std::string foreground = "-f";
  char* arguments[] = {name.data(), foreground.data(), argv[2], nullptr};
  return fuse_main(3, arguments, &operations, &state);
}
