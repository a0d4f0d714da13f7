// Runs the command: its standard streams, its terminal and its process group are ours, and so is its end.
//
// Signals that somebody sends to this process alone are passed on. Those of the terminal (Ctrl-C) reach the command by
// themselves, since it is in the same group, and are not doubled: a second one makes launchers give up their ranks at once.
//
// Thread safety: none; changes the signal mask of the calling thread while the command runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace iez::runs {

struct Ending {
  int status = 0;  // exit status; or
  int signal = 0;  // the signal that ended it, 0 if none did

  int code() const { return signal != 0 ? 128 + signal : status; }  // as a shell has it
};

// Variables replace those of the same name. Fails if it cannot be started, by the errno of exec.
[[nodiscard]] Result<Ending> run_command(const std::vector<std::string>& words,
                                         const std::vector<std::pair<std::string, std::string>>& variables);

// Ends this process as the command ended: by the same status, or by the same signal.
[[noreturn]] void end_like(const Ending& ending);

}  // namespace iez::runs
