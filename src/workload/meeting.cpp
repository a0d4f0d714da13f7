#include "workload/meeting.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/byte_stream.hpp"

namespace iez::workload {

namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 1ms;
constexpr auto kPatience = 10min;

Result<std::uint64_t> arrivals(int fd, const std::string& name) {
  struct stat found{};
  if (::fstat(fd, &found) != 0) return fail_errno(errno, name);
  return static_cast<std::uint64_t>(found.st_size);
}

}  // namespace

Result<void> Meeting::meet() {
  const std::string name = text::printable(file_);
  const input::UniqueFd fd(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(errno, name);
  IEZ_TRY(std::uint64_t here, arrivals(fd.get(), name));
  if (met_ == 0 && here >= parties_) {  // who comes first finds fewer
    return fail(Errc::invalid_argument,
                fmt::format("{}: {} have met there already; remove it, or name another file", name, here));
  }
  if (::write(fd.get(), "x", 1) != 1) return fail_errno(errno, name);
  const std::uint64_t wanted = parties_ * (met_ + 1);
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  IEZ_TRY(here, arrivals(fd.get(), name));
  while (here < wanted) {
    if (std::chrono::steady_clock::now() > limit) {
      return fail(Errc::limit, fmt::format("{}: {} of {} have come in ten minutes", name, here, wanted));
    }
    std::this_thread::sleep_for(kLook);
    IEZ_TRY(here, arrivals(fd.get(), name));
  }
  ++met_;
  return {};
}

}  // namespace iez::workload
