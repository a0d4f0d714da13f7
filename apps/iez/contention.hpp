// `iez contention`: how crowded the OSTs get, by the equations for jobs to come, or from job_stats for the jobs of now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "contention/equations.hpp"

namespace iez::cli {

struct ContentionOptions {
  // What if.
  std::optional<std::uint32_t> osts;  // given: by the equations
  std::string stripes;                // "160", or one number a job: "160,64,64"
  std::optional<std::uint64_t> jobs;  // with plfs: ranks
  bool plfs = false;
  std::optional<double> max_load;
  bool plot = false;
  // Now.
  SourceOptions source;
  std::vector<std::string> since;
  std::optional<Duration> interval;
  WatchOptions watch;
  std::optional<Bytes> min_bytes;
  std::optional<std::size_t> top;  // rows of each table; 0: all
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_contention(const ContentionOptions& options, Context& context);

// One line of the what-if table: so many jobs (or ranks) at once.
struct LoadRow {
  std::uint64_t jobs = 0;
  std::uint32_t stripes = 0;  // of the last job
  contention::Usage usage;
  std::vector<double> sharing;  // element k: OSTs that exactly k jobs use
};

// 1 to 20 each; beyond, 1, 2, 4, ... and the last.
std::vector<std::uint64_t> load_steps(std::uint64_t jobs);

// Equal requests, at load_steps(). Fails as contention::expected_usage().
[[nodiscard]] Result<std::vector<LoadRow>> load_rows(std::uint32_t osts, std::uint32_t stripes, std::uint64_t jobs);

// Unequal ones, job by job.
[[nodiscard]] Result<std::vector<LoadRow>> load_rows(std::uint32_t osts, const std::vector<std::uint32_t>& requests);

// The fewest OSTs with which these jobs see D_load <= load; none if no number does. REQUIRES: requests that some number of OSTs
// can take, load >= 1.
[[nodiscard]] Result<std::optional<std::uint32_t>> osts_for_requests(const std::vector<std::uint32_t>& requests, double load);

}  // namespace iez::cli
