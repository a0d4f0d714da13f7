// Scenarios for the simulator, and the machines they run on, in TOML.
//
//     name = "CC(60,1024)"
//     machine = "tianhe-1"       # one that is shipped, a path that ends in .toml, or a table [machine]
//     extends = "base.toml"      # another scenario, over whose keys these are laid
//     [[job]]
//     processes = 1024
//     block = "512MiB"
//     [congestion]
//     l_max = "60s"
//
// docs/formats/scenario.md tells every key. What is read in the end is one tree: the extended file, this file, the machine, the
// overrides, in this order. A message names the file and line (or the override) of the value, its key, what was found and what
// is expected.
//
// Nothing is read from disk here: the caller gives the texts of other files.
//
// Thread safety: pure functions, as far as the caller's sources are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/scenario_override.hpp"
#include "sim/scenario.hpp"

namespace iez::config {

inline constexpr std::size_t kMaxScenarioText = std::size_t{1} << 20U;  // bytes, of each file
inline constexpr std::size_t kMaxExtends = 8;                           // files that extend one another
inline constexpr std::uint64_t kMaxNodes = 10'000'000;
inline constexpr std::uint64_t kMaxTargets = 999'999;
inline constexpr std::uint64_t kMaxProcesses = 10'000'000;              // of all jobs
inline constexpr std::uint64_t kMaxObjects = 100'000'000;               // of all files of all jobs
inline constexpr std::uint64_t kMaxJobBytes = std::uint64_t{1} << 62U;  // of all jobs
inline constexpr std::size_t kMaxJobs = 10'000;
inline constexpr std::size_t kMaxIncidents = 100'000;
inline constexpr std::uint64_t kMaxSamples = 10'000'000;

// Where a scenario finds what it refers to.
struct ScenarioSources {
  // The text of a file. name as written: a path that ends in .toml, relative to the folder of the file `from`; or the name of a
  // shipped machine, without a folder and without .toml, which is one of `machines`.
  std::function<Result<std::string>(std::string_view name, std::string_view from)> load;

  std::vector<std::string> machines;  // that are shipped

  // A job (kind = "trace") out of a recorded trace, given as for load; its processes, and its files or its pattern, are used. The
  // keys of the job's table win over them: of a job with files those of the name, processes, striping and start, and there are no
  // others. None: such jobs are refused.
  std::function<Result<sim::Job>(std::string_view name, std::string_view from)> trace;
};

// file_name: for messages, and what `from` is for the files that this one names. Overrides are laid over the result in turn.
[[nodiscard]] Result<sim::Scenario> parse_scenario(std::string_view text, std::string_view file_name,
                                                   const ScenarioSources& sources, std::span<const Override> overrides = {});

// A machine file by itself.
[[nodiscard]] Result<sim::Machine> parse_machine(std::string_view text, std::string_view file_name,
                                                 const ScenarioSources& sources);

}  // namespace iez::config
