#include "lab/mounts.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/text.hpp"

namespace iez::lab {
namespace {

namespace fs = std::filesystem;

// "\040" for a space, as the kernel writes names into its tables.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&text, i](std::size_t k) { return i + k < text.size() && text[i + k] >= '0' && text[i + k] <= '7'; };
    if (text[i] == '\\' && digit(1) && digit(2) && digit(3)) {
      plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

bool is_below(std::string_view path, const std::string& folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool link_is_below(const fs::path& link, const std::string& folder) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return !error && is_below(target.native(), folder);
}

bool uses(const fs::path& process, const std::string& folder) {
  for (const char* const link : {"cwd", "root", "exe"}) {
    if (link_is_below(process / link, folder)) return true;
  }
  std::error_code error;
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end; at.increment(error)) {
    if (link_is_below(at->path(), folder)) return true;
  }
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t name = line.find('/');
    if (name != std::string::npos && is_below(std::string_view(line).substr(name), folder)) return true;
  }
  return false;
}

}  // namespace

bool is_mounted(const std::string& path) {
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    if (unescaped(field) == path) return true;
  }
  return false;
}

int unmount(const std::string& path, bool lazy) {
  if (::umount2(path.c_str(), lazy ? MNT_DETACH : 0) == 0) return 0;
  const int reason = errno;
  if (reason != EPERM) return reason;
  std::array<std::string, 6> words{"fusermount3", "-u", "-q", lazy ? "-z" : "-q", "--", path};
  std::array<char*, 7> arguments{};
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, "fusermount3", &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return failed;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  return is_mounted(path) ? EBUSY : 0;
}

std::vector<MountUser> users_of(const std::string& path) {
  std::vector<MountUser> users;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const auto pid = text::parse_u64(at->path().filename().native());
    if (!pid || !uses(at->path(), path)) continue;
    std::string program;
    std::ifstream comm(at->path() / "comm");
    std::getline(comm, program);
    users.push_back({.pid = static_cast<int>(*pid), .program = program});
  }
  std::ranges::sort(users, {}, &MountUser::pid);
  return users;
}

}  // namespace iez::lab
