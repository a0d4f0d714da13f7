// The variables that put libiez.so into a command and tell it what to do.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iez::runs {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct RunEnvironment {
  std::vector<std::string> libraries;  // whole paths, without ':' or blanks
  std::string trace_folder;            // empty: no trace
  std::string plan;                    // empty: no placing
  std::vector<std::string> folders;    // only files below these
  std::size_t osts = 0;                // of the file system they are on; 0: not known, or several
};

// `present` gives the value of a variable of the command's environment. What is there of LD_PRELOAD stays behind ours; a value
// of IEZ_ONLY that the user has set stays. Who lets iez_mode=choose between one file and logs is told the number of OSTs.
Variables variables_for(const RunEnvironment& run, const std::function<std::optional<std::string>(std::string_view)>& present);

// Which MPI goes with a launcher, by the last part of its path with links followed: "openmpi", "mpich", or nothing.
std::string_view mpi_of_launcher(std::string_view resolved_name);

}  // namespace iez::runs
