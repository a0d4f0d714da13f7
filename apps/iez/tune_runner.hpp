// Runs a command and keeps the end of what it says, for `iez tune`.
//
// The command gets a process group of its own, so that all of it can be ended: SIGTERM first, SIGKILL after kGrace. It is told to
// end, too, when this program dies. Its standard input is empty; standard output and error are caught together.
//
// While a CommandRunner exists, SIGINT, SIGTERM, SIGHUP and SIGCHLD of this thread are held back and looked at by run() and
// interrupted() alone. Thread safety: none; for the main thread of a program without others.
#pragma once

#include <signal.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace iez::cli {

struct RunRequest {
  std::vector<std::string> arguments;                            // the program first, found by PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::optional<Duration> timeout;
};

enum class RunEnding { exited, signalled, timed_out, interrupted };

struct RunOutcome {
  RunEnding ending = RunEnding::exited;
  int status = 0;      // exit status, or the signal's number
  std::string output;  // at most CommandRunner::kKeptOutput bytes, the last ones
  Duration elapsed{0};

  bool ok() const { return ending == RunEnding::exited && status == 0; }
};

// "exit status 3", "killed by signal 9", "timed out after 10 s".
std::string to_string(const RunOutcome& outcome);

class CommandRunner {
 public:
  static constexpr std::size_t kKeptOutput = std::size_t{1} << 20U;
  static constexpr Duration kGrace = std::chrono::seconds(5);  // between SIGTERM and SIGKILL

  [[nodiscard]] static Result<CommandRunner> make(Clock& clock);
  CommandRunner(CommandRunner&& other) noexcept;
  CommandRunner(const CommandRunner&) = delete;
  CommandRunner& operator=(const CommandRunner&) = delete;
  CommandRunner& operator=(CommandRunner&&) = delete;
  ~CommandRunner();

  // Fails if the program cannot be started; how it ends is part of the value.
  // REQUIRES: a program in request.arguments.
  [[nodiscard]] Result<RunOutcome> run(const RunRequest& request);

  // Somebody asked this program to end, now or earlier.
  bool interrupted();

 private:
  struct Child;

  CommandRunner(Clock& clock, int signals, const sigset_t& before) : clock_(clock), signals_(signals), before_(before) {}

  [[nodiscard]] Result<Child> start(const RunRequest& request) const;
  [[nodiscard]] Result<RunOutcome> watch(Child& child, const RunRequest& request);
  unsigned take_signals();  // how many asked us to end

  Clock& clock_;
  int signals_ = -1;  // a signalfd
  sigset_t before_;   // the mask to give back
  bool interrupted_ = false;
};

// The path of a program, by PATH; nothing if there is none.
std::optional<std::string> find_program(const std::string& name);

}  // namespace iez::cli
