// `iez bench lab`: whether a lab's disks take the time that they should, with files spread evenly and unevenly.
#pragma once

#include <vector>

#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_lab(const Settings& settings);

}  // namespace iez::bench
