// Many simulations on several threads.
//
// The answers come one after the other in the order of the scenarios, whatever the threads, so what is made of them does not
// depend on their number. No more than a few runs that are done wait for one that is not: memory stays bounded.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/result.hpp"
#include "progress.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"

namespace iez::cli {

// Called on the caller's thread. An error ends the whole.
using TakeRun = std::function<Result<void>(std::size_t index, sim::RunResult result)>;

// Progress is told while it runs, and wiped when it ends. Of several runs that fail, the first in order is told.
// REQUIRES: threads > 0
[[nodiscard]] Result<void> simulate_all(std::span<const sim::Scenario> scenarios, unsigned threads, Progress& progress,
                                        const TakeRun& take);

}  // namespace iez::cli
