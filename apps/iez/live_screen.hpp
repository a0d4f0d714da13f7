// The screen of a command that shows one picture after the other (--watch): a line on top, and keys.
//
// On a terminal keys are heard one by one, without an echo, from the constructor to the destructor; whatever ends the program
// before, or stops it for a while, gives the terminal back as it was. Elsewhere there are neither keys nor a line on top, and
// nothing is cleared.
//
// Thread safety: none; one at a time.
#pragma once

#include <functional>
#include <string_view>

#include "command.hpp"

namespace iez::cli {

class LiveScreen {
 public:
  LiveScreen(const WatchOptions& watch, bool json, Context& context);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  LiveScreen(LiveScreen&&) = delete;
  LiveScreen& operator=(LiveScreen&&) = delete;

  // Before a picture: an empty screen, and "iez NAME  every 2 s  14:03:22  NOTE  q: quit". Nothing for a command that does not
  // watch.
  [[nodiscard]] Result<void> begin(std::string_view name, std::string_view note = {});

  // Until the next picture; false: somebody wants no more. sorted: what the key 's' does, which may show the picture again.
  [[nodiscard]] Result<bool> wait(Duration duration, const std::function<Result<void>()>& sorted = {});

 private:
  const WatchOptions& watch_;
  Context& context_;
  bool screen_ = false;
  bool keys_ = false;
};

}  // namespace iez::cli
