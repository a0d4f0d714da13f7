// What a tuning has found so far, in a file: JSON lines, the first says what was tuned, each other one is a run. Version 1.
//
//     {"iez_tune":1,"counts":[1,2],"sizes":[1048576],"measure":"rate","goal":"max","directory":"","command":["ior","..."]}
//     {"stripe_count":2,"stripe_size":1048576,"value":3.13e8,"unit":"bytes_per_second","reason":"","seconds":12.5}
//
// `value` is null for a run that failed. A line is written at once and synced, so that a kill loses at most the run that was on
// its way; a last line without its newline is ignored, and cut off before the next is added. Two programs cannot hold the same
// file.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "contention/tuner.hpp"
#include "tune_session.hpp"

namespace iez::cli {

struct TuneHeader {
  contention::TuneSpace space;
  std::string measure;  // "rate", "time", or the pattern
  TuneGoal goal = TuneGoal::max;
  std::string directory;
  std::vector<std::string> command;
};

// One line each, with its newline.
std::string state_line(const TuneHeader& header);
std::string state_line(const TuneRecord& record);

struct TuneHistory {
  bool begun = false;               // has its first line
  std::vector<TuneRecord> records;  // in the order of the runs
  std::size_t whole_bytes = 0;      // up to the end of the last whole line
};

// Pure. Fails if the file was made for something else, naming what differs, and for a whole line that makes no sense.
// `path` is for messages.
[[nodiscard]] Result<TuneHistory> parse_state(std::string_view text, const TuneHeader& expected, const std::string& path);

class StateFile {
 public:
  // Made if it is not there. Fails as parse_state(), and if another process holds it.
  [[nodiscard]] static Result<StateFile> open(const std::string& path, const TuneHeader& header);
  StateFile(StateFile&& other) noexcept;
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;
  StateFile& operator=(StateFile&&) = delete;
  ~StateFile();

  const std::vector<TuneRecord>& records() const { return records_; }
  [[nodiscard]] Result<void> append(const TuneRecord& record);

 private:
  StateFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  [[nodiscard]] Result<void> write_line(const std::string& line) const;

  int descriptor_ = -1;
  std::string path_;
  std::vector<TuneRecord> records_;
};

}  // namespace iez::cli
