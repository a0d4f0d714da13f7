#include "run_programs.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "base/exec_strings.hpp"
#include "base/text.hpp"
#include "input/byte_stream.hpp"
#include "measure.hpp"

namespace iez::bench {

namespace {

constexpr int kCannotStart = 127;  // what a shell says, too
constexpr int kKilled = 128;

struct Running {
  pid_t pid = 0;
  input::UniqueFd ended;  // readable when it has
  input::UniqueFd output;
  input::UniqueFd talk;
  bool is_done = false;
};

// Of this process, without what tells iez something.
ExecStrings environment_for(const Program& program) {
  ExecStrings all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto names_it = [text](const auto& one) {
      return text.starts_with(one.first) && text.substr(one.first.size()).starts_with('=');
    };
    const bool tells_iez = text.starts_with("IEZ_") && !text.starts_with("IEZ_LIBDIR=");
    if (!tells_iez && std::ranges::none_of(program.environment, names_it)) all.add(std::string(text));
  }
  for (const auto& [name, value] : program.environment) all.add(name + '=' + value);
  return all;
}

Result<Running> start(const Program& program) {
  Running running;
  for (input::UniqueFd* const file : {&running.output, &running.talk}) {
    *file = input::UniqueFd(::memfd_create("iez-bench", MFD_CLOEXEC));
    if (file->get() < 0) return fail_errno(errno, "memfd_create");
  }
  ExecStrings words(program.words);
  ExecStrings environment = environment_for(program);
  char* const* const arguments = words.get();
  char* const* const variables = environment.get();
  const pid_t parent = ::getpid();
  running.pid = ::fork();
  if (running.pid < 0) return fail_errno(errno, "fork");
  if (running.pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(kCannotStart);
    if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0) ::dup2(nothing, STDIN_FILENO);
    ::dup2(running.output.get(), STDOUT_FILENO);
    ::dup2(running.talk.get(), STDERR_FILENO);
    if (!program.folder.empty() && ::chdir(program.folder.c_str()) != 0) ::_exit(kCannotStart);
    ::execvpe(arguments[0], arguments, variables);
    ::_exit(kCannotStart);
  }
  running.ended =
      input::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, running.pid, 0)));  // glibc 2.36 does not declare it for C++
  if (running.ended.get() < 0) return fail_errno(errno, "pidfd_open");
  return running;
}

std::string content_of(int fd) {
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  off_t at = 0;
  while (true) {
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

int exit_status_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return kCannotStart;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kKilled + WTERMSIG(status);
}

void kill_all(std::vector<Running>& all) {
  for (Running& one : all) {
    if (one.is_done) continue;
    ::kill(-one.pid, SIGKILL);
    ::kill(one.pid, SIGKILL);  // it may not have a group of its own yet
    static_cast<void>(exit_status_of(one.pid));
  }
}

}  // namespace

Result<std::vector<Finished>> run_programs(const std::vector<Program>& programs, std::chrono::seconds limit) {
  std::vector<Running> all;
  all.reserve(programs.size());
  const auto begun = Clock::now();
  for (const Program& program : programs) {
    auto running = start(program);
    if (!running) {
      kill_all(all);
      return std::unexpected(std::move(running).error());
    }
    all.push_back(*std::move(running));
  }
  std::vector<Finished> finished(programs.size());
  for (std::size_t left = all.size(); left > 0;) {
    std::vector<pollfd> waiting;
    for (const Running& one : all) waiting.push_back({.fd = one.is_done ? -1 : one.ended.get(), .events = POLLIN, .revents = 0});
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(begun + limit - Clock::now());
    const int ready = rest.count() > 0 ? ::poll(waiting.data(), waiting.size(), static_cast<int>(rest.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      kill_all(all);
      return fail(Errc::limit,
                  fmt::format("'{}' did not end within {} s", fmt::join(programs.front().words, " "), limit.count()));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      finished[i].seconds = seconds_since(begun);
      finished[i].status = exit_status_of(all[i].pid);
      all[i].is_done = true;
      --left;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    finished[i].output = content_of(all[i].output.get());
    finished[i].talk = content_of(all[i].talk.get());
  }
  return finished;
}

std::string last_line(const std::string& text) {
  const std::string_view rest = text::trim(text);
  return text::printable(rest.substr(rest.rfind('\n') + 1));
}

}  // namespace iez::bench
