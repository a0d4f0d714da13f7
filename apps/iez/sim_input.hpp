// Scenarios for `iez sim`: where they and what they refer to come from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/scenario_override.hpp"
#include "sim/scenario.hpp"
#include "sim_shipped.hpp"
#include "trace_input.hpp"

namespace iez::cli {

struct ScenarioText {
  std::string file;  // for messages, and what references are relative to
  std::string text;
};

// A path (it has a '/' or ends in .toml), "-" for standard input, or the name of a scenario that is shipped.
[[nodiscard]] Result<ScenarioText> open_scenario(const std::string& given);

// Files that it names are looked for in the folder of the file that names them, then among those shipped; what a shipped scenario
// names, first among those shipped, then in the working directory. The result has passed sim::check().
[[nodiscard]] Result<sim::Scenario> read_scenario(const ScenarioText& source, std::span<const config::Override> overrides);

// "key=value" each.
[[nodiscard]] Result<std::vector<config::Override>> parse_overrides(std::span<const std::string> texts);

// The first sentence of the comment that a file starts with.
std::string summary_of(std::string_view text);

// A shipped file by its name; .toml may follow it. None: null.
const ShippedFile* find_shipped(std::span<const ShippedFile> files, std::string_view name);

// A job that does again what was recorded of a run: every file that has data, with its size in each direction, its processes, its
// stripes, and not before its time. What the trace does not say: a file without a rank goes to the processes in turn; one without
// stripes gets one of 1 MiB; the processes that share one have ranks that follow each other, and an equal part of it.
[[nodiscard]] Result<sim::Job> job_of_trace(const LoadedTrace& loaded);

}  // namespace iez::cli
