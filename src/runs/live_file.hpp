// A file that a run holds as long as it lives, so that others can tell what a killed run left from what is in use.
//
// A lock alone does not tell: where locks are local to a node or to a mount (Lustre's localflock, NFS, the mounts of a lab),
// everybody gets them. So the first line of the file says who holds it, and its time is set anew while the run lives. The run is
// over if nobody holds the lock and
//   where it was a process of this node (the same boot, the same process ids): that process is gone;
//   elsewhere, or where nobody can tell: the file is older than kSilence. A run that is suspended does not beat; what nobody has
//   touched for so long is taken for dead all the same.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::runs {

inline constexpr Duration kHeartbeat{60LL * 1'000'000'000};
inline constexpr Duration kSilence{7LL * 24 * 3600 * 1'000'000'000};

class LiveFile {
 public:
  LiveFile() = default;  // of no file

  // Fails if there is one. The content is on the disk when it returns.
  [[nodiscard]] static Result<LiveFile> make(const std::string& path, std::string_view content);

  // Once in kHeartbeat.
  void beat() const;

 private:
  input::UniqueFd fd_;
};

// This process, as the end of a file name that is there before anything can be written: ".NODE.PROCESS.START".
std::string maker_suffix();
// Whether the name ends so, and that process was one of this node and is gone.
bool is_of_gone_maker(std::string_view name);

struct AbandonedFile {
  input::UniqueFd lock;  // on it: nobody else takes it, too
  std::string content;
};

// Nothing: its run lives or may do so, or it cannot be read.
std::optional<AbandonedFile> take_abandoned(const std::string& path, WallTime now);

}  // namespace iez::runs
