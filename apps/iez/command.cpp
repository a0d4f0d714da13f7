#include "command.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/settings.hpp"

namespace iez::cli {

namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

bool utf8_locale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return value.ends_with("UTF-8") || value.ends_with("utf8") || value.ends_with("UTF8");
  }
  return false;
}

}  // namespace

Terminal detect_terminal() {
  Terminal terminal{.interactive = ::isatty(STDOUT_FILENO) == 1, .utf8 = utf8_locale()};
  terminal.colour = terminal.interactive && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  winsize size{};
  if (terminal.interactive && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) {
    terminal.rows = size.ws_row;
    terminal.columns = size.ws_col;
  }
  return terminal;
}

Result<std::vector<std::unique_ptr<lustre::ParamSource>>> open_sources(const std::vector<std::string>& roots) {
  std::vector<std::unique_ptr<lustre::ParamSource>> sources;
  std::vector<std::string> asked = roots;
  // As `iez lab exec` sets it.
  if (asked.empty()) asked = config::split_paths(environment("IEZ_ROOT"));
  for (const std::string& root : asked.empty() ? std::vector<std::string>{"/"} : asked) {
    IEZ_TRY(auto source, lustre::open_source(root));
    sources.push_back(std::move(source));
  }
  return sources;
}

Result<void> require_moving(const std::vector<std::unique_ptr<lustre::ParamSource>>& sources) {
  for (const auto& source : sources) {
    if (source->still()) {
      return fail(
          Errc::invalid_argument,
          fmt::format(
              "{}: the text of 'lctl get_param' stands still; to compare two of them, give the earlier to 'iez top --since'",
              source->name()));
    }
  }
  return {};
}

std::optional<WallTime> picture_time(const WatchOptions& options, const Context& context) {
  return options.watch ? std::optional(context.clock.wall()) : std::nullopt;
}

Result<void> print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail_errno(errno, "standard output");
  }
  return {};
}

void report_problems(const input::ParseReport& report, Context& context) {
  for (const auto& problem : report.problems) context.log.warning(input::to_string(problem));
  if (report.skipped > report.problems.size()) {
    context.log.warning(fmt::format("{} more rows were skipped", report.skipped - report.problems.size()));
  }
}

Result<void> clear_screen(const Terminal& terminal) {
  if (!terminal.interactive) return {};
  return print("\x1b[H\x1b[2J");
}

}  // namespace iez::cli
