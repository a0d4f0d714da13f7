#include "live_screen.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace iez::cli {

namespace {

constexpr std::array kEnds{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

// What signal handlers need. Keys are heard by one screen at a time.
termios usual_terminal{};
termios live_terminal{};
std::atomic<bool> is_live{false};

// Async-signal-safe.
void give_back() { static_cast<void>(::tcsetattr(STDIN_FILENO, TCSANOW, &usual_terminal)); }

void hear_keys() {
  is_live = true;
  static_cast<void>(::tcsetattr(STDIN_FILENO, TCSANOW, &live_terminal));
}

// The signal does then what it does without us: it was reset when it came.
void on_end(int signal) {
  const int keep = errno;
  if (is_live) give_back();
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  static_cast<void>(::raise(signal));
  static_cast<void>(::pthread_sigmask(SIG_UNBLOCK, &one, nullptr));  // here it ends, or stops until it goes on
  struct sigaction again{};
  again.sa_handler = on_end;
  again.sa_flags = static_cast<int>(SA_RESETHAND);
  static_cast<void>(::sigaction(signal, &again, nullptr));
  if (is_live) static_cast<void>(::tcsetattr(STDIN_FILENO, TCSANOW, &live_terminal));
  errno = keep;
}

void set_handlers(bool ours) {
  struct sigaction action{};
  action.sa_handler = ours ? on_end : SIG_DFL;
  action.sa_flags = ours ? static_cast<int>(SA_RESETHAND) : 0;
  for (const int signal : kEnds) {
    struct sigaction before{};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;  // as under nohup
    static_cast<void>(::sigaction(signal, &action, nullptr));
  }
}

}  // namespace

LiveScreen::LiveScreen(const WatchOptions& watch, bool json, Context& context)
    : watch_(watch), context_(context), screen_(watch.watch && !json && context.terminal.interactive) {
  if (!screen_ || ::isatty(STDIN_FILENO) != 1 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  if (::tcgetattr(STDIN_FILENO, &usual_terminal) != 0) return;
  live_terminal = usual_terminal;
  live_terminal.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  live_terminal.c_cc[VMIN] = 0;
  live_terminal.c_cc[VTIME] = 0;
  keys_ = true;
  set_handlers(true);
  hear_keys();
}

LiveScreen::~LiveScreen() {
  if (!keys_) return;
  is_live = false;
  give_back();
  set_handlers(false);
}

Result<void> LiveScreen::begin(std::string_view name, std::string_view note) {
  if (!screen_) return {};
  IEZ_CHECK(clear_screen(context_.terminal));
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(context_.clock.wall()));
  std::tm local{};
  static_cast<void>(::localtime_r(&now, &local));
  // What is worth least comes first here: it leaves where the terminal is too narrow for all.
  struct Part {
    std::string text;
    bool shown = true;
  };
  std::array parts{Part{fmt::format("  every {}", to_string(watch_.interval))}, Part{fmt::format("  {:%H:%M:%S}", local)},
                   Part{note.empty() ? "" : fmt::format("  {}", note)}, Part{keys_ ? "  q: quit" : ""}};
  std::string line;
  for (auto leaving = parts.begin();; ++leaving) {
    line = fmt::format("iez {}", name);
    for (const Part& part : parts) line += part.shown ? part.text : "";
    if (context_.terminal.columns == 0 || line.size() <= context_.terminal.columns || leaving == parts.end()) break;
    leaving->shown = false;
  }
  return print(line + '\n');
}

Result<bool> LiveScreen::wait(Duration duration, const std::function<Result<void>()>& sorted) {
  if (!keys_) {
    context_.clock.sleep(duration);
    return true;
  }
  const Duration end = context_.clock.monotonic() + duration;
  for (Duration left = duration; left > Duration::zero(); left = end - context_.clock.monotonic()) {
    constexpr std::int64_t kMillisecond = 1'000'000;
    constexpr std::int64_t kLongest = 60'000;
    pollfd waiting{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int got = ::poll(&waiting, 1, static_cast<int>(std::min(left.count() / kMillisecond + 1, kLongest)));
    if (got <= 0) continue;
    char key = 0;
    const ssize_t read = ::read(STDIN_FILENO, &key, 1);
    if (read == 0 || (waiting.revents & (POLLHUP | POLLERR)) != 0) return false;  // the terminal is gone
    if (key == 'q' || key == 'Q') return false;
    if (key == 's' && sorted) IEZ_CHECK(sorted());
  }
  return true;
}

}  // namespace iez::cli
