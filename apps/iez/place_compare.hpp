// Policies side by side on the same files: `iez place --compare`.
//
// Policies that draw are run with several seeds; of each figure the least, the mean and the largest are kept.
//
// Pure but for the clock that is given.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "placement/plan.hpp"
#include "svg_chart.hpp"

namespace iez::cli {

struct Figure {
  double least = 0;
  double mean = 0;
  double most = 0;
};

struct PolicyResult {
  std::string policy;
  std::size_t runs = 0;
  std::string refused;  // not empty: why there are no figures
  Figure ost_cost;
  Figure oss_cost;
  Figure largest;          // utilisation
  Figure above_bound;      // as a share of the bound
  double overflowing = 0;  // targets that would run out of space, mean
  Duration time{};         // the policy's own, mean of a run
};

struct ComparedCase {
  std::string label;  // of the requests
  std::size_t files = 0;
  Bytes bytes;
  double bound = 0;     // no placement has a smaller largest utilisation
  double possible = 1;  // bound / mean: no placement has a smaller OSTCost
  std::vector<PolicyResult> policies;
};

struct Comparison {
  std::string cluster;
  bool servers_known = true;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 100;
  std::vector<ComparedCase> cases;
};

// Whether the policy's answer depends on its seed.
bool draws(std::string_view policy);

// Called before each run.
using CompareProgress = std::function<void(std::string_view policy, std::uint64_t run, std::uint64_t runs)>;

// With the seeds seed, seed + 1, ... Fails if no policy can place the files. REQUIRES: seeds >= 1.
[[nodiscard]] Result<ComparedCase> compare_policies(const placement::TargetTable& table,
                                                    std::span<const placement::Request> requests, std::uint64_t seed,
                                                    std::uint64_t seeds, const Clock& clock, const CompareProgress& progress);

// One case: a row a policy. Several: a row a case, a column a policy.
std::string compare_text(const Comparison& comparison, bool header, bool plot, const Terminal& terminal);
std::string compare_json(const Comparison& comparison);
SvgChart compare_chart(const Comparison& comparison);

}  // namespace iez::cli
