// The readers of the parts of a scenario, each from its table.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "config/scenario_table.hpp"
#include "config/scenario_toml.hpp"
#include "sim/machine.hpp"
#include "sim/scenario.hpp"
#include "sim/workload.hpp"

namespace iez::config {

// All of a machine, its layers already laid over one another.
[[nodiscard]] Result<sim::Machine> read_machine(const TableReader& table);

// A [[job]] on this machine. file_name: of the scenario.
[[nodiscard]] Result<sim::Job> read_job(const TableReader& table, const sim::Machine& machine, const ScenarioSources& sources,
                                        std::string_view file_name);

// A [congestion] table.
[[nodiscard]] Result<sim::CongestionLaw> read_law(const TableReader& table);

}  // namespace iez::config
