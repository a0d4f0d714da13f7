#include "lustre/param_source.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"
#include "lustre/get_param_source.hpp"

namespace iez::lustre {

namespace {

// A capture may hold absolute symbolic links (brw_stats was one): they mean the capture's tree, not ours. Kernels before 5.6
// cannot resolve them so; there, a link in a capture is not followed.
int open_below(int root, const char* path, int flags, bool live) {
  if (live) return ::openat(root, path, flags | O_CLOEXEC);
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT;
  constexpr int kTries = 8;  // EAGAIN: something was renamed while ".." was followed
  for (int i = 0; i < kTries; ++i) {
    const auto fd = static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how));
    if (fd >= 0) return fd;
    if (errno == ENOSYS || errno == EPERM) return ::openat(root, path, flags | O_CLOEXEC | O_NOFOLLOW);
    if (errno != EAGAIN) return -1;
  }
  return -1;
}

struct DirCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class TreeSource final : public ParamSource {
 public:
  TreeSource(input::UniqueFd root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}

  Result<std::vector<Instance>> find(Param param) const override {
    const ParamRow& wanted_row = row(param);
    Search search{.row = wanted_row};
    for (const std::string_view name : wanted_row.names) {
      for (const Home home : wanted_row.homes) {
        std::string pattern(directory(home));
        pattern += '/';
        pattern += name;
        std::replace(pattern.begin() + static_cast<std::ptrdiff_t>(directory(home).size()), pattern.end(), '.', '/');
        walk(search, "", pattern, {});
      }
    }
    // Whoever opens a broken one is told why; a target must not disappear from a sum in silence.
    search.found.merge(search.broken);
    if (search.found.empty() && !search.denied.empty()) {
      return fail(Errc::permission,
                  fmt::format("{}: permission denied; run as root, or as a user who may read it", search.denied));
    }
    std::vector<Instance> instances;
    instances.reserve(search.found.size());
    for (auto& [key, instance] : search.found) instances.push_back(std::move(instance));
    return instances;
  }

