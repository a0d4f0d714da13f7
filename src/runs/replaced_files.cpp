#include "runs/replaced_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "runs/run_folder.hpp"

namespace iez::runs {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSuffix = ".replaced";

bool is_there(const std::string& name) {
  struct stat status{};
  return ::lstat(name.c_str(), &status) == 0;
}

mode_t current_umask() {
  const mode_t mask = ::umask(0077);
  (void)::umask(mask);
  return mask;
}

// Those that a new file would not have: an ACL, attributes of a user's, capabilities. Layouts and labels it gets by itself.
bool has_own_attributes(const std::string& name) {
  std::array<char, 64UL << 10U> list{};
  const ssize_t size = ::llistxattr(name.c_str(), list.data(), list.size());
  if (size < 0) return errno == ERANGE;
  for (std::string_view rest(list.data(), static_cast<std::size_t>(size)); !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('\0'));
    if (one.starts_with("user.") || one.starts_with("system.") || one == "security.capability") return true;
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return false;
}

// Of a file that is there; empty: it can be moved.
std::string why_it_stays(const std::string& name, const struct stat& status, mode_t mask) {
  if (S_ISLNK(status.st_mode)) return "a symbolic link";
  if (!S_ISREG(status.st_mode)) return "no regular file";
  if (status.st_uid != ::geteuid()) return "of another user";
  if (status.st_nlink != 1) return fmt::format("it has {} names", status.st_nlink);
  constexpr mode_t kBits = 07777;
  if (const mode_t usual = 0666 & ~mask; (status.st_mode & kBits) != usual)
    return fmt::format("its mode is {:04o}, that of a new file {:04o}", status.st_mode & kBits, usual);
  if (::faccessat(AT_FDCWD, name.c_str(), W_OK, AT_EACCESS) != 0) return "it may not be written";
  const std::string directory = name.substr(0, std::max<std::size_t>(1, name.rfind('/')));
  struct stat above{};
  if (::stat(directory.c_str(), &above) != 0 || ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return "its directory may not be written";
  if (status.st_gid != ((above.st_mode & S_ISGID) != 0 ? above.st_gid : ::getegid())) return "of another group than a new file";
  return has_own_attributes(name) ? "it has an ACL or attributes of its own" : "";
}

std::string aside_of(const std::string& name, const std::string& id) {
  const std::size_t slash = name.rfind('/') + 1;
  return fmt::format("{}.{}.iez-aside-{}", name.substr(0, slash), name.substr(slash), id);
}

// Empty: all is well.
std::string put_back(const std::string& name, const std::string& aside) {
  if (!is_there(aside)) return "";
  // Never over a file that was made meanwhile: link() fails where there is one.
  if (::link(aside.c_str(), name.c_str()) == 0) {
    (void)::unlink(aside.c_str());
    return "";
  }
  if (errno == EEXIST) return fmt::format("{}: the run did not end well, so its old contents are kept in {}", name, aside);
  const int why = errno;
  if (!is_there(name) && ::rename(aside.c_str(), name.c_str()) == 0) return "";
  return fmt::format("{}: its old contents are in {} ({})", name, aside, std::generic_category().message(why));
}

// Pairs of names, each with a zero behind it: names may hold anything else. A pair that is cut off was not moved yet.
std::vector<std::pair<std::string, std::string>> journal_of(const std::string& all) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\0', at);
    if (end == std::string::npos) break;
    names.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t i = 0; i + 1 < names.size(); i += 2) out.emplace_back(std::move(names[i]), std::move(names[i + 1]));
  return out;
}

}  // namespace

MovableFiles movable_files(std::span<const std::string> names) {
  MovableFiles out;
  const mode_t mask = current_umask();
  for (const std::string& name : names) {
    struct stat status{};
    if (!name.starts_with('/') || ::lstat(name.c_str(), &status) != 0) continue;
    if (std::string why = why_it_stays(name, status, mask); why.empty()) {
      out.names.push_back(name);
    } else {
      out.left.push_back({.name = name, .why = std::move(why)});
    }
  }
  return out;
}

Result<ReplacedFiles> ReplacedFiles::move_aside(const std::string& folder, const std::string& id,
                                                std::span<const std::string> names) {
  IEZ_CHECK(make_private_folder(folder));
  ReplacedFiles out;
  MovableFiles movable = movable_files(names);
  out.left_ = std::move(movable.left);
  std::vector<std::pair<std::string, std::string>> wanted;
  std::string text;
  for (const std::string& name : movable.names) {
    std::string aside = aside_of(name, id);
    text += name + '\0' + aside + '\0';
    wanted.emplace_back(name, std::move(aside));
  }
  if (wanted.empty()) return out;
  const std::string journal = fmt::format("{}/{}{}", folder, id, kSuffix);
  IEZ_TRY(out.live_, LiveFile::make(journal, text));
  out.journal_ = journal;
  for (auto& [name, aside] : wanted) {
    if (::rename(name.c_str(), aside.c_str()) != 0) {  // it stays, and is written over as ever
      out.left_.push_back({.name = std::move(name), .why = std::generic_category().message(errno)});
      continue;
    }
    out.moved_.emplace_back(std::move(name), std::move(aside));
  }
  return out;
}

ReplacedFiles::ReplacedFiles(ReplacedFiles&& other) noexcept
    : journal_(std::exchange(other.journal_, {})),
      live_(std::move(other.live_)),
      moved_(std::exchange(other.moved_, {})),
      left_(std::exchange(other.left_, {})) {}

std::vector<std::string> ReplacedFiles::names() const {
  std::vector<std::string> out;
  out.reserve(moved_.size());
  for (const auto& [name, aside] : moved_) out.push_back(name);
  return out;
}

ReplacedFiles::~ReplacedFiles() { static_cast<void>(finish(false)); }

std::vector<std::string> ReplacedFiles::finish(bool good) {
  std::vector<std::string> notes;
  for (const auto& [name, aside] : moved_) {
    if (good && is_there(name)) {
      if (::unlink(aside.c_str()) != 0) {
        notes.push_back(fmt::format("{}: not removed: {}", aside, std::generic_category().message(errno)));
      }
      continue;
    }
    if (std::string told = put_back(name, aside); !told.empty()) notes.push_back(std::move(told));
  }
  moved_.clear();
  if (!journal_.empty()) (void)::unlink(journal_.c_str());
  journal_.clear();
  return notes;
}

std::vector<std::string> put_back_leftovers(const std::string& folder, WallTime now) {
  std::vector<std::string> notes;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!path.ends_with(kSuffix)) continue;
    const auto abandoned = take_abandoned(path, now);
    if (!abandoned) continue;
    for (const auto& [name, aside] : journal_of(abandoned->content)) {
      if (std::string told = put_back(name, aside); !told.empty()) notes.push_back(std::move(told));
    }
    (void)::unlink(path.c_str());
  }
  return notes;
}

}  // namespace iez::runs
