#include "runs/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace iez::runs {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "run-";
constexpr const char* kLock = "/lock";

Result<input::UniqueFd> open_lock(const std::string& path) {
  input::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, path);
  return fd;
}

// What runs that were killed left. REQUIRES: the lock of the parent is held, so that none is just being made.
std::size_t remove_leftovers(const std::string& parent) {
  std::size_t removed = 0;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(kPrefix) || !entry->is_directory(ignored) || entry->is_symlink(ignored)) continue;
    const input::UniqueFd lock(::open((entry->path().string() + kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    fs::remove_all(entry->path(), ignored);
    if (!ignored) ++removed;
  }
  return removed;
}

}  // namespace

Result<void> make_private_folder(const std::string& path) {
  std::string part;
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int why = errno;
    struct stat status{};
    // A folder above, in which we may not make any, but which is there.
    if (::stat(part.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) continue;
    return fail_errno(why, part);
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISDIR(status.st_mode)) return fail_errno(ENOTDIR, path);
  return {};
}

Result<input::UniqueFd> lock_file(const std::string& path) {
  IEZ_TRY(input::UniqueFd fd, open_lock(path));
  while (::flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return fail_errno(errno, path);
  }
  return fd;
}

Result<std::optional<input::UniqueFd>> lock_file_within(const std::string& path, Duration patience, Clock& clock) {
  constexpr Duration kPause{10'000'000};
  IEZ_TRY(input::UniqueFd fd, open_lock(path));
  const Duration until = clock.monotonic() + patience;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno(errno, path);
    if (clock.monotonic() >= until) return std::nullopt;
    clock.sleep(kPause);
  }
  return fd;
}

Result<RunFolder> RunFolder::make(const std::string& parent, const std::string& id) {
  IEZ_CHECK(make_private_folder(parent));
  IEZ_TRY(const input::UniqueFd making, lock_file(parent + "/.lock"));
  RunFolder folder;
  folder.leftovers_ = remove_leftovers(parent);
  const std::string path = fmt::format("{}/{}{}", parent, kPrefix, id);
  if (::mkdir(path.c_str(), 0700) != 0) return fail_errno(errno, path);
  folder.path_ = path;  // from here on the destructor removes it
  IEZ_TRY(folder.lock_, lock_file(path + kLock));
  if (::mkdir(folder.trace_folder().c_str(), 0700) != 0) return fail_errno(errno, folder.trace_folder());
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)), leftovers_(other.leftovers_) {}

RunFolder::~RunFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace iez::runs
