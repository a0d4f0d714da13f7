// How good placements are, and how fast: against proven optima, lower bounds, other policies and other solvers.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_place(const Settings& settings);

}  // namespace iez::bench
