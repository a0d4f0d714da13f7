// What the library is asked to do, read once from the environment of the process (docs/guide/preload.md lists the variables).
// The values are copied: programs may write over their environment. Without IEZ_TRACE and IEZ_PLAN nothing is read further, and
// every call is passed on.
//
// Thread safety: read_settings() in the constructor; constant afterwards.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace iez::preload {

inline constexpr std::size_t kListRoom = 4096;
inline constexpr std::size_t kMaxKept = 16;

struct Settings {
  bool trace = false;
  bool trace_calls = false;
  bool place = false;
  bool respect_directory_layout = true;
  std::uint32_t arena_bytes = 0;
  char trace_directory[PATH_MAX] = {};
  char plan_file[PATH_MAX] = {};
  char only[kListRoom] = {};    // "": everything
  char except[kListRoom] = {};  // for traces
  bool except_given = false;    // and then for placing, too

  // What a new program has to find in its environment to be served as well: "NAME=value".
  char preload[PATH_MAX + 16] = {};  // "LD_PRELOAD=/path/of/this/library"; "": not known
  std::size_t kept_count = 0;
  char* kept[kMaxKept] = {};
  char kept_texts[3 * PATH_MAX] = {};
};

extern constinit Settings settings;

void read_settings(char** environment);

// Of a "NAME=value" that begins with name and '=', the value; else null.
const char* value_of(const char* variable, const char* name);

}  // namespace iez::preload
