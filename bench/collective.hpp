// `iez bench collective`: collective MPI-IO with our library, against the MPIs themselves, in one run and with the same program.
#pragma once

#include <vector>

#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_collective(const Settings& settings);

}  // namespace iez::bench
