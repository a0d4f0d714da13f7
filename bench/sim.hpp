// How fast simulated runs are: the event kernel alone, published runs, SimGrid with the same model, a machine of 100,000 nodes.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_sim(const Settings& settings);

}  // namespace iez::bench
