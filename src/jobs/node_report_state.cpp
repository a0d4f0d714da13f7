#include "jobs/node_report_state.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/byte_stream.hpp"
#include "input/excerpt.hpp"

namespace iez::jobs {

namespace {

constexpr std::string_view kHead = "iez-before 1";
constexpr std::string_view kBefore = ".before";
constexpr std::string_view kUnsent = ".unsent";
constexpr std::size_t kMaxFile = std::size_t{8} << 20U;
constexpr std::size_t kMaxSafe = 180;  // letters of a name; a file name has 255

bool is_safe(char c) {
  const char low = text::to_lower(c);
  return text::is_digit(c) || (low >= 'a' && low <= 'z') || c == '_' || c == '.';
}

std::string safe(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (const char c : name) {
    if (is_safe(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// FNV-1a: long names differ in it, where they are cut.
std::uint64_t digest(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

// Seconds since 1970. Jobs of an earlier life of the node are gone.
std::int64_t boot_time() {
  timespec now{};
  timespec up{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  return now.tv_sec - up.tv_sec;
}

std::optional<std::string> unsafe(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      out += name[i];
      continue;
    }
    const std::string_view digits = name.substr(i + 1, 2);
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

bool take_text(std::string_view value, std::string& out) {
  auto decoded = unsafe(value);
  if (!decoded) return false;
  out = *std::move(decoded);
  return true;
}

bool take_small(std::string_view value, std::uint32_t& out) {
  const auto number = text::parse_u64(value);
  if (!number || *number > 0xFFFFFFFFU) return false;
  out = static_cast<std::uint32_t>(*number);
  return true;
}

bool take_line(std::string_view line, BeforeJob& before) {
  const std::string_view key = text::take_word(line);
  const std::string_view value = text::trim(line);
  if (key == "cluster") return take_text(value, before.job.cluster);
  if (key == "job") return take_text(value, before.job.id);
  if (key == "user") return take_text(value, before.job.user);
  if (key == "node") return take_text(value, before.job.node);
  if (key == "nodes") return take_small(value, before.job.nodes);
  return key == "others" && take_small(value, before.others);
}

}  // namespace

std::string to_text(const BeforeJob& before) {
  return fmt::format("{}\ncluster {}\njob {}\nuser {}\nnode {}\nnodes {}\nothers {}\n{}", kHead, safe(before.job.cluster),
                     safe(before.job.id), safe(before.job.user), safe(before.job.node), before.job.nodes, before.others,
                     to_text(before.reading));
}

Result<BeforeJob> parse_before(std::string_view text, std::string_view origin) {
  BeforeJob before;
  std::uint64_t number = 0;
  while (!text.starts_with("iez-node ")) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    ++number;
    if (newline == std::string_view::npos) return fail(Errc::parse, fmt::format("{}: cut off at line {}", origin, number));
    text.remove_prefix(newline + 1);
    if (number == 1 ? line != kHead : !take_line(line, before)) {
      return fail(Errc::parse, fmt::format("{} line {}: '{}' is not what a prolog writes", origin, number,
                                           text::printable(input::excerpt(line))));
    }
  }
  if (number == 0) return fail(Errc::parse, fmt::format("{} line 1: expected '{}'", origin, kHead));
  IEZ_TRY(before.reading, parse_reading(text, origin));
  return before;
}

Result<NodeState> NodeState::open(const std::string& folder) {
  std::error_code ignored;  // what follows tells
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), ignored);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, folder);
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return fail_errno(errno, folder);
  if (!S_ISDIR(status.st_mode)) return fail(Errc::unsupported, folder + ": not a folder");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 || (status.st_uid != ::geteuid() && status.st_uid != 0)) {
    return fail(Errc::permission, folder + ": others may write there; expected a folder of its user alone (chmod go-w)");
  }
  return NodeState(folder);
}

std::string NodeState::path_of(std::string_view cluster, std::string_view id, std::string_view suffix) const {
  std::string name = safe(cluster) + '-' + safe(id);
  if (name.size() > kMaxSafe) name = fmt::format("{}-{:016x}", name.substr(0, kMaxSafe), digest(name));
  return folder_ + '/' + name + std::string(suffix);
}

Result<void> NodeState::write(const std::string& path, std::string_view text) const {
  const std::string temporary = fmt::format("{}.{}", path, ::getpid());
  input::UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, temporary);
  const auto give_up = [&temporary](int why) {
    static_cast<void>(::unlink(temporary.c_str()));
    return fail_errno(why, temporary);
  };
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return give_up(written == 0 ? ENOSPC : errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // A node that loses its power loses the job, too: only the order matters, so that no empty file gets the name.
  if (::fdatasync(fd.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) return give_up(errno);
  return {};
}

Result<std::string> NodeState::read(const std::string& path) const {
  input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return fail_errno(errno, path);
  const auto stream = input::file_stream(std::move(fd), path);
  std::string text;
  std::array<char, 16384> piece{};
  while (true) {
    IEZ_TRY(const std::size_t got, stream->read(piece));
    if (got == 0) return text;
    if (text.size() + got > kMaxFile) return fail(Errc::limit, path + ": larger than anything that belongs there");
    text.append(piece.data(), got);
  }
}

Result<void> NodeState::keep(const BeforeJob& before) {
  return write(path_of(before.job.cluster, before.job.id, kBefore), to_text(before));
}

Result<BeforeJob> NodeState::find(std::string_view cluster, std::string_view id) const {
  const std::string path = path_of(cluster, id, kBefore);
  IEZ_TRY(const std::string text, read(path));
  return parse_before(text, path);
}

void NodeState::forget(std::string_view cluster, std::string_view id) { remove(path_of(cluster, id, kBefore)); }

void NodeState::remove(const std::string& path) { static_cast<void>(::unlink(path.c_str())); }

std::vector<std::string> NodeState::files(std::string_view suffix) const {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == suffix) found.push_back(entry->path().string());
  }
  std::ranges::sort(found);
  return found;
}

std::uint32_t NodeState::others(std::string_view cluster, std::string_view id) const {
  const std::string own = path_of(cluster, id, kBefore);
  const std::int64_t booted = boot_time();
  return static_cast<std::uint32_t>(std::ranges::count_if(files(kBefore), [&own, booted](const std::string& path) {
    struct stat status{};
    return path != own && ::stat(path.c_str(), &status) == 0 && status.st_mtim.tv_sec >= booted;
  }));
}

Result<void> NodeState::keep_unsent(std::string_view cluster, std::string_view id, std::string_view frames) {
  // A job that was requeued has two reports.
  for (unsigned number = 0;; ++number) {
    const std::string path = path_of(cluster, id, fmt::format(".{}{}", number, kUnsent));
    if (!std::filesystem::exists(path)) return write(path, frames);
  }
}

std::vector<std::string> NodeState::unsent() const { return files(kUnsent); }

std::uint32_t NodeState::remove_forgotten(std::int64_t now) {
  std::uint32_t removed = 0;
  for (const std::string& path : files(kBefore)) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || now - status.st_mtim.tv_sec < kForgotten) continue;
    remove(path);
    ++removed;
  }
  return removed;
}

}  // namespace iez::jobs
