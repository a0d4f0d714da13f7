// `iez bench plan`: plans by phases against lower bounds, and what a large one costs.
#pragma once

#include <vector>

#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_planning(const Settings& settings);

}  // namespace iez::bench
