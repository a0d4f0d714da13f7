// `iez bench jobs`: what collecting jobs costs.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_jobs(const Settings& settings);

}  // namespace iez::bench
