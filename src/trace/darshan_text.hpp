// Traces of Darshan, as `darshan-parser LOG` prints them (with or without --all): one line a counter.
//
//     # darshan log version: 3.41
//     # exe: /home/user/ior -a MPIIO
//     # nprocs: 64
//     #<module> <rank> <record id> <counter> <value> <file name> <mount pt> <fs type>      (with tabs between)
//     POSIX  -1  9457796068806373448  POSIX_BYTES_WRITTEN  65536  /scratch/run/out  /scratch  lustre
//
// Versions: 3.00 to 3.5, of which 3.0 counts stdio calls in its POSIX module, and those from 3.4.5 on print the components of
// Lustre layouts; and 2.x, whose lines have no module (counters CP_*) and no whole path: only its last 15 bytes are known, so
// that a longer name is given as printed, "...un/ckpt.00001", and two files may have the same.
//
// What becomes of it:
// - One row a file. POSIX is what reached the file system; stdio calls are not seen by that module, so STDIO is added to it. What
//   MPI-IO did is taken only for a file of which neither saw anything, and HDF5's opens only where MPI-IO saw nothing either:
//   layers are never counted twice. Bytes of HDF5 datasets (H5D), PnetCDF, heatmaps, DAOS and other modules are left out.
// - A counter of -1 was not monitored, and is taken as not known.
// - Sequential calls are the *_CONSEC_* counters. The largest call is known only where a record shows it: all calls are of one
//   kind and their sizes are all among the four listed, or there was but one call. Otherwise 0.
// - POSIX_OPENS includes fileno() and dup(), STDIO_OPENS includes fdopen(): these are taken off. Creations are not known.
// - Rank -1 stands for all ranks of the program. The records of several single ranks of one file are put together.
// - The stripes are those of the component with most of them.
// - A file that was renamed has its last name where the log tells (3.2 on). If the new name was only read, that belongs to the
//   row of the old name.
// - Times are of the first and the last operation; Darshan prints them as seconds since the start of the job.
// - Standard streams, names that are no absolute path, files of logs made anonymous, and files that were neither opened, read nor
//   written are left out, and counted.
//
// Lines that do not follow the format are skipped and counted in the report; so is a module that ran out of memory ("contains
// incomplete data"), since files are missing then. Text without a single counter and without Darshan's header is an error.
//
// Thread safety: pure functions. Memory: of the order of the number of files, plus one number for each rank that shares one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "trace/traced_file.hpp"

namespace iez::trace {

struct DarshanOptions {
  // Also the files of a log that was made anonymous (darshan-convert --obfuscate): sizes are true, names are numbers.
  bool anonymous_names = false;
};

struct DarshanTrace {
  RunInfo run;
  std::vector<TracedFile> files;  // in the order of their names; of 2.x, of their hashes

  std::string version;     // of the log; empty if the text does not say
  bool anonymous = false;  // names are numbers, at least in part

  // Records: what one module saw of one file, on one rank or on all.
  std::uint64_t records = 0;           // of the modules that are used
  std::uint64_t other_records = 0;     // of other modules
  std::uint64_t standard_streams = 0;  // records of <STDIN>, <STDOUT>, <STDERR>
  std::uint64_t unnamed = 0;           // records without an absolute path, or of all files of a rank together

  std::uint64_t anonymous_files = 0;  // left out
  std::uint64_t idle_files = 0;       // left out: neither opened, read nor written
};

// origin is for messages only.
[[nodiscard]] Result<DarshanTrace> read_darshan_text(input::ByteStream& stream, std::string_view origin,
                                                     input::ParseReport& report, const DarshanOptions& options = {});

}  // namespace iez::trace
