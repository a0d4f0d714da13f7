// Brings a log into its file, in ascending order of the file and in large writes. Many processes can share the work.
//
//   1. One process: survey_log() (log_survey.hpp), then prepare_file(). The survey goes to all; nobody goes on before this is
//   done.
//   2. Each of `parts` processes or threads: flatten_part(). They may be any number; each reads all indexes, so not too many.
//   3. When all have ended without a problem, one process: finish_flatten(). The log is gone.
//
// Whatever is killed at whatever time: done again from 1, the bytes are the same. The log goes only when the file is on the disk,
// all at once, by a new name. What the log does not cover stays as it was; small gaps between writes are read and written again,
// so nobody else may write FILE meanwhile. A log that is damaged is left alone, unless told otherwise.
//
// Memory of a part: two windows, an eighth of one, 4 MiB, and `memory` for records at most.
//
// Thread safety: several parts at once are safe, with one descriptor of FILE or several. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rank_log/log_survey.hpp"
#include "rank_log/problem.hpp"

namespace iez::rank_log {

struct FlattenOptions {
  std::size_t window = std::size_t{8} << 20U;         // of FILE at a time: the largest write. At least 4096
  std::size_t memory = std::size_t{256} << 20U;       // for records
  std::uint64_t alignment = std::uint64_t{1} << 20U;  // where parts meet: the stripe size, say. At least 1
  bool skip_damaged = false;                          // bring what is whole of a damaged log
  // Told now and then how many bytes of logs were read; false stops: ECANCELED.
  bool (*progress)(void* context, std::uint64_t bytes) = nullptr;
  void* context = nullptr;
};

struct FlattenedPart {
  std::uint64_t read = 0;     // bytes of logs
  std::uint64_t written = 0;  // bytes of FILE, gaps included
  std::uint64_t writes = 0;   // calls
  std::uint64_t filled = 0;   // bytes of gaps
};

// Cuts off what new sizes took away, and makes FILE as long as it will be. EBADMSG: the log is damaged.
[[nodiscard]] Problem prepare_file(const LogSurvey& survey, int file, const FlattenOptions& options);

// `file`: FILE, open for reading and writing. On the disk when this returns. REQUIRES: part < parts.
[[nodiscard]] Problem flatten_part(int folder, const LogSurvey& survey, int file, std::uint32_t part, std::uint32_t parts,
                                   const FlattenOptions& options, FlattenedPart& done);

// Syncs FILE, renames the folder, removes it. A damaged log is only renamed, to FOLDER.damaged. A problem of Action::remove:
// FILE has all, and the log is out of the way, but something of it is left under that name.
[[nodiscard]] Problem finish_flatten(const char* folder, const LogSurvey& survey, int file);

// Removes a log without a look: when FILE is deleted, or was made empty by its program.
[[nodiscard]] Problem discard_log(const char* folder);

}  // namespace iez::rank_log
