// The cases of `iez demo`: which applications write what, and what was published for cases like them. And what came of them.
//
// Thread safety: plain values and pure functions. Times are seconds, rates MB/s (10^6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/pattern.hpp"

namespace iez::cli {

struct DemoApplication {
  std::string name;  // also that of its folder
  workload::Pattern pattern;
  std::uint16_t stripe_count = 1;  // default of its folder
  std::uint32_t client = 0;
};

struct DemoCase {
  std::string id;
  std::string title;
  std::vector<DemoApplication> applications;  // at once
  std::optional<double> published_default;    // OSTCost
  std::optional<double> published_iez;
  bool unequal = false;  // files of different sizes
};

// Patterns have no file names yet.
std::vector<DemoCase> demo_cases(bool quick);

struct DemoPass {
  double write_mb_s = 0;
  double read_mb_s = 0;
  double ost_cost = 0;
  double oss_cost = 0;
  std::vector<std::uint64_t> used;  // bytes of each OST
  std::uint64_t planned = 0;        // files that lie where the plan said; 0 by default
};

struct DemoOutcome {
  DemoCase about;
  DemoPass by_default;
  DemoPass by_iez;
  double optimum = 0;  // the least OSTCost there is for these files
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] double write_gain() const { return by_default.write_mb_s > 0 ? by_iez.write_mb_s / by_default.write_mb_s : 0; }
  [[nodiscard]] double read_gain() const { return by_default.read_mb_s > 0 ? by_iez.read_mb_s / by_default.read_mb_s : 0; }
};

// Largest over mean; 1 where nothing is used.
double largest_over_mean(const std::vector<std::uint64_t>& values);
// Sums of so many OSTs each.
std::vector<std::uint64_t> server_sums(const std::vector<std::uint64_t>& osts, std::size_t osts_per_server);

}  // namespace iez::cli
