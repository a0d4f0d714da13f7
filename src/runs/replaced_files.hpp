// Files that the coming run would write over in place, moved aside before it so that new ones are created - and placed.
//
// For `iez run --replace`. Only those are moved for which a new one stands in fully: regular files of this user with one name,
// which he may write, with the mode and group that a new file gets by the umask, and without an ACL or attributes of their own.
// So nothing that was private or protected is replaced by something that is not.
//
// Each file is renamed within its directory, to ".NAME.iez-aside-ID". After a good run the old file is
// removed where a new one was made; in every other case it is put back, unless there is a new one by then: then both stay, and a
// note tells. What was moved is written down first, in a journal in the state folder, so that what a killed run left is put back
// by the next one, as soon as that run is known to be over (live_file.hpp).
//
// Thread safety: none. Several processes may use one state folder.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "runs/live_file.hpp"

namespace iez::runs {

// One that is there and is not moved.
struct LeftFile {
  std::string name;
  std::string why;
};

struct MovableFiles {
  std::vector<std::string> names;
  std::vector<LeftFile> left;
};

// Which of the names can be moved aside; those that are not there are in neither list. Reads the umask.
MovableFiles movable_files(std::span<const std::string> names);

class ReplacedFiles {
 public:
  // folder: for journals, made if it is not there. names: absolute; those that are not movable are left alone.
  [[nodiscard]] static Result<ReplacedFiles> move_aside(const std::string& folder, const std::string& id,
                                                        std::span<const std::string> names);
  ~ReplacedFiles();
  ReplacedFiles(ReplacedFiles&& other) noexcept;
  ReplacedFiles& operator=(ReplacedFiles&&) = delete;
  ReplacedFiles(const ReplacedFiles&) = delete;
  ReplacedFiles& operator=(const ReplacedFiles&) = delete;

  std::size_t count() const { return moved_.size(); }
  std::vector<std::string> names() const;
  const std::vector<LeftFile>& left() const { return left_; }

  void beat() const { live_.beat(); }  // once in kHeartbeat

  // Once, when the run is over. Gives notes: what could not be put back, and where it is.
  std::vector<std::string> finish(bool good);

 private:
  ReplacedFiles() = default;

  std::string journal_;
  LiveFile live_;                                           // the journal
  std::vector<std::pair<std::string, std::string>> moved_;  // name, name aside
  std::vector<LeftFile> left_;
};

// Puts back what killed runs left. Gives notes.
std::vector<std::string> put_back_leftovers(const std::string& folder, WallTime now);

}  // namespace iez::runs
