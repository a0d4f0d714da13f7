// `iez bench preload`: what libiez.so costs the programs that it lives in, against other tracers on the same loop.
#pragma once

#include <vector>

#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_preload(const Settings& settings);

}  // namespace iez::bench
