// How crowded storage targets get when jobs choose theirs at random: the load metrics for shared Lustre file systems.
//
// Problem. A file system has D OSTs. Job j asks for r_j stripes, on r_j distinct OSTs chosen at random, as the file system does
// by default. How many OSTs are in use, and by how many jobs each?
//
//   (1) D_inuse(j) = D_inuse(j - 1) + r_j - D_inuse(j - 1) / D * r_j,   D_inuse(0) = 0
//   (2) n equal requests of R:  D_inuse = D - D (1 - R / D)^n
//   (3) D_req = sum of r_j  (R n)
//   (4) D_load = D_req / D_inuse; 1 means that no OST is shared
//   (5), (6) a log-structured run (PLFS, or a file per process) is n jobs of 2 stripes: (2) to (4) with R = 2
//
// (1) and (2) are exact means. The number of jobs on one given OST is a sum of independent trials with chances r_j / D (a
// Poisson-binomial law), hence expected_sharing().
//
// Limits: real allocators favour empty targets, and round robin gives less overlap than chance; the figures are those of the
// random choice. Means say nothing of the worst OST: look at expected_sharing().
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace iez::contention {

inline constexpr std::uint32_t kLogStructuredStripes = 2;  // per rank: the default layout of the source's file system

struct Usage {
  double in_use = 0;     // D_inuse: OSTs that at least one job uses
  double requested = 0;  // D_req: stripes of all jobs
  double load = 0;       // D_load: jobs per OST in use; 0 when nothing is in use

  friend bool operator==(const Usage&, const Usage&) = default;
};

// Equations 1, 3, 4. The order of requests does not matter. Fails for no OSTs, and for a request of 0 or of more than osts.
[[nodiscard]] Result<Usage> expected_usage(std::uint32_t osts, std::span<const std::uint32_t> requests);

// Equations 2 to 4. Fails as above.
[[nodiscard]] Result<Usage> expected_usage(std::uint32_t osts, std::uint32_t stripes, std::uint64_t jobs);

// Equations 5 and 6. Fails for fewer than 2 OSTs.
[[nodiscard]] Result<Usage> log_structured_usage(std::uint32_t osts, std::uint64_t ranks);

// Element k: the expected number of OSTs that exactly k jobs use. Sums to osts. Ends with the last k that more than 1e-15 of
// all OSTs reach, so that many jobs give a short list. Time: jobs x length of the list; of equal requests: length of the list.
[[nodiscard]] Result<std::vector<double>> expected_sharing(std::uint32_t osts, std::span<const std::uint32_t> requests);
[[nodiscard]] Result<std::vector<double>> expected_sharing(std::uint32_t osts, std::uint32_t stripes, std::uint64_t jobs);

// D_inuse, D_req and D_load of such a list, measured or expected.
Usage usage_of_sharing(std::span<const double> sharing);

// Buying OSTs: the fewest with which `jobs` jobs of `stripes` stripes see D_load <= load; at least `stripes`. Nothing if no
// number does (a load of exactly 1 with two jobs) or if it would pass what an OST index can count.
// Fails for stripes or jobs of 0, and for a load below 1.
[[nodiscard]] Result<std::optional<std::uint32_t>> osts_for_load(std::uint32_t stripes, std::uint64_t jobs, double load);

// The smallest number of jobs of `stripes` stripes whose D_load is above `load`. Always exists.
// Fails for a wrong request, a load below 1, or above 1e9.
[[nodiscard]] Result<std::uint64_t> jobs_to_pass_load(std::uint32_t osts, std::uint32_t stripes, double load);

}  // namespace iez::contention
