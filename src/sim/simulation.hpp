// Runs a scenario.
//
// Thread safety: simulate() shares nothing; run several at once. Deterministic: the same scenario gives the same result, on every
// machine.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"

namespace iez::sim {

// Called now and then with the simulated time and the share of bytes done, 0 to 1.
using Progress = std::function<void(Duration now, double done)>;

// Fails for a scenario that makes no sense (no job, no target, more stripes than targets, ...), naming the field.
[[nodiscard]] Result<RunResult> simulate(const Scenario& scenario, const Progress& progress = nullptr);

// What simulate() checks before it starts.
[[nodiscard]] Result<void> check(const Scenario& scenario);

}  // namespace iez::sim
