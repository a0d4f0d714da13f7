#include "runs/live_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::runs {

namespace {

constexpr std::string_view kMagic = "iez-run";

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Where process ids mean the same: until the node boots again, and in one container. Empty: nobody knows.
std::string node_of_this_process() {
  std::string boot = text_of("/proc/sys/kernel/random/boot_id");
  while (boot.ends_with('\n')) boot.pop_back();
  std::error_code error;
  const std::string ids = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  return boot.empty() || ids.empty() ? "" : fmt::format("{}/{}", boot, ids);
}

// When the process began, in ticks since boot, so that another one of the same id is told from it; empty: there is none.
std::string start_of(std::string_view process) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", process));
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return "";
  constexpr int kFieldsBefore = 19;
  std::string_view rest = std::string_view(stat).substr(name_end + 1);
  for (int skipped = 0; skipped < kFieldsBefore; ++skipped) (void)text::take_word(rest);
  return std::string(text::take_word(rest));
}

std::string own_mark() {
  const std::string process = std::to_string(::getpid());
  return fmt::format("{} {} {} {}\n", kMagic, node_of_this_process(), process, start_of(process));
}

// Letters of a file name alone.
std::string node_word() { return fmt::format("{:016x}", std::hash<std::string>{}(node_of_this_process())); }

bool is_over(std::string_view mark, const struct stat& status, WallTime now) {
  const std::string_view magic = text::take_word(mark);
  const std::string_view node = text::take_word(mark);
  const std::string_view process = text::take_word(mark);
  const std::string_view start = text::take_word(mark);
  if (magic == kMagic && !start.empty() && node == node_of_this_process()) return start_of(process) != start;
  const WallTime beaten{std::chrono::seconds(status.st_mtim.tv_sec)};
  return now - beaten > kSilence;
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

}  // namespace

std::string maker_suffix() {
  const std::string process = std::to_string(::getpid());
  return fmt::format(".{}.{}.{}", node_word(), process, start_of(process));
}

bool is_of_gone_maker(std::string_view name) {
  const auto last = [&name] {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return std::string_view();
    const std::string_view part = name.substr(dot + 1);
    name = name.substr(0, dot);
    return part;
  };
  const std::string_view start = last();
  const std::string_view process = last();
  const std::string_view node = last();
  const bool ours = !node_of_this_process().empty() && node == node_word();
  return ours && text::parse_u64(process) && !start.empty() && start_of(process) != start;
}

Result<LiveFile> LiveFile::make(const std::string& path, std::string_view content) {
  LiveFile out;
  out.fd_ = input::UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out.fd_) return fail_errno(errno, path);
  const int fd = out.fd_.get();
  // Where there are no locks, the mark has to do.
  (void)::flock(fd, LOCK_EX | LOCK_NB);
  if (!write_all(fd, own_mark()) || !write_all(fd, content) || ::fsync(fd) != 0) {
    const int why = errno;
    (void)::unlink(path.c_str());
    return fail_errno(why, path);
  }
  return out;
}

void LiveFile::beat() const {
  if (fd_) (void)::futimens(fd_.get(), nullptr);
}

std::optional<AbandonedFile> take_abandoned(const std::string& path, WallTime now) {
  AbandonedFile out{.lock = input::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)), .content = {}};
  struct stat status{};
  if (!out.lock || ::fstat(out.lock.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (::flock(out.lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
  const std::string text = text_of(path);
  const std::size_t line = text.find('\n');
  const bool marked = line != std::string::npos && text.starts_with(kMagic);
  if (!is_over(marked ? std::string_view(text).substr(0, line) : std::string_view(), status, now)) return std::nullopt;
  // Whoever held it may have removed it meanwhile, and that name be another's.
  struct stat named{};
  if (::stat(path.c_str(), &named) != 0 || named.st_ino != status.st_ino || named.st_dev != status.st_dev) return std::nullopt;
  out.content = marked ? text.substr(line + 1) : text;
  return out;
}

}  // namespace iez::runs
