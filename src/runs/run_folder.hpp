// The folder of one run: its trace segments and its plan, gone when the run is over.
//
// STATE/runs/ID, with a live file in it as long as the object lives (live_file.hpp). Folders that runs left when they were
// killed, on this node, or on another one long ago, are removed by the next one. Their segments are not used: whether the command
// was at its end is not known.
//
// Thread safety: none. Several processes may use one state folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "runs/live_file.hpp"

namespace iez::runs {

// Makes the folder and those above it, for the user alone.
[[nodiscard]] Result<void> make_private_folder(const std::string& path);

// Waits for a lock on the file, which is made; held as long as the descriptor is open.
[[nodiscard]] Result<input::UniqueFd> lock_file(const std::string& path);
// Likewise, for as long as the patience lasts; nothing: somebody else holds it still.
[[nodiscard]] Result<std::optional<input::UniqueFd>> lock_file_within(const std::string& path, Duration patience, Clock& clock);

class RunFolder {
 public:
  // parent: STATE/runs, or the folder that the user names. id: a name of letters, digits and '-'.
  [[nodiscard]] static Result<RunFolder> make(const std::string& parent, const std::string& id, WallTime now);
  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string trace_folder() const { return path_ + "/trace"; }
  std::string plan_path() const { return path_ + "/plan.iezplan"; }
  std::size_t leftovers() const { return leftovers_; }  // removed when it was made
  void beat() const { live_.beat(); }                   // once in kHeartbeat

 private:
  RunFolder() = default;
  std::string path_;  // empty: moved from
  LiveFile live_;
  std::size_t leftovers_ = 0;
};

}  // namespace iez::runs
