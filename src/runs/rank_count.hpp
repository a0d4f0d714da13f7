// How many ranks a command will have, as far as that can be told before it runs.
//
// What the launcher is told counts most, be it behind wrappers (time, env, nice, ...) or not: -n, -np, --ntasks and their like,
// added up over the parts of a command that ':' divides; for Slurm also nodes times ranks of a node; for jsrun -p, or resource
// sets times tasks of a set. Then what the scheduler says: SLURM_NTASKS, PMI_SIZE and their like. A command
// without a launcher, outside of a job, has a number that nobody knows: 0.
//
// Thread safety: pure functions, as far as `environment` is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace iez::runs {

// program: the word of the command that is the program (identity.hpp); the launcher and wrappers stand before it.
// has_launcher: identify() has found one.
std::uint32_t ranks_before_run(std::span<const std::string> command, std::size_t program, bool has_launcher,
                               const std::function<std::optional<std::string>(std::string_view)>& environment);

}  // namespace iez::runs
