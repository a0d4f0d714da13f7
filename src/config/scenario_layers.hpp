// The layers of a scenario laid over one another: what it extends, itself, its machine, the overrides.
//
// Afterwards the tree has no `extends`, `machine` is a table that holds all of the machine, and the tables [client], [network],
// [server], [target], [locks] and [metadata] have been laid over it and are gone.
//
// Thread safety: pure functions, as far as the caller's sources are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "config/scenario_override.hpp"
#include "config/scenario_toml.hpp"
#include "config/scenario_tree.hpp"

namespace iez::config {

// The law that a [congestion] table asks for: "fixed", "rcc", "goal" or whatever `law` says; none if it only has details.
std::optional<std::string> law_of(const Node& congestion);

[[nodiscard]] Result<Node> scenario_layers(std::string_view text, std::string_view file_name, const ScenarioSources& sources,
                                           std::span<const Override> overrides);

[[nodiscard]] Result<Node> machine_layers(std::string_view text, std::string_view file_name, const ScenarioSources& sources);

}  // namespace iez::config
