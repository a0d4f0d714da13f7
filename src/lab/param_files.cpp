#include "lab/param_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace iez::lab {

namespace {

constexpr std::size_t kMostRead = 64U << 10U;

Result<void> write_new(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return fail_errno(errno, path);
  int failed = 0;
  while (!text.empty() && failed == 0) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done >= 0) {
      text.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno != EINTR) {
      failed = errno;
    }
  }
  if (::close(fd) != 0 && failed == 0) failed = errno;
  if (failed != 0) return fail_errno(failed, path);
  return {};
}

}  // namespace

Result<void> ParamFiles::put(const std::string& path, std::string_view text) {
  const auto known = written_.find(path);
  if (known != written_.end() && known->second == text) return {};
  return put_back(path, text);
}

Result<void> ParamFiles::put_back(const std::string& path, std::string_view text) {
  const std::filesystem::path file = std::filesystem::path(root_) / path;
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) return fail_errno(error.value(), file.parent_path().string());
  // No tree has a name with a leading dot, so nobody takes the unfinished file for a parameter.
  const std::string aside = (file.parent_path() / fmt::format(".{}.new", file.filename().string())).string();
  IEZ_CHECK(write_new(aside, text));
  if (std::rename(aside.c_str(), file.c_str()) != 0) return fail_errno(errno, file.string());
  written_.insert_or_assign(path, std::string(text));
  return {};
}

Result<std::string> ParamFiles::get(const std::string& path) const {
  const std::string file = (std::filesystem::path(root_) / path).string();
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, file);
  std::string text(kMostRead, '\0');
  std::size_t size = 0;
  int failed = 0;
  while (size < text.size() && failed == 0) {
    const ssize_t done = ::read(fd, text.data() + size, text.size() - size);
    if (done == 0) break;
    if (done > 0) {
      size += static_cast<std::size_t>(done);
    } else if (errno != EINTR) {
      failed = errno;
    }
  }
  ::close(fd);
  if (failed != 0) return fail_errno(failed, file);
  text.resize(size);
  return text;
}

void ParamFiles::remove(const std::string& path) {
  if (written_.erase(path) == 0) return;
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::path(root_) / path;
  std::filesystem::remove(file, ignored);
  std::filesystem::remove(file.parent_path(), ignored);  // fails while others are in it
}

}  // namespace iez::lab
