// Figures of the plan file: size, time to write, time of a lookup. Part of `iez bench preload`.
#pragma once

#include <vector>

#include "bench.hpp"

namespace iez::bench {

// preload.lookup_us, plan.bytes_per_file and plan.compile_s of a plan of 10 million files, which takes about 1 GB in TMPDIR.
[[nodiscard]] Result<void> add_plan_figures(const Settings& settings, std::vector<Figure>& figures);

}  // namespace iez::bench
