// Whether iez ever makes a program slower, and how much faster where it can: part of the benchmark of the closed loop.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// loop.never_slower: the least of the ratios of all cases (loop_cases.hpp), which it has with it; loop.steps_gain and
// loop.shared_gain: two of them. Of the cases that the settings name, if they name any; fails if there is no such case.
[[nodiscard]] Result<std::vector<Figure>> measure_cases(const Settings& settings);

// loop.guard_runs: two OSTs are ten times slower than they say, and emptier than the others, so that a plan goes there: placed
// runs until iez is as fast as the default again. More of two beginnings: the run that is learnt from met none of them, or one.
[[nodiscard]] Result<Figure> measure_guard(const Settings& settings);

}  // namespace iez::bench
