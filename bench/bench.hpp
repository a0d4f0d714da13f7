// Benchmarks behind `iez bench NAME`: figures that are ratios to a peer, or to a limit, measured in the same run.
//
// A new benchmark is one source file here and one line in benches.cpp. A peer that is not installed makes its figure skipped,
// never beaten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iez::bench {

// Of several runs, in seconds.
struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
  std::size_t runs = 0;
};

// One program that was measured in two ways, for a figure that is the worst of many.
struct ComparedCase {
  std::string name;
  std::string about;
  Spread by_default;
  Spread placed;
  std::string said;     // by iez, of the placed runs
  std::string skipped;  // why it was not measured; empty: it was
};

// The default's median over the placed one's: how many times as fast it is with iez. 0: it was not measured.
double ratio_of(const ComparedCase& compared);

struct Figure {
  std::string name;             // "parse.vs_pyyaml"
  std::optional<double> value;  // none: skipped, and note says why
  std::string unit;             // "x", "MB/s", "MiB"
  bool higher_is_better = true;
  std::optional<double> target;
  std::string note;
  std::vector<ComparedCase> cases;  // that it is made of
};

// Whether the figure reaches its target; nothing if there is no target or no value.
std::optional<bool> reached(const Figure& figure);

// A library to compare with that no package brings.
struct Peer {
  std::string name;     // "darshan"
  std::string library;  // its path
};

struct Settings {
  std::function<void(std::string_view)> progress;  // one line of talk
  bool quick = false;                              // smaller input: to see that it works, not to compare
  std::string program;                             // this one, to start again
  std::string preload_library;                     // libiez.so; empty: not found
  std::string openmpi_library;                     // libiez-mpi-openmpi.so; likewise
  std::string mpich_library;                       // libiez-mpi-mpich.so; likewise
  std::vector<Peer> peers;
  std::vector<std::string> cases;  // of `loop`: these alone; empty: all of it
  std::vector<std::string> cells;  // of `collective`: those alone that have one of these in their names; empty: all of it
};

struct Bench {
  std::string_view name;
  std::string_view summary;
  Result<std::vector<Figure>> (*run)(const Settings& settings);
};

std::span<const Bench> benches();

// Of the cases that Settings::cases may name.
std::vector<std::string_view> case_names();

// Parses the job_stats dump at path and reports what it took, in a process of its own so that its memory can be told:
// {"jobs": N, "bytes": N, "seconds": S, "peak_kib": N}
struct ParseCost {
  std::uint64_t jobs = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint64_t peak_kib = 0;
};
[[nodiscard]] Result<ParseCost> measure_job_stats(const std::string& path);

}  // namespace iez::bench
