// collective.never_slower: a program with our library against the same program without it, in many ways to write and read a file.
#pragma once

#include <string>
#include <vector>

#include "bench.hpp"
#include "collective_runs.hpp"

namespace iez::bench {

// Those of Settings::cells, if it names any. A cell is run again until it is known whether its ratio is above the target, and all
// its pairs count. `folder`: in memory, for what is no lab. Each cell is told as progress; what cannot be run here is named in
// the note.
[[nodiscard]] Result<std::vector<Figure>> measure_cells(const Settings& settings, const CollectiveRuns& runs,
                                                        const std::string& folder);

}  // namespace iez::bench
