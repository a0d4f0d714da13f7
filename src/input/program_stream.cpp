#include "input/program_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/exec_strings.hpp"
#include "base/text.hpp"

namespace iez::input {

namespace {

constexpr std::size_t kKeptComplaint = 1024;  // bytes of what it says on its standard error
constexpr int kCannotRun = 127;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  return Pipe{.read = UniqueFd(ends[0]), .write = UniqueFd(ends[1])};
}

// In the child: async-signal-safe calls only.
[[noreturn]] void become(char* const* words, char* const* environment, int output, int complaints, int problem, pid_t parent) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotRun);  // it died before it could be told
  sigset_t none;
  ::sigemptyset(&none);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool ready = nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
                     ::dup2(complaints, STDERR_FILENO) >= 0 && ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  (void)::signal(SIGPIPE, SIG_DFL);  // it is to end when nobody reads it any more
  if (ready) (void)::execve(words[0], words, environment);
  const int why = errno;
  (void)!::write(problem, &why, sizeof why);
  ::_exit(kCannotRun);
}

class ProgramStream final : public ByteStream {
 public:
  ProgramStream(std::string name, pid_t pid, UniqueFd output, UniqueFd complaints, const ProgramLimits& limits,
                const Clock& clock)
      : name_(std::move(name)),
        pid_(pid),
        output_(std::move(output)),
        complaints_(std::move(complaints)),
        limits_(limits),
        clock_(clock),
        deadline_(clock.monotonic() + limits.within) {}

  ~ProgramStream() override {
    output_.reset();
    complaints_.reset();
    if (pid_ > 0) end();
  }
  ProgramStream(const ProgramStream&) = delete;
  ProgramStream& operator=(const ProgramStream&) = delete;
  ProgramStream(ProgramStream&&) = delete;
  ProgramStream& operator=(ProgramStream&&) = delete;

  Result<std::size_t> read(std::span<char> buffer) override {
    while (output_) {
      IEZ_CHECK(wait());
      if (!output_ready_) continue;
      const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, name_);
      if (got == 0) {
        output_.reset();
        break;
      }
      printed_ += static_cast<std::uint64_t>(got);
      if (printed_ > limits_.most.count) {
        end();
        return fail(Errc::limit, fmt::format("{} printed more than {}, and was stopped", name_, to_binary_string(limits_.most)));
      }
      return static_cast<std::size_t>(got);
    }
    IEZ_CHECK(judge());
    return 0;
  }

 private:
  // Until one of the two says something, or ends.
  Result<void> wait() {
    std::array<pollfd, 2> watched{pollfd{.fd = output_ ? output_.get() : -1, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = complaints_ ? complaints_.get() : -1, .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - clock_.monotonic()).count();
    if (left <= 0) return too_long();
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(std::min<long long>(left, 60'000)));
    if (ready < 0 && errno != EINTR) return fail_errno(errno, name_);
    output_ready_ = ready > 0 && watched[0].revents != 0;
    if (ready > 0 && watched[1].revents != 0) take_complaint();
    return {};
  }

  Result<void> too_long() {
    end();
    return fail(Errc::limit, fmt::format("{} took longer than {}, and was stopped", name_, to_string(limits_.within)));
  }

  // All of it is read, so that the program never waits; the first bytes are kept.
  void take_complaint() {
    std::array<char, 4096> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read()
    const ssize_t got = ::read(complaints_.get(), block.data(), block.size());
    if (got > 0) {
      const std::size_t room = kKeptComplaint - std::min(kKeptComplaint, complaint_.size());
      complaint_.append(block.data(), std::min(room, static_cast<std::size_t>(got)));
    } else if (got == 0 || errno != EINTR) {
      complaints_.reset();
    }
  }

  // It has closed its output: how did it end? One that stays, or whose children keep its errors open, has the time that is left.
  Result<void> judge() {
    if (pid_ <= 0) return verdict_;
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_) break;
      if (complaints_) {
        IEZ_CHECK(wait());
        continue;
      }
      if (clock_.monotonic() >= deadline_) return too_long();
      (void)::poll(nullptr, 0, 1);  // it is about to end: both of its pipes are closed
    }
    while (complaints_) {  // what it said last
      pollfd one{.fd = complaints_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&one, 1, 0) <= 0) break;
      take_complaint();
    }
    const int status = end();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    std::string_view said = text::trim(complaint_);
    said = said.substr(0, said.find('\n'));
    verdict_ = fail(Errc::unsupported, fmt::format("{} failed ({}){}{}", name_,
                                                   WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status))
                                                                     : fmt::format("signal {}", WTERMSIG(status)),
                                                   said.empty() ? "" : ": ", text::printable(said)));
    return verdict_;
  }

  // With all of its group. Until waitpid() the number, and that of the group, are its own.
  int end() {
    if (pid_ <= 0) return 0;
    int status = 0;
    siginfo_t info{};
    (void)::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    (void)::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    output_.reset();
    return status;
  }

  std::string name_;
  pid_t pid_;
  UniqueFd output_;
  UniqueFd complaints_;
  ProgramLimits limits_;
  const Clock& clock_;
  Duration deadline_;
  bool output_ready_ = false;
  std::uint64_t printed_ = 0;
  std::string complaint_;
  Result<void> verdict_;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> program_stream(const std::vector<std::string>& words, const ProgramLimits& limits,
                                                   const Clock& clock) {
  IEZ_ASSERT(!words.empty());
  ExecStrings arguments(words);
  ExecStrings environment = environment_with({});
  char* const* const argument_list = arguments.get();
  char* const* const environment_list = environment.get();
  IEZ_TRY(Pipe output, make_pipe());
  IEZ_TRY(Pipe complaints, make_pipe());
  IEZ_TRY(Pipe problem, make_pipe());
  // Whoever started this process may have left it ignored: then the program would vanish without telling how it ended.
  struct sigaction children{};
  if (::sigaction(SIGCHLD, nullptr, &children) == 0 && children.sa_handler == SIG_IGN) (void)::signal(SIGCHLD, SIG_DFL);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0)
    become(argument_list, environment_list, output.write.get(), complaints.write.get(), problem.write.get(), parent);
  (void)::setpgid(child, child);  // by whichever of the two comes first
  output.write.reset();
  complaints.write.reset();
  problem.write.reset();
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(problem.read.get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  auto stream = std::make_unique<ProgramStream>(words.front().substr(words.front().rfind('/') + 1), child, std::move(output.read),
                                                std::move(complaints.read), limits, clock);
  if (got == sizeof why) return fail_errno(why, fmt::format("cannot run '{}'", words.front()));
  return stream;
}

}  // namespace iez::input
