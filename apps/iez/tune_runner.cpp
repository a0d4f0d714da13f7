#include "tune_runner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/exec_strings.hpp"

namespace iez::cli {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) (void)::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  return Pipe{.read = Descriptor(ends[0]), .write = Descriptor(ends[1])};
}

// In the child: async-signal-safe calls only.
[[noreturn]] void become(char* const* arguments, char* const* environment, int output, int problem, pid_t parent,
                         const sigset_t& signals) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it died before it could be told
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool ready = nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
                     ::dup2(output, STDERR_FILENO) >= 0 && ::sigprocmask(SIG_SETMASK, &signals, nullptr) == 0;
  if (ready) (void)::execvpe(arguments[0], arguments, environment);
  const int why = errno;
  (void)!::write(problem, &why, sizeof why);
  ::_exit(127);
}

int milliseconds_until(Duration deadline, Duration now) {
  if (deadline <= now) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(std::min<long long>(left, 60'000));
}

}  // namespace

struct CommandRunner::Child {
  pid_t pid = -1;
  Descriptor output;
  Duration began{0};
  std::string text;

  // False at the end of what it says.
  bool read_some() {
    std::array<char, 65536> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read()
    const ssize_t got = ::read(output.get(), block.data(), block.size());
    if (got > 0) {
      text.append(block.data(), static_cast<std::size_t>(got));
      if (text.size() > 2 * kKeptOutput) text.erase(0, text.size() - kKeptOutput);
      return true;
    }
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
    output.close();
    return false;
  }

  void drain() {
    while (output.open() && read_some()) {
    }
  }

  void tell(int signal) const { (void)::kill(-pid, signal); }  // all of it; gone already: as wanted

  // Without taking the zombie away: its number, and that of its group, stay its own.
  bool ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
  }
};

std::string to_string(const RunOutcome& outcome) {
  switch (outcome.ending) {
    case RunEnding::exited:
      return fmt::format("exit status {}", outcome.status);
    case RunEnding::signalled:
      return fmt::format("killed by signal {}", outcome.status);
    case RunEnding::timed_out:
      return fmt::format("timed out after {}", iez::to_string(outcome.elapsed));
    case RunEnding::interrupted:
      return "interrupted";
  }
  return "";
}

Result<CommandRunner> CommandRunner::make(Clock& clock) {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&watched, signal);
  // An ignored SIGCHLD would be inherited, and ended children would vanish unseen.
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  if (::sigaction(SIGCHLD, &usual, nullptr) != 0) return fail_errno(errno, "sigaction");
  sigset_t before;
  if (::sigprocmask(SIG_BLOCK, &watched, &before) != 0) return fail_errno(errno, "sigprocmask");
  const int descriptor = ::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor < 0) {
    const int why = errno;
    (void)::sigprocmask(SIG_SETMASK, &before, nullptr);
    return fail_errno(why, "signalfd");
  }
  return CommandRunner(clock, descriptor, before);
}

CommandRunner::CommandRunner(CommandRunner&& other) noexcept
    : clock_(other.clock_),
      signals_(std::exchange(other.signals_, -1)),
      before_(other.before_),
      interrupted_(other.interrupted_) {}

CommandRunner::~CommandRunner() {
  if (signals_ < 0) return;
  // One that was seen, but too late to act on, must not end the program while it prints.
  (void)take_signals();
  (void)::close(signals_);
  (void)::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

unsigned CommandRunner::take_signals() {
  unsigned asked = 0;
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) ++asked;
  }
  interrupted_ = interrupted_ || asked > 0;
  return asked;
}

bool CommandRunner::interrupted() {
  (void)take_signals();
  return interrupted_;
}

Result<CommandRunner::Child> CommandRunner::start(const RunRequest& request) const {
  IEZ_ASSERT(!request.arguments.empty());
  IEZ_TRY(Pipe output, make_pipe());
  IEZ_TRY(Pipe problem, make_pipe());
  ExecStrings arguments(request.arguments);
  ExecStrings environment = environment_with(request.environment);
  char* const* const argument_list = arguments.get();
  char* const* const environment_list = environment.get();
  const pid_t parent = ::getpid();
  Child child;
  child.began = clock_.monotonic();
  child.pid = ::fork();
  if (child.pid < 0) return fail_errno(errno, "fork");
  if (child.pid == 0) become(argument_list, environment_list, output.write.get(), problem.write.get(), parent, before_);
  (void)::setpgid(child.pid, child.pid);  // here too: it may not have come to it before we signal the group
  output.write.close();
  problem.write.close();
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(problem.read.get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof why) {
    (void)::waitpid(child.pid, nullptr, 0);
    return fail_errno(why, fmt::format("cannot run '{}'", request.arguments.front()));
  }
  if (::fcntl(output.read.get(), F_SETFL, O_NONBLOCK) != 0) {
    const int problem_number = errno;
    child.tell(SIGKILL);
    (void)::waitpid(child.pid, nullptr, 0);
    return fail_errno(problem_number, "fcntl");
  }
  child.output = std::move(output.read);
  return child;
}

Result<RunOutcome> CommandRunner::watch(Child& child, const RunRequest& request) {
  RunOutcome outcome;
  constexpr Duration kNever = Duration::max();
  Duration deadline = kNever;  // of what is to happen next: the time limit, or the end of the grace
  if (request.timeout && *request.timeout < kNever - child.began) deadline = child.began + *request.timeout;
  bool stopping = false;
  const auto stop = [&](RunEnding why) {
    outcome.ending = why;
    stopping = true;
    child.tell(SIGTERM);
    deadline = clock_.monotonic() + kGrace;
  };
  while (!child.ended()) {
    std::array<pollfd, 2> waiting{{{.fd = signals_, .events = POLLIN}, {.fd = child.output.get(), .events = POLLIN}}};
    if (::poll(waiting.data(), waiting.size(), milliseconds_until(deadline, clock_.monotonic())) < 0 && errno != EINTR) {
      const int why = errno;
      child.tell(SIGKILL);
      (void)::waitpid(child.pid, nullptr, 0);
      return fail_errno(why, "poll");
    }
    if (child.output.open() && waiting[1].revents != 0) (void)child.read_some();
    if (take_signals() > 0) {
      if (stopping) {
        child.tell(SIGKILL);  // asked twice
      } else {
        stop(RunEnding::interrupted);
      }
    }
    if (clock_.monotonic() >= deadline && !child.ended()) {
      if (stopping) {
        child.tell(SIGKILL);
        deadline = kNever;
      } else {
        stop(RunEnding::timed_out);
      }
    }
  }
  outcome.elapsed = clock_.monotonic() - child.began;
  if (stopping) child.tell(SIGKILL);  // what it left behind
  int status = 0;
  if (::waitpid(child.pid, &status, 0) != child.pid) return fail_errno(errno, "waitpid");
  child.drain();
  if (!stopping && WIFSIGNALED(status)) outcome.ending = RunEnding::signalled;
  outcome.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  if (child.text.size() > kKeptOutput) child.text.erase(0, child.text.size() - kKeptOutput);
  outcome.output = std::move(child.text);
  return outcome;
}

Result<RunOutcome> CommandRunner::run(const RunRequest& request) {
  IEZ_TRY(Child child, start(request));
  return watch(child, request);
}

std::optional<std::string> find_program(const std::string& name) {
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (::access(path.c_str(), X_OK) == 0) return path;
    if (colon == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace iez::cli
