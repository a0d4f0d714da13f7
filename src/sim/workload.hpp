// What runs on a simulated machine: jobs, each a number of processes with one pattern of access.
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

struct Job {
  std::string name;
  std::uint32_t processes = 1;
  Pattern pattern;
  Striping striping;
  Collective collective;
  Duration start{};         // when its first process starts
  Duration start_spread{};  // until its last one does; evenly
};

Bytes bytes_per_process(const Job& job);
Bytes total_bytes(const Job& job);
Bytes file_bytes(const Job& job);  // of one file

}  // namespace iez::sim
