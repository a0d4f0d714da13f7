#include "lab/object_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <limits>
#include <system_error>

namespace iez::lab {
namespace {

constexpr std::uint64_t kFolders = 32;        // as Lustre's O/0/d0 ... d31
constexpr std::size_t kMostDescriptors = 96;  // a server has some OSTs, and 1024 is a common limit
constexpr std::uint64_t kMostSize = std::numeric_limits<std::int64_t>::max() - ObjectStore::kBlock;  // rounded up, it is a size

std::uint64_t block_floor(std::uint64_t offset) { return offset / ObjectStore::kBlock * ObjectStore::kBlock; }
std::uint64_t block_ceil(std::uint64_t offset) { return block_floor(offset + (ObjectStore::kBlock - 1)); }

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

Result<ObjectStore> ObjectStore::open(const std::string& dir, Bytes capacity) {
  ObjectStore store;
  store.dir_ = dir;
  store.capacity_ = capacity;
  IEZ_CHECK(store.scan());
  return store;
}

Result<void> ObjectStore::scan() {
  std::error_code error;
  std::filesystem::create_directories(dir_, error);
  if (error) return fail_errno(error.value(), fmt::format("make folder {}", dir_));
  for (std::uint64_t number = 0; number < kFolders; ++number) {
    const std::string name = folder(number);
    if (std::filesystem::is_directory(name, error)) IEZ_CHECK(find(name));
  }
  return {};
}

Result<void> ObjectStore::find(const std::string& where) {
  std::error_code error;
  for (std::filesystem::directory_iterator next(where, error), end; !error && next != end; next.increment(error)) {
    const std::string name = next->path().filename().string();
    std::uint64_t number = 0;
    const auto [rest, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem != std::errc{} || rest != name.data() + name.size() || path(number) != next->path().string()) continue;
    const input::UniqueFd fd(::open(next->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat found{};
    if (fd.get() < 0 || ::fstat(fd.get(), &found) != 0) return fail_errno(errno, fmt::format("object {}", next->path().string()));
    if (!S_ISREG(found.st_mode)) continue;
    Object object{.size = static_cast<std::uint64_t>(found.st_size), .modify_ns = nanoseconds(found.st_mtim), .blocks = {}};
    for (off_t from = 0; from < found.st_size;) {
      const off_t data = ::lseek(fd.get(), from, SEEK_DATA);
      if (data < 0) break;  // ENXIO: only a hole is left
      const off_t hole = ::lseek(fd.get(), data, SEEK_HOLE);
      if (hole < 0) return fail_errno(errno, fmt::format("object {}", next->path().string()));
      object.blocks.add(block_floor(static_cast<std::uint64_t>(data)), block_ceil(static_cast<std::uint64_t>(hole)));
      from = hole;
    }
    used_ += Bytes{object.blocks.total()};
    objects_.emplace(number, std::move(object));
  }
  if (error) return fail_errno(error.value(), fmt::format("read folder {}", where));
  return {};
}

std::string ObjectStore::folder(std::uint64_t object) const { return fmt::format("{}/d{}", dir_, object % kFolders); }
std::string ObjectStore::path(std::uint64_t object) const { return fmt::format("{}/{}", folder(object), object); }

int ObjectStore::descriptor(std::uint64_t object, bool make) {
  if (const auto found = opened_.find(object); found != opened_.end()) {
    by_age_.splice(by_age_.begin(), by_age_, found->second.age);
    return found->second.fd.get();
  }
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0);
  input::UniqueFd fd(::open(path(object).c_str(), flags, 0600));
  if (fd.get() < 0 && errno == ENOENT && make) {  // the first object of its folder
    if (::mkdir(folder(object).c_str(), 0700) != 0 && errno != EEXIST) return -errno;
    fd = input::UniqueFd(::open(path(object).c_str(), flags, 0600));
  }
  if (fd.get() < 0) return -errno;
  if (opened_.size() >= kMostDescriptors) close(by_age_.back());
  by_age_.push_front(object);
  const int number = fd.get();
  opened_.emplace(object, Opened{.fd = std::move(fd), .age = by_age_.begin()});
  return number;
}

void ObjectStore::close(std::uint64_t object) {
  const auto found = opened_.find(object);
  if (found == opened_.end()) return;
  by_age_.erase(found->second.age);
  opened_.erase(found);
}

// The host stamps files with a clock that is some milliseconds behind; a write must be later than what the MDS did before it.
void ObjectStore::stamp(int fd, Object& object) {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  object.modify_ns = nanoseconds(now);
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, now};  // NOLINT(modernize-avoid-c-arrays): futimens
  (void)::futimens(fd, times);                                            // the time then differs by milliseconds after a restart
}

int ObjectStore::write(std::uint64_t object, std::uint64_t offset, std::span<const std::byte> data) {
  if (offset > kMostSize || data.size() > kMostSize - offset) return EFBIG;
  const std::uint64_t end = offset + data.size();
  const auto known = objects_.find(object);
  const std::uint64_t first = block_floor(offset);
  const std::uint64_t last = data.empty() ? first : block_ceil(end);
  const std::uint64_t held = known == objects_.end() ? 0 : known->second.blocks.covered(first, last);
  if (last - first - held > free().count) return ENOSPC;

  const int fd = descriptor(object, true);
  if (fd < 0) return -fd;
  const bool is_new = known == objects_.end();
  Object& written = objects_[object];
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t count = ::pwrite(fd, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = count < 0 ? errno : EIO;
      // The host's own disk is full, or broken: what it took stays, and counts.
      used_ += Bytes{written.blocks.add(first, done == 0 ? first : block_ceil(offset + done))};
      if (done > 0) written.size = std::max(written.size, offset + done);
      if (done == 0 && is_new) (void)destroy(object);  // else it is an empty object
      return error;
    }
    done += static_cast<std::size_t>(count);
  }
  used_ += Bytes{written.blocks.add(first, last)};
  if (!data.empty()) written.size = std::max(written.size, end);
  stamp(fd, written);
  return 0;
}

int ObjectStore::read(std::uint64_t object, std::uint64_t offset, std::uint64_t size, std::vector<std::byte>& data) {
  const auto known = objects_.find(object);
  if (known == objects_.end() || offset >= known->second.size) return 0;
  size = std::min(size, known->second.size - offset);
  const int fd = descriptor(object, false);
  if (fd < 0) return -fd;
  const std::size_t before = data.size();
  data.resize(before + size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(fd, data.data() + before + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      data.resize(before);
      return count < 0 ? errno : EIO;  // shorter than we made it: somebody else was here
    }
    done += static_cast<std::size_t>(count);
  }
  return 0;
}

int ObjectStore::punch(std::uint64_t object, std::uint64_t size) {
  if (size > kMostSize) return EFBIG;
  const auto known = objects_.find(object);
  if (known == objects_.end() && size == 0) return 0;
  const int fd = descriptor(object, true);
  if (fd < 0) return -fd;
  Object& cut = objects_[object];
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return errno;
  used_ = used_ - Bytes{cut.blocks.remove(block_ceil(size), std::numeric_limits<std::uint64_t>::max())};
  cut.size = size;
  stamp(fd, cut);
  return 0;
}

int ObjectStore::destroy(std::uint64_t object) {
  close(object);
  if (::unlink(path(object).c_str()) != 0 && errno != ENOENT) return errno;
  const auto known = objects_.find(object);
  if (known == objects_.end()) return 0;
  used_ = used_ - Bytes{known->second.blocks.total()};
  objects_.erase(known);
  return 0;
}

bool ObjectStore::has_data(std::uint64_t object, std::uint64_t start, std::uint64_t end) const {
  const auto known = objects_.find(object);
  return known != objects_.end() && known->second.blocks.covered(start, end) > 0;
}

ObjectState ObjectStore::state(std::uint64_t object) const {
  const auto known = objects_.find(object);
  if (known == objects_.end()) return {};
  return {.size = known->second.size, .blocks = known->second.blocks.total() / 512, .modify_ns = known->second.modify_ns};
}

}  // namespace iez::lab
