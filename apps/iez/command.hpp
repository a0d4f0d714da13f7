// What every command of `iez` shares: its surroundings, and the conventions of output.
//
// stdout is data, stderr is talk. A command returns an Error for exit status 1; wrong usage (2) is caught before it runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "lustre/param_source.hpp"

namespace iez::cli {

struct Terminal {
  bool interactive = false;  // stdout is one
  bool colour = false;
  bool utf8 = false;
  unsigned rows = 24;
  unsigned columns = 0;  // 0: none, lines are as long as they need be
};

Terminal detect_terminal();

struct Context {
  Clock& clock;
  Logger& log;
  Terminal terminal;
};

// Shared by the commands that read parameters.
struct SourceOptions {
  std::vector<std::string> roots;  // empty: this node
  std::string file_system;
};

[[nodiscard]] Result<std::vector<std::unique_ptr<lustre::ParamSource>>> open_sources(const std::vector<std::string>& roots);

// Fails if a source cannot change: there is nothing to watch.
[[nodiscard]] Result<void> require_moving(const std::vector<std::unique_ptr<lustre::ParamSource>>& sources);

// Repeats a picture.
struct WatchOptions {
  bool watch = false;
  Duration interval{0};
  unsigned long long count = 0;  // pictures to show; 0: until stopped
};

// The time to put on a picture: only a watched one has a time of its own.
std::optional<WallTime> picture_time(const WatchOptions& options, const Context& context);

// Writes text to stdout; a full disk or a closed pipe is an error, and never silent.
[[nodiscard]] Result<void> print(std::string_view text);

// What could not be used, on stderr, once each.
void report_problems(const input::ParseReport& report, Context& context);

// Starts a picture anew on a terminal; nothing elsewhere.
[[nodiscard]] Result<void> clear_screen(const Terminal& terminal);

}  // namespace iez::cli
