// Traces of Recorder (uiuc-hpc), as `recorder2text` prints them: a folder of one file a rank, one line a call.
//
//     0.000214 0.000236 open 0 0 ( /scratch/run/ckpt.0 66 420 )                    2.3 and later, also called 3.x
//     0.000240 0.004112 write 0 0 ( /scratch/run/ckpt.0 0x55d0c8e0 1048576 )
//
//     0.000214 0.000236 17 open ( /scratch/run/ckpt.0 66 420 )                     2.1 and 2.2
//     0.000240 0.004112 0 write ( 17 0x55d0c8e0 1048576 )
//
// A line is start, end, function, call depth, layer and arguments, with file names for descriptors; older ones are start, end,
// result, function and arguments, with descriptors as numbers, and have a result only for calls that open something. Which of the
// two it is, each line tells. Followed are tools/recorder2text.c and lib/recorder-posix.c of versions 2.1.2 to 2.4.0.
//
// What becomes of it:
// - Bytes are those the calls asked for: Recorder keeps no result of reads and writes. A read at the end of a file got less.
// - POSIX and stdio calls count. Calls of MPI-IO, HDF5 and other layers are counted apart and otherwise left out: what they did
//   to a file is seen in the calls below them.
// - Offsets follow from open, lseek and fseek, for each descriptor; where lines have names, for each file. Behind SEEK_END and
//   O_APPEND an offset is not known: such writes count, but not towards the end of the file.
// - Each open counts as one, and as a creation too if it asked for one (creat, O_CREAT, fopen with "w" or "a"). Numbers of flags
//   are those of Linux.
// - A name may hold spaces, as long as the rest of its line is whole.
// - A rename gives the file its last name; a file made later under the old name has a row of its own.
// - Calls on numbers of which no open is known (standard streams, sockets) are left out, and counted; likewise names that are no
//   absolute path.
// - Times are seconds since the start of the run; the text does not say when that was. The caller may.
//
// Lines that do not follow the format are skipped and counted in the report. A text in which no line does is an error; an empty
// one is not: that rank did nothing.
//
// Thread safety: one RecorderCollector belongs to one thread. Memory: of the order of the number of files of all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "trace/traced_file.hpp"

namespace iez::trace {

struct RecorderTrace {
  RunInfo run;
  std::vector<TracedFile> files;  // in the order of name, then of last name

  std::uint64_t calls = 0;          // used
  std::uint64_t other_calls = 0;    // of functions that tell nothing of bytes or names, and of other layers
  std::uint64_t unknown_files = 0;  // calls on files whose open was not seen, or without a usable name
};

struct RecorderOptions {
  std::optional<std::int64_t> start_ns;  // of the run, nanoseconds since 1970
};

class RecorderCollector {
 public:
  explicit RecorderCollector(const RecorderOptions& options = {}) : options_(options) {}

  // The text of one rank; origin is for messages only. REQUIRES: rank >= 0, each once.
  [[nodiscard]] Result<void> add(input::ByteStream& stream, std::int32_t rank, std::string_view origin,
                                 input::ParseReport& report);

  // All ranks together. The collector is empty then.
  RecorderTrace finish();

 private:
  // The files that were opened under one name.
  struct SameName {
    std::map<std::string, TracedFile> by_last;  // by the name they have at the end, if another
    bool reused = false;                        // one rank has several of them

    // Ranks that did not see a rename have the file under its first name.
    void spread_rename();
  };

  void merge(std::span<const TracedFile> files);

  RecorderOptions options_;
  RecorderTrace trace_;
  std::map<std::string, SameName> files_;  // over all ranks so far
  std::int32_t highest_rank_ = kNoRank;
};

// The rank that a file of the folder is of: 12 for "00012.txt"; nothing for other names.
std::optional<std::int32_t> recorder_rank(std::string_view file_name);

}  // namespace iez::trace
