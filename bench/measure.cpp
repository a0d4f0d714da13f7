#include "measure.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

#include "input/byte_stream.hpp"
#include "peer.hpp"

namespace iez::bench {

namespace {

std::uint64_t peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss);
}

}  // namespace

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

double cpu_seconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Result<std::string> python_with(std::string_view module, std::string_view package) {
  for (std::string python : {"/usr/bin/python3", "python3"}) {
    if (output_of({python, "-c", fmt::format("import {}", module)})) return python;
  }
  return fail(Errc::not_found, fmt::format("{} is not installed: tools/setup bench", package));
}

Result<void> write_text(const std::string& path, std::string_view text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) return fail(Errc::io, path + ": cannot be written");
  return {};
}

Result<std::uint64_t> peak_growth_kib(const std::function<bool()>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  input::UniqueFd from(ends[0]);
  input::UniqueFd to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0) {
    const std::uint64_t before = peak_kib();
    const bool done = work();
    const std::uint64_t growth = peak_kib() - before;
    const bool told = ::write(to.get(), &growth, sizeof growth) == static_cast<ssize_t>(sizeof growth);
    ::_exit(done && told ? 0 : 1);
  }
  to.reset();
  std::uint64_t growth = 0;
  ssize_t got = 0;
  do {
    got = ::read(from.get(), &growth, sizeof growth);
  } while (got < 0 && errno == EINTR);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail_errno(errno, "waitpid");
  }
  if (got != static_cast<ssize_t>(sizeof growth) || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(Errc::io, "the process that measures memory failed");
  }
  return growth;
}

}  // namespace iez::bench
