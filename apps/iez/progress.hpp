// One line on stderr that is written over and over, when that is a terminal and the work takes long.
//
// Thread safety: none.
#pragma once

#include <string>

#include "base/clock.hpp"

namespace iez::cli {

class Progress {
 public:
  // The clock outlives it.
  explicit Progress(const Clock& clock);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // wipes the line

  // At most five times a second is anything written, and nothing in the first second. Text from outside is made safe to show.
  void tell(const std::string& what);

 private:
  const Clock& clock_;
  Duration next_;
  bool shown_;
  bool dirty_ = false;
};

}  // namespace iez::cli
