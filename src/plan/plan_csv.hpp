// Plans written by hand: CSV with one line for each file, pattern or directory. docs/formats/plan.md tells of every column.
//
//     name,stripe_size,stripe_count,osts
//     /scratch/mesh.h5,4M,,0 1 2 3
//     /scratch/ckpt.{step}.{rank},1M,2,0-14
//     spread:/scratch/,1M,1,0-14
//     leave:/scratch/logs/,,,
//
// Memory: the rules, and whatever the writer takes. The first bad line ends the reading; the message names file, line and column.
//
// Thread safety: none beyond that of the writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/plan_writer.hpp"

namespace iez::plan {

// Adds all lines to the writer; finish() is left to the caller, and finds names that are planned twice.
[[nodiscard]] Result<void> read_plan_csv(std::string_view text, std::string_view file_name, PlanWriter& writer);

// The layouts of a rule in the order in which files take them: each as often as its weight says, evenly apart.
// REQUIRES: as many weights, each 1 or more. Gives indices.
std::vector<std::size_t> order_by_weight(std::span<const std::uint32_t> weights);

}  // namespace iez::plan
