// Four jobs on 480 OSTs: how many OSTs they share, published and drawn.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "repro_rows.hpp"
#include "repro_runner.hpp"

namespace iez::cli {

// A row of the source's table: means of five runs.
struct FourJobs {
  std::uint32_t stripes = 0;
  double rate = 0;                 // MB/s of each job
  std::array<double, 4> shared{};  // OSTs that exactly 1, 2, 3, 4 jobs use
  double in_use = 0;
};
const std::vector<FourJobs>& four_jobs();

// Where the middle 95 % of `values` lie. REQUIRES: not empty.
struct Band {
  double low = 0;
  double high = 0;
};
Band middle_95(std::vector<double> values);

[[nodiscard]] Result<void> add_sharing(ReproSection& section, ReproRunner& runner, bool quick);

}  // namespace iez::cli
