// `iez workload ior|hacc|flash|chimera`, and `rank`, which they start once a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "workload/options.hpp"

namespace iez::cli {

struct WorkloadOptions {
  workload::Options workload;
  std::string mpi;                     // openmpi, mpich; empty: the first that is there
  std::optional<std::uint32_t> ranks;  // none: as many as the launcher started, or 1
  bool only_write = false;
  bool only_read = false;
  bool independent = false;  // flash, chimera: not by collective calls
};

struct WorkloadRankOptions {
  std::vector<std::string> words;
};

// Under a launcher of MPI, or with an interface that needs MPI, becomes the program for that; returns only if that fails.
[[nodiscard]] Result<void> run_workload(const WorkloadOptions& options, Context& context);
[[nodiscard]] Result<void> run_workload_rank(const WorkloadRankOptions& options, Context& context);

}  // namespace iez::cli
