#include "rank_log/log_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "rank_log/log_format.hpp"

namespace iez::rank_log {

namespace {

constexpr char kIndexSuffix[] = ".index";
constexpr char kDataSuffix[] = ".data";

RankName name_of(std::uint32_t rank, const char* suffix) {
  RankName name{};
  char digits[12];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + rank % 10);
    rank /= 10;
  } while (rank > 0);
  char* out = name.text;
  while (count > 0) *out++ = digits[--count];
  std::memcpy(out, suffix, std::strlen(suffix) + 1);
  return name;
}

bool is_dot(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

// A path of at most PATH_MAX; false if it does not fit.
struct Path {
  char text[PATH_MAX];
};

bool make_path(Path& path, const char* folder, const char* suffix) {
  const std::size_t size = std::strlen(folder);
  const std::size_t more = std::strlen(suffix);
  if (size + more >= sizeof(path.text)) return false;
  std::memcpy(path.text, folder, size);
  std::memcpy(path.text + size, suffix, more + 1);
  return true;
}

// Opens the directory that `path` is in.
int open_parent(const char* path, Descriptor& fd) {
  Path parent;
  if (!make_path(parent, path, "")) return ENAMETOOLONG;
  char* const slash = std::strrchr(parent.text, '/');
  if (slash == nullptr) {
    std::memcpy(parent.text, ".", 2);
  } else if (slash == parent.text) {
    slash[1] = '\0';
  } else {
    *slash = '\0';
  }
  return open_folder(parent.text, fd);
}

// File systems that cannot sync a directory keep their names in another way.
int sync_folder(int fd) {
  if (::fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == EBADF) return 0;
  return errno;
}

}  // namespace

FileStamp stamp_of(int fd) {
  struct statx about{};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &about) != 0) return {};
  FileStamp stamp{.inode = about.stx_ino};
  if ((about.stx_mask & STATX_BTIME) != 0) {
    stamp.born_ns = (std::int64_t{about.stx_btime.tv_sec} * 1'000'000'000) + about.stx_btime.tv_nsec;
  }
  return stamp;
}

bool may_be_same(const FileStamp& a, const FileStamp& b) {
  const auto differ = [](auto one, auto other) { return one != 0 && other != 0 && one != other; };
  return !differ(a.inode, b.inode) && !differ(a.born_ns, b.born_ns);
}

int Descriptor::reset(int fd) {
  const int old = fd_;
  fd_ = fd;
  // After EINTR the descriptor is gone on Linux: not tried again.
  return old >= 0 && ::close(old) != 0 && errno != EINTR ? errno : 0;
}

RankName index_name(std::uint32_t rank) { return name_of(rank, kIndexSuffix); }
RankName data_name(std::uint32_t rank) { return name_of(rank, kDataSuffix); }

bool parse_rank(const char* name, const char* suffix, std::uint32_t& rank) {
  std::uint32_t value = 0;
  const char* at = name;
  for (; *at >= '0' && *at <= '9'; ++at) {
    value = value * 10 + static_cast<std::uint32_t>(*at - '0');
    if (value > kMaxRank) return false;
  }
  const bool leading_zero = name[0] == '0' && at - name > 1;
  if (at == name || leading_zero || std::strcmp(at, suffix) != 0) return false;
  rank = value;
  return true;
}

int read_at(int fd, void* buffer, std::size_t size, std::uint64_t offset, std::size_t& done) {
  done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, static_cast<char*>(buffer) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    done += static_cast<std::size_t>(got);
  }
  return 0;
}

int write_at(int fd, const void* buffer, std::size_t size, std::uint64_t offset, std::size_t& done) {
  done = 0;
  while (done < size) {
    const ssize_t put = ::pwrite(fd, static_cast<const char*>(buffer) + done, size - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return ENOSPC;  // no system says why it would be so; an endless loop helps nobody
    done += static_cast<std::size_t>(put);
  }
  return 0;
}

int open_folder(const char* folder, Descriptor& fd) {
  const int opened = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return errno;
  (void)fd.reset(opened);  // what was there before is none of the caller's sorrows
  return 0;
}

int list_ranks(int folder, GrowingArray<std::uint32_t>& ranks, std::uint64_t& strangers) {
  ranks.clear();
  strangers = 0;
  // A descriptor of its own: the stream closes it, and has its own position.
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return errno;
  DIR* const stream = ::fdopendir(own);
  if (stream == nullptr) {
    const int error = errno;
    (void)::close(own);
    return error;
  }
  int error = 0;
  while (error == 0) {
    errno = 0;
    const dirent* const entry = ::readdir(stream);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    std::uint32_t rank = 0;
    if (parse_rank(entry->d_name, kIndexSuffix, rank)) {
      if (!ranks.add(rank)) error = ENOMEM;
    } else if (!is_dot(entry->d_name) && !parse_rank(entry->d_name, kDataSuffix, rank)) {
      ++strangers;
    }
  }
  (void)::closedir(stream);  // was only read
  std::sort(ranks.begin(), ranks.end());
  return error;
}

int lock_file(int fd, bool exclusive) {
  while (::flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? EBUSY : 0;
  }
  return 0;
}

int retire_folder(const char* folder, const char* suffix, bool replace) {
  Path target;
  if (!make_path(target, folder, suffix)) return ENAMETOOLONG;
  Descriptor parent;
  if (const int error = open_parent(folder, parent)) return error;
  if (::rename(folder, target.text) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) return errno;
    if (!replace) return EEXIST;
    if (const int error = remove_folder(folder, suffix)) return error;
    if (::rename(folder, target.text) != 0) return errno;
  }
  return sync_folder(parent.get());
}

int remove_folder(const char* folder, const char* suffix) {
  Path target;
  if (!make_path(target, folder, suffix)) return ENAMETOOLONG;
  Descriptor fd;
  if (const int error = open_folder(target.text, fd)) return error == ENOENT ? 0 : error;
  DIR* const stream = ::opendir(target.text);
  if (stream == nullptr) return errno;
  int first = 0;
  for (const dirent* entry = ::readdir(stream); entry != nullptr; entry = ::readdir(stream)) {
    std::uint32_t rank = 0;
    const char* const name = entry->d_name;
    if (!parse_rank(name, kIndexSuffix, rank) && !parse_rank(name, kDataSuffix, rank)) continue;
    if (::unlinkat(fd.get(), name, 0) != 0 && errno != ENOENT && first == 0) first = errno;
  }
  (void)::closedir(stream);  // was only read
  if (first != 0) return first;
  return ::rmdir(target.text) != 0 && errno != ENOENT ? errno : 0;
}

}  // namespace iez::rank_log
