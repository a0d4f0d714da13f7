#include "runs/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace iez::runs {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "run-";
constexpr std::string_view kUnfinished = ".run-";
constexpr const char* kLive = "lock";

Result<input::UniqueFd> open_lock(const std::string& path) {
  input::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, path);
  return fd;
}

// What runs that were killed left. A folder is made under another name, and has its live file when it gets this one.
std::size_t remove_leftovers(const std::string& parent, WallTime now) {
  std::size_t removed = 0;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!entry->is_directory(ignored) || entry->is_symlink(ignored)) continue;
    if (!name.starts_with(kPrefix) && !name.starts_with(kUnfinished)) continue;
    if (name.starts_with(kUnfinished) && is_of_gone_maker(name)) {
      fs::remove_all(entry->path(), ignored);
      continue;
    }
    const std::string live = entry->path() / kLive;
    if (!fs::exists(live, ignored)) {
      // Empty: just being made, or just being removed; or its run was killed just then.
      const bool is_old = WallTime(std::chrono::file_clock::to_sys(entry->last_write_time(ignored))) < now - kSilence;
      if (name.starts_with(kPrefix) || is_old) (void)::rmdir(entry->path().c_str());
      continue;
    }
    const auto abandoned = take_abandoned(live, now);
    if (!abandoned) continue;
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

Result<RunFolder> RunFolder::make(const std::string& parent, const std::string& id, WallTime now) {
  IEZ_CHECK(make_private_folder(parent));
  RunFolder folder;
  folder.leftovers_ = remove_leftovers(parent, now);
  const std::string path = fmt::format("{}/{}{}", parent, kPrefix, id);
  const std::string unfinished = fmt::format("{}/{}{}{}", parent, kUnfinished, id, maker_suffix());
  if (::mkdir(unfinished.c_str(), 0700) != 0) return fail_errno(errno, unfinished);
  folder.path_ = unfinished;  // from here on the destructor removes it
  IEZ_TRY(folder.live_, LiveFile::make(fs::path(unfinished) / kLive, ""));
  if (::mkdir(folder.trace_folder().c_str(), 0700) != 0) return fail_errno(errno, folder.trace_folder());
  // Fails where there is one: it is not empty.
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return fail_errno(errno, path);
  folder.path_ = path;
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), live_(std::move(other.live_)), leftovers_(other.leftovers_) {}

RunFolder::~RunFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  // The live file last: what is left without it would be nobody's.
  for (fs::directory_iterator entry(path_, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    if (entry->path().filename() != kLive) fs::remove_all(entry->path(), ignored);
  }
  fs::remove_all(path_, ignored);
}

}  // namespace iez::runs
