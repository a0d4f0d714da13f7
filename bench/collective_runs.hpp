// Runs of iez-measure-collective-FLAVOUR, and what they took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// Whose collective I/O a run uses: Open MPI's default, the other that comes with it, MPICH's own; ours below each of them.
enum class Layer { ompio, romio, ours, mpich, ours_on_mpich, ours_on_romio };
std::string name_of(Layer layer);

// A way to write and read a file, and the size of its blocks (apps/workload/measure_collective.cpp).
struct Pattern {
  std::string mode;
  std::uint64_t block = 0;
};

// What a run measured with one size of blocks.
struct Measured {
  std::uint32_t ranks = 0;
  std::uint64_t block = 0;
  std::uint64_t bytes = 0;
  double write_s = 0;
  double read_s = 0;
  double write_cpu_s = 0;  // of all ranks together
  double read_cpu_s = 0;

  [[nodiscard]] double write_mib_s() const { return static_cast<double>(bytes) / (1 << 20) / write_s; }
  [[nodiscard]] double read_mib_s() const { return static_cast<double>(bytes) / (1 << 20) / read_s; }
};

struct CollectiveRun {
  std::string mode = "views";
  std::uint32_t ranks = 16;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> blocks{};
  std::vector<Pattern> patterns{};  // instead of a mode and blocks
  std::vector<std::string> mounts;  // empty: the file is in the folder
  std::string hints{};              // for our library: key=value;key=value
};

// What our library says of itself when it closes a file: of the ranks that read and write it. None: it does not serve.
struct LayerCounters {
  double copy_s = 0;  // to and from memory that ranks of a node share
  double send_s = 0;  // to other nodes
  double wait_s = 0;
  double file_s = 0;  // reads and writes of the file
};

class CollectiveRuns {
 public:
  // `folder` is for the files. Fails (not_found) where the program for an MPI, its launcher or our library is missing.
  CollectiveRuns(const Settings& settings, std::string folder) : settings_(settings), folder_(std::move(folder)) {}

  [[nodiscard]] Result<std::vector<Measured>> run(Layer layer, const CollectiveRun& run) const;
  // Of all runs of ours since the last call: summed over the ranks that read or wrote the file.
  [[nodiscard]] std::optional<LayerCounters> take_counters() const;

 private:
  [[nodiscard]] std::string counters_path() const { return folder_ + "/counters"; }

  const Settings& settings_;
  std::string folder_;
};

}  // namespace iez::bench
