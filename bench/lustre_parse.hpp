// The speed and memory of the job_stats parser.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_lustre_parse(const Settings& settings);

}  // namespace iez::bench
