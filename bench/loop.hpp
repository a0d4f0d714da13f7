// `iez bench loop`: the closed loop, measured: balance and rates of the demo's cases, and what its parts cost.
#pragma once

#include <vector>

#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_loop(const Settings& settings);

}  // namespace iez::bench
