// The sections of the reproduction, one source file each.
#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "repro_rows.hpp"
#include "repro_runner.hpp"

namespace iez::cli {

// quick: fewer rows and seeds.
[[nodiscard]] Result<ReproSection> repro_congestion(ReproRunner& runner, bool quick);
[[nodiscard]] Result<ReproSection> repro_contention(ReproRunner& runner, bool quick);
[[nodiscard]] Result<ReproSection> repro_placement(ReproRunner& runner, const Clock& clock, bool quick);
[[nodiscard]] Result<ReproSection> repro_collective(ReproRunner& runner, bool quick);
ReproSection repro_prediction();

// The part of the congestion section that is about our own law, and what the turnaround changes.
[[nodiscard]] Result<void> add_own_law(ReproSection& section, ReproRunner& runner);
[[nodiscard]] Result<void> add_turnaround(ReproSection& section, ReproRunner& runner);

}  // namespace iez::cli
