// Programs that are started at once, and what each of them printed.
//
// They get the environment of this process without its IEZ_ variables, so that nothing but what is given tells iez what to do;
// only IEZ_LIBDIR, where its libraries are, stays. A program ends when this process does.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace iez::bench {

struct Program {
  std::vector<std::string> words;
  std::string folder;  // to run in; empty: this one
  std::vector<std::pair<std::string, std::string>> environment;
};

struct Finished {
  int status = 0;      // 128 and the number of the signal that ended it, as a shell tells it
  std::string output;  // what it wrote to standard output
  std::string talk;    // and to standard error
  double seconds = 0;  // from the start of all to its end
};

// Returns when all have ended, in the order in which they were given. Fails (limit) if that takes longer; all of them and what
// they started in their process groups are killed then.
[[nodiscard]] Result<std::vector<Finished>> run_programs(const std::vector<Program>& programs, std::chrono::seconds limit);

// The last line of a text that says something, for messages.
std::string last_line(const std::string& text);

}  // namespace iez::bench
