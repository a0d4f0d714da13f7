// Runs the command: its standard streams, its terminal and its process group are ours, and so is its end.
//
// Signals that somebody sends to this process alone are passed on, 20 ms later. Those of the terminal (Ctrl-C), and those that
// are sent to the whole group or to each process of a job, reach the command by themselves and are not doubled: a second one
// makes launchers give up their ranks at once. The command has no group of its own: it could not read from the terminal, and a
// SIGKILL to the group would leave it behind.
//
// Thread safety: none; changes the signal mask of the calling thread while the command runs.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::runs {

struct Ending {
  int status = 0;  // exit status; or
  int signal = 0;  // the signal that ended it, 0 if none did

  int code() const { return signal != 0 ? 128 + signal : status; }  // as a shell has it
};

// What is done again and again while the command runs.
struct Meanwhile {
  Duration every{};
  std::function<void()> done;
};

// Variables replace those of the same name. Fails if it cannot be started, by the errno of exec.
[[nodiscard]] Result<Ending> run_command(const std::vector<std::string>& words,
                                         const std::vector<std::pair<std::string, std::string>>& variables,
                                         const Meanwhile& meanwhile = {});

// Ends this process as the command ended: by the same status, or by the same signal.
[[noreturn]] void end_like(const Ending& ending);

}  // namespace iez::runs
