// What `iez run` adds to a program: part of the benchmark of the closed loop.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// loop.run_ms: a program of ten seconds (half a second if quick) that writes 64 files, with `iez run` and without it. The run is
// traced, merged, recorded and foretold.
[[nodiscard]] Result<std::vector<Figure>> measure_run(const Settings& settings);

}  // namespace iez::bench
