#include "runs/replaced_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
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

bool is_own_file(const std::string& name) {
  struct stat status{};
  return ::lstat(name.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
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

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

// Pairs of names, each with a zero behind it: names may hold anything else. A pair that is cut off was not moved yet.
std::vector<std::pair<std::string, std::string>> read_journal(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
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

Result<ReplacedFiles> ReplacedFiles::move_aside(const std::string& folder, const std::string& id,
                                                std::span<const std::string> names) {
  IEZ_CHECK(make_private_folder(folder));
  ReplacedFiles out;
  std::vector<std::pair<std::string, std::string>> wanted;
  std::string text;
  for (const std::string& name : names) {
    if (!name.starts_with('/') || !is_own_file(name)) continue;
    std::string aside = aside_of(name, id);
    text += name + '\0' + aside + '\0';
    wanted.emplace_back(name, std::move(aside));
  }
  if (wanted.empty()) return out;
  const std::string journal = fmt::format("{}/{}{}", folder, id, kSuffix);
  out.lock_ = input::UniqueFd(::open(journal.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out.lock_) return fail_errno(errno, journal);
  out.journal_ = journal;
  if (::flock(out.lock_.get(), LOCK_EX | LOCK_NB) != 0 || !write_all(out.lock_.get(), text) || ::fsync(out.lock_.get()) != 0) {
    return fail_errno(errno, journal);
  }
  for (auto& [name, aside] : wanted) {
    if (::rename(name.c_str(), aside.c_str()) != 0) continue;  // it stays, and is written over as ever
    out.moved_.emplace_back(std::move(name), std::move(aside));
  }
  return out;
}

ReplacedFiles::ReplacedFiles(ReplacedFiles&& other) noexcept
    : journal_(std::exchange(other.journal_, {})), lock_(std::move(other.lock_)), moved_(std::exchange(other.moved_, {})) {}

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

std::vector<std::string> put_back_leftovers(const std::string& folder) {
  std::vector<std::string> notes;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!path.ends_with(kSuffix)) continue;
    const input::UniqueFd lock(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;  // its run lives
    for (const auto& [name, aside] : read_journal(path)) {
      if (std::string told = put_back(name, aside); !told.empty()) notes.push_back(std::move(told));
    }
    (void)::unlink(path.c_str());
  }
  return notes;
}

}  // namespace iez::runs