  Result<std::unique_ptr<input::ByteStream>> open(const Instance& instance) const override {
    // O_NONBLOCK: a pipe in a hostile capture must not stop us.
    input::UniqueFd fd = open_path(instance.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd) return fail_errno(errno, instance.origin);
    struct stat status{};
    if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, instance.origin);
    if (!S_ISREG(status.st_mode)) return fail(Errc::unsupported, instance.origin + ": not a regular file");
    return input::file_stream(std::move(fd), instance.origin);
  }

  Result<void> write(const Instance& instance, std::string_view value) override {
    // No O_TRUNC before the value is known to be accepted: the kernel's files ignore it, a plain one is cut afterwards.
    input::UniqueFd fd = open_path(instance.path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd) return fail_errno(errno, instance.origin);
    const ssize_t written = ::write(fd.get(), value.data(), value.size());
    if (written < 0) return fail_errno(errno, fmt::format("{}: writing '{}'", instance.origin, text::trim(value)));
    if (static_cast<std::size_t>(written) != value.size()) return fail(Errc::io, instance.origin + ": written in part only");
    // EINVAL from sysfs, which has no length to set.
    if (::ftruncate(fd.get(), static_cast<off_t>(value.size())) != 0 && errno != EINVAL && errno != EACCES && errno != EPERM) {
      return fail_errno(errno, instance.origin);
    }
    return {};
  }

  std::string name() const override {
    const std::string base = std::filesystem::path(path_).lexically_normal().filename();
    return base.empty() || base == "." ? "localhost" : base;
  }

  bool live() const override { return path_ == "/"; }

 private:
  using Key = std::pair<std::string, std::string>;  // device and client

  struct Search {
    const ParamRow& row;
    std::map<Key, Instance> found;
    std::map<Key, Instance> broken;  // there, but not to be opened: a link to nowhere, a folder, not for us
    std::string denied;              // the first directory that may not be read
  };

  input::UniqueFd open_path(const std::string& path, int flags) const {
    return input::UniqueFd(open_below(root_.get(), path.c_str(), flags, live()));
  }

  std::string absolute(std::string_view path) const { return (std::filesystem::path(path_) / path).lexically_normal(); }

  // Follows pattern below the directory `done`, one path segment at a time; a segment with a star tries every entry.
  void walk(Search& search, const std::string& done, std::string_view pattern, const std::vector<std::string>& stars) const {
    const std::size_t slash = pattern.find('/');
    const std::string_view segment = pattern.substr(0, slash);
    const bool last = slash == std::string_view::npos;
    const std::string_view rest = last ? std::string_view{} : pattern.substr(slash + 1);
    const auto step = [&](const std::string& entry, const std::vector<std::string>& matched) {
      const std::string path = done.empty() ? entry : done + '/' + entry;
      if (last) {
        note(search, path, matched);
      } else {
        walk(search, path, rest, matched);
      }
    };
    if (segment.find('*') == std::string_view::npos) {
      step(std::string(segment), stars);
      return;
    }
    for (const std::string& entry : entries(search, done)) {
      if (!text::glob_match(segment, entry)) continue;
      std::vector<std::string> matched = stars;
      if (segment == "*") matched.push_back(entry);
      step(entry, matched);
    }
  }

  void note(Search& search, const std::string& path, const std::vector<std::string>& stars) const {
    const std::string device = stars.empty() ? "" : stars[0];
    const std::string client = stars.size() < 2 ? "" : stars[1];
    if (!wanted(search.row.kind, device)) return;
    const Key key{device, client};
    if (search.found.contains(key)) return;  // an earlier home has it
    Instance instance{.param = search.row.param, .device = device, .client = client, .origin = absolute(path), .path = path};
    const input::UniqueFd fd = open_path(path, O_PATH);
    const int reason = errno;
    struct stat status{};
    if (fd && ::fstat(fd.get(), &status) == 0 && !S_ISDIR(status.st_mode)) {
      search.found.emplace(key, std::move(instance));
    } else if (fd || reason == EACCES || reason == ELOOP || open_path(path, O_PATH | O_NOFOLLOW)) {
      search.broken.emplace(key, std::move(instance));
    }
  }

  std::vector<std::string> entries(Search& search, const std::string& path) const {
    std::vector<std::string> names;
    input::UniqueFd fd = open_path(path, O_RDONLY | O_DIRECTORY);
    if (!fd) {
      if (errno == EACCES && search.denied.empty()) search.denied = absolute(path);
      return names;
    }
    const std::unique_ptr<DIR, DirCloser> directory(::fdopendir(fd.get()));
    if (!directory) return names;
    static_cast<void>(fd.release());  // closedir() closes it
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string_view entry_name = static_cast<const char*>(entry->d_name);
      if (!entry_name.starts_with('.')) names.emplace_back(entry_name);
    }
    return names;
  }

  input::UniqueFd root_;
  std::string path_;
};

}  // namespace

DeviceName device_of(const Instance& instance) {
  auto device = parse_device(instance.device);
  IEZ_ASSERT(device.has_value());
  return *std::move(device);
}

Result<std::unique_ptr<ParamSource>> open_tree(const std::string& root) {
  input::UniqueFd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, root);
  return std::make_unique<TreeSource>(std::move(fd), root);
}

Result<std::unique_ptr<ParamSource>> open_source(const std::string& path) {
  struct stat status{};
  if (path != "-" && ::stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if (path != "-" && S_ISDIR(status.st_mode)) return open_tree(path);
  return open_get_param(path);
}

Result<std::string> read_value(const ParamSource& source, const Instance& instance) {
  IEZ_TRY(const auto stream, source.open(instance));
  input::LineReader lines(*stream);
  IEZ_TRY(const auto line, lines.next());
  if (!line) return fail(Errc::parse, instance.origin + ": empty, expected one value");
  if (!line->ended || line->cut) return fail(Errc::parse, instance.origin + " line 1: cut off before the end of the line");
  return std::string(text::trim(line->text));
}

Result<std::uint64_t> read_number(const ParamSource& source, const Instance& instance) {
  IEZ_TRY(const std::string value, read_value(source, instance));
  std::string_view digits = value;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  const auto number = text::parse_u64(digits);
  if (!number) {
    return fail(Errc::parse,
                fmt::format("{} line 1: '{}', expected a number", instance.origin, text::printable(input::excerpt(digits))));
  }
  return *number;
}

std::optional<std::string> read_optional(const ParamSource& source, Param param) {
  const auto instances = source.find(param);
  if (!instances || instances->empty()) return std::nullopt;
  auto value = read_value(source, instances->front());
  if (!value) return std::nullopt;
  return *std::move(value);
}

}  // namespace iez::lustre
