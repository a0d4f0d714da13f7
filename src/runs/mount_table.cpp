#include "runs/mount_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::runs {

namespace {

constexpr std::string_view kLabSource = "iez-lab-";
constexpr std::string_view kLabType = "fuse.iez";

// The kernel writes blanks, tabs, newlines and backslashes as \ooo.
std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::ranges::all_of(text.substr(i + 1, 3), [](char c) { return c >= '0' && c <= '7'; })) {
      const auto digit = [&](std::size_t at) { return static_cast<unsigned>(text[at] - '0'); };
      out += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// "10.0.0.1@tcp:10.0.0.2@tcp:/lustre/home" -> "lustre".
std::string file_system_of_source(std::string_view source) {
  const std::size_t at = source.find(":/");
  if (at == std::string_view::npos) return "";
  const std::string_view rest = source.substr(at + 2);
  return std::string(rest.substr(0, rest.find('/')));
}

std::string params_of(std::string_view path) {
  const std::size_t name = path.rfind('/');
  const std::string_view above = path.substr(0, name == std::string_view::npos ? 0 : name);
  if (!above.ends_with("/mnt")) return "";
  return fmt::format("{}/params{}", above.substr(0, above.size() - std::string_view("/mnt").size()), path.substr(name));
}

}  // namespace

std::vector<LayoutMount> parse_mounts(std::string_view mountinfo) {
  std::vector<LayoutMount> mounts;
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(mountinfo.size(), line.size() + 1));
    // id parent major:minor root mountpoint options fields... - type source ...
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view front = line.substr(0, dash);
    std::string_view back = line.substr(dash + 3);
    for (int skipped = 0; skipped < 4; ++skipped) (void)text::take_word(front);
    const std::string_view path = text::take_word(front);
    const std::string_view type = text::take_word(back);
    const std::string source = unescaped(text::take_word(back));
    if (path.empty()) continue;
    LayoutMount mount{.path = unescaped(path)};
    if (type == "lustre") {
      mount.file_system = file_system_of_source(source);
    } else if (type == kLabType && source.starts_with(kLabSource)) {
      mount.file_system = source.substr(kLabSource.size());
      mount.lab = true;
      mount.params = params_of(mount.path);
    }
    if (mount.file_system.empty()) continue;
    std::erase_if(mounts, [&](const LayoutMount& one) { return one.path == mount.path; });  // the last one hides the others
    mounts.push_back(std::move(mount));
  }
  std::ranges::sort(mounts, [](const LayoutMount& a, const LayoutMount& b) {
    return std::pair(b.path.size(), std::string_view(a.path)) < std::pair(a.path.size(), std::string_view(b.path));
  });
  return mounts;
}

Result<std::vector<LayoutMount>> read_mounts() {
  std::ifstream file("/proc/self/mountinfo", std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) return fail(Errc::io, "/proc/self/mountinfo: cannot be read");
  return parse_mounts(content.str());
}

std::vector<std::string> roots_of(const std::vector<LayoutMount>& mounts, std::string_view file_system,
                                  const std::vector<std::string>& given) {
  if (!given.empty()) return given;
  for (const LayoutMount& mount : mounts) {
    if (mount.file_system == file_system && !mount.params.empty()) return {mount.params};
  }
  return {};
}

bool is_below(std::string_view name, std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return name.starts_with(folder) && (folder.ends_with('/') || name.size() == folder.size() || name[folder.size()] == '/');
}

const LayoutMount* mount_of(const std::vector<LayoutMount>& mounts, std::string_view path) {
  for (const LayoutMount& mount : mounts) {
    if (is_below(path, mount.path)) return &mount;
  }
  return nullptr;
}

}  // namespace iez::runs
