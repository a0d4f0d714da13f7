#include "progress.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::cli {

namespace {

// Whoever waits longer than this is told for what.
constexpr Duration kPatience = std::chrono::seconds(1);
constexpr Duration kBetween = std::chrono::milliseconds(200);

}  // namespace

Progress::Progress(const Clock& clock)
    : clock_(clock), next_(clock.monotonic() + kPatience), shown_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (dirty_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::tell(const std::string& what) {
  if (!shown_ || clock_.monotonic() < next_) return;
  next_ = clock_.monotonic() + kBetween;
  dirty_ = true;
  fmt::print(stderr, "\r\x1b[K{}", text::printable(what));
  (void)std::fflush(stderr);  // talk: what cannot be shown is not missed
}

}  // namespace iez::cli
