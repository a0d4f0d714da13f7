// What runs on a simulated machine: jobs, each a number of processes that follow one pattern of access, or do again what was
// recorded of a run, file by file.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace iez::sim {

enum class Access : std::uint8_t { write, read };

enum class FileMode : std::uint8_t {
  per_process,  // each process its own file
  shared,       // one file for all
};

// Every process writes (reads) `segments` blocks, each of `block` bytes, in pieces of `transfer` bytes. In a shared file the
// blocks of one segment lie side by side in the order of ranks, and the segments one after the other, as IOR has them.
struct Pattern {
  Access access = Access::write;
  FileMode mode = FileMode::per_process;
  Bytes block = Bytes::mib(1);
  Bytes transfer = Bytes::mib(1);
  std::uint64_t segments = 1;
  std::uint32_t files = 1;  // one after the other, each of the size above: a code with several restart files
  bool barrier = false;     // a process begins its next file when all have finished theirs: the files are the steps of the job
};

// How the files of a job are laid out. Which targets: the policy of the scenario decides.
struct Striping {
  std::uint32_t count = 1;
  Bytes size = Bytes::mib(1);
};

// The two phases of collective writing: all data of a shared file goes through so many writers.
struct Collective {
  std::uint32_t writers = 0;  // 0: none, every process writes for itself
  BytesPerSecond exchange;    // at which one writer collects
};

// What all processes together wrote to a recorded file, or read of it. They have parts of equal size, in the order of ranks: each
// one part of the file or, if strided, one transfer after the other in turn, as IOR has it with blocks of one transfer.
struct Movement {
  Bytes bytes;
  Bytes transfer = Bytes::mib(1);  // of one call
  bool strided = false;
};

// A file of a recorded run, of processes `rank` to `rank + ranks - 1`. What was written comes before what was read; both begin at
// the start of the file, which is as large as the more of the two.
struct ReplayedFile {
  std::string name;  // for messages
  Movement written;
  Movement read;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  Striping striping;
  Duration not_before{};  // after the start of the job
};

struct Job {
  std::string name;
  std::uint32_t processes = 1;
  Pattern pattern;    // where no files are listed
  Striping striping;  // likewise
  // To be replayed: a process does those of its rank one after the other, in this order. What it reads is there, and what it
  // writes is in the cache, before it opens the next.
  std::vector<ReplayedFile> files;
  Collective collective;
  Duration start{};         // when its first process starts
  Duration start_spread{};  // until its last one does; evenly
};

inline bool is_replay(const Job& job) { return !job.files.empty(); }

Bytes total_bytes(const Job& job);
std::uint64_t file_count(const Job& job);
std::uint64_t object_count(const Job& job);  // stripes of all files; as many as fit in 64 bits, if more

// Of a job with a pattern.
Bytes bytes_per_process(const Job& job);
Bytes file_bytes(const Job& job);  // of one file

Bytes file_bytes(const ReplayedFile& file);

}  // namespace iez::sim
