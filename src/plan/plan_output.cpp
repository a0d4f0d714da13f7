#include "plan/plan_output.hpp"

#include <fcntl.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp() is not in std
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace iez::plan {

namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 20U;
constexpr int kTries = 100;

// Without a name, so that who is killed leaves nothing; not every file system can do that.
int open_nameless(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

}  // namespace

Result<PlanOutput> PlanOutput::create(const std::string& path, mode_t mode) {
  // The rename would replace a device.
  std::error_code error;
  const auto there = std::filesystem::status(path, error).type();
  if (!error && there != std::filesystem::file_type::not_found && there != std::filesystem::file_type::regular) {
    return fail(Errc::invalid_argument,
                fmt::format("{}: found something that is no regular file, expected one, or a new name", path));
  }
  PlanOutput output;
  output.path_ = path;
  output.fd_ = input::UniqueFd(open_nameless(path));
  if (!output.fd_) {
    std::string temporary = path + ".XXXXXX";
    output.fd_ = input::UniqueFd(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!output.fd_) return fail_errno(errno, fmt::format("{}: cannot create the plan", path));
    output.temporary_ = std::move(temporary);
  }
  if (::fchmod(output.fd_.get(), mode) != 0) return fail_errno(errno, fmt::format("{}: cannot set the mode of the plan", path));
  output.buffer_.reserve(kBufferSize);
  return output;
}

PlanOutput::~PlanOutput() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

PlanOutput::PlanOutput(PlanOutput&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)),
      buffer_(std::move(other.buffer_)),
      flushed_(other.flushed_) {}

Result<void> PlanOutput::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      return fail_errno(done < 0 ? errno : EIO, fmt::format("{}: cannot write the plan; nothing was kept of it", path_));
    }
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

Result<void> PlanOutput::flush() {
  IEZ_CHECK(write_at(flushed_, buffer_));
  flushed_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> PlanOutput::append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferSize) IEZ_CHECK(flush());
  if (bytes.size() > kBufferSize) {
    IEZ_CHECK(write_at(flushed_, bytes));
    flushed_ += bytes.size();
    return {};
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return {};
}

Result<void> PlanOutput::rewind(std::uint64_t size) {
  IEZ_CHECK(flush());
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0)
    return fail_errno(errno, fmt::format("{}: cannot write the plan", path_));
  flushed_ = size;
  return {};
}

// A file without a name gets one beside the plan's, for as long as it takes to rename it.
Result<void> PlanOutput::name_it() {
  const std::string self = fmt::format("/proc/self/fd/{}", fd_.get());
  for (int number = 0; number < kTries; ++number) {
    std::string name = fmt::format("{}.{}-{}", path_, ::getpid(), number);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
      return {};
    }
    if (errno != EEXIST) break;
  }
  return fail_errno(errno, fmt::format("{}: cannot give the plan a name", path_));
}

Result<void> PlanOutput::finish(std::span<const std::byte> front) {
  IEZ_CHECK(flush());
  IEZ_CHECK(write_at(0, front));
  if (temporary_.empty()) IEZ_CHECK(name_it());
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return fail_errno(errno, fmt::format("{}: cannot give the plan its name", path_));
  }
  temporary_.clear();
  return {};
}

}  // namespace iez::plan
