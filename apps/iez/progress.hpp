// One line on stderr that is written over and over, when that is a terminal and the work takes long.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "input/byte_stream.hpp"

namespace iez::cli {

class Progress {
 public:
  // Rows of a command and what is told here may go to the same terminal: the one would be written into the other.
  enum class Rows { elsewhere, to_terminal };

  // The clock outlives it. Beside rows that go to the terminal nothing is told.
  explicit Progress(const Clock& clock, Rows rows = Rows::elsewhere);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { wipe(); }

  // Before anything else is written where it may stand on the same line.
  void wipe();

  // What does not fit into a line of the terminal is cut. At most five times a second is anything written, and nothing in the
  // first second. Text from outside is made safe to show.
  void tell(const std::string& what);

 private:
  const Clock& clock_;
  Duration next_;
  bool shown_;
  bool dirty_ = false;
};

// A whole file, as input::file_stream() gives it; how much has been read is told meanwhile: "rows.csv: 12.0 MB of 40.0 MB read".
// The progress outlives it.
std::unique_ptr<input::ByteStream> watched_file(input::UniqueFd fd, std::string name, Progress& progress);

}  // namespace iez::cli
