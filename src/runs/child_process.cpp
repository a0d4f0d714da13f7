#include "runs/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string_view>

#include <fmt/format.h>

#include "base/exec_strings.hpp"
#include "input/byte_stream.hpp"

namespace iez::runs {

namespace {

constexpr std::array kPassedOn{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};
constexpr int kNotFound = 127;

// The terminal sends to the whole group; a process sends to whom it names.
bool sent_to_us(const siginfo_t& info) { return info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL; }

Ending ending_of(int status) {
  if (WIFSIGNALED(status)) return {.status = 0, .signal = WTERMSIG(status)};
  return {.status = WEXITSTATUS(status), .signal = 0};
}

std::int64_t now_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Nothing in a signal tells whether it was sent to this process, or to all of its group and so to the command as well. A process
// that does nothing else waits in the group: what it gets, too, went to the group. Signals to every process of a job, one after
// the other, as batch systems send them, are found out in the same way. Where it cannot be made, all signals are passed on.
class GroupWitness {
 public:
  // REQUIRES: the signals are blocked.
  explicit GroupWitness(const sigset_t& watched) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    seen_ = input::UniqueFd(ends[0]);
    const input::UniqueFd telling(ends[1]);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) witness(watched, parent, telling.get());
  }
  ~GroupWitness() {
    if (process_ <= 0) return;
    (void)::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;
  GroupWitness(GroupWitness&&) = delete;
  GroupWitness& operator=(GroupWitness&&) = delete;

  // Whether the group gets the signal that has just come here. Waits a moment for it.
  bool saw(int signal) const {
    if (process_ <= 0) return false;
    constexpr std::int64_t kMillisecond = 1'000'000;
    constexpr std::int64_t kPatience = 20 * kMillisecond;  // also the time between the first of a job's processes and the last
    const std::int64_t came = now_ns();
    for (std::int64_t left = kPatience; left > 0; left = came + kPatience - now_ns()) {
      Seen seen;
      if (::read(seen_.get(), &seen, sizeof seen) == static_cast<ssize_t>(sizeof seen)) {
        if (seen.signal == signal && came - seen.time_ns < 5 * kPatience) return true;  // an older one was another
        continue;
      }
      pollfd waiting{.fd = seen_.get(), .events = POLLIN, .revents = 0};
      (void)::poll(&waiting, 1, static_cast<int>(left / kMillisecond) + 1);
      if ((waiting.revents & (POLLHUP | POLLERR)) != 0) return false;
    }
    return false;
  }

 private:
  struct Seen {
    int signal = 0;
    std::int64_t time_ns = 0;
  };

  // Holds nothing open that others may wait for, and ends with its parent.
  [[noreturn]] static void witness(const sigset_t& watched, pid_t parent, int telling) {
    constexpr int kOnly = 0;
    if (telling != kOnly) (void)::dup2(telling, kOnly);
    (void)::close_range(kOnly + 1, ~0U, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)::prctl(PR_SET_NAME, "iez-signals");
    while (::getppid() == parent) {
      siginfo_t info{};
      if (::sigwaitinfo(&watched, &info) < 0 || !sent_to_us(info)) continue;
      const Seen seen{.signal = info.si_signo, .time_ns = now_ns()};
      (void)!::write(kOnly, &seen, sizeof seen);
    }
    ::_exit(0);
  }

  pid_t process_ = -1;
  input::UniqueFd seen_;
};

class Signals {
 public:
  Signals() {
    ::sigemptyset(&watched_);
    for (const int signal : kPassedOn) ::sigaddset(&watched_, signal);
    ::sigaddset(&watched_, SIGCHLD);
    (void)::sigaction(SIGCHLD, nullptr, &child_action_);
    // An ignored SIGCHLD would make the command vanish unseen.
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    (void)::sigaction(SIGCHLD, &usual, nullptr);
    (void)::sigprocmask(SIG_BLOCK, &watched_, &before_);
  }
  ~Signals() {
    // What came for the command, too late for it, must not end us before the run is written down.
    const timespec none{};
    while (::sigtimedwait(&watched_, nullptr, &none) > 0) {
    }
    restore();
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  Signals(Signals&&) = delete;
  Signals& operator=(Signals&&) = delete;

  // Async-signal-safe: the command starts with what we were started with.
  void restore() const {
    (void)::sigaction(SIGCHLD, &child_action_, nullptr);
    (void)::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  const sigset_t& watched() const { return watched_; }

  // Passes signals on until the child is gone.
  int wait_for(pid_t child, const GroupWitness& group, const Meanwhile& meanwhile) const {
    constexpr std::int64_t kSecond = 1'000'000'000;
    const std::int64_t every = meanwhile.done ? meanwhile.every.count() : 3600 * kSecond;
    std::int64_t next = now_ns() + every;
    for (;;) {
      int status = 0;
      const pid_t got = ::waitpid(child, &status, WNOHANG);
      if (got == child) return status;
      if (got < 0 && errno != EINTR) return 0;
      if (now_ns() >= next) {
        if (meanwhile.done) meanwhile.done();
        next = now_ns() + every;
      }
      const std::int64_t left = std::max<std::int64_t>(0, next - now_ns());
      const timespec patience{.tv_sec = left / kSecond, .tv_nsec = left % kSecond};
      siginfo_t info{};
      if (::sigtimedwait(&watched_, &info, &patience) < 0 || info.si_signo == SIGCHLD) continue;
      if (!sent_to_us(info) || info.si_pid == child) continue;
      const bool in_group = ::getpgid(child) == ::getpgrp();
      if (!in_group || !group.saw(info.si_signo)) (void)::kill(child, info.si_signo);
    }
  }

 private:
  sigset_t watched_{};
  sigset_t before_{};
  struct sigaction child_action_{};
};

}  // namespace

Result<Ending> run_command(const std::vector<std::string>& words,
                           const std::vector<std::pair<std::string, std::string>>& variables, const Meanwhile& meanwhile) {
  IEZ_ASSERT(!words.empty());
  ExecStrings arguments(words);
  ExecStrings environment = environment_with(variables);
  char* const* const argument_list = arguments.get();
  char* const* const environment_list = environment.get();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  const input::UniqueFd told(ends[0]);
  input::UniqueFd telling(ends[1]);
  const Signals signals;
  const GroupWitness group(signals.watched());
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0) {
    signals.restore();
    (void)::execvpe(argument_list[0], argument_list, environment_list);
    const int why = errno;
    (void)!::write(telling.get(), &why, sizeof why);
    ::_exit(kNotFound);
  }
  telling.reset();
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(told.get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  const int status = signals.wait_for(child, group, meanwhile);
  if (got == sizeof why) return fail_errno(why, fmt::format("cannot run '{}'", words.front()));
  return ending_of(status);
}

void end_like(const Ending& ending) {
  (void)std::fflush(nullptr);
  if (ending.signal != 0) {
    // No core of ours: that of the command is the one to look at.
    const rlimit none{};
    (void)::setrlimit(RLIMIT_CORE, &none);
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    (void)::sigaction(ending.signal, &usual, nullptr);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, ending.signal);
    (void)::sigprocmask(SIG_UNBLOCK, &one, nullptr);
    (void)::raise(ending.signal);
  }
  ::_exit(ending.code());
}

}  // namespace iez::runs
