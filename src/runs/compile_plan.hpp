// An allocation to the plan file that libiez.so reads.
//
// Rows that are expired are left out. Files that the plan does not have are spread over the targets by weight, in the folders
// that the details name. The file appears whole or not at all.
//
// Thread safety: none beyond that of the files.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "plan/plan_writer.hpp"
#include "store/records.hpp"

namespace iez::runs {

// 16 hexadecimal digits to the number that the plan file has; 0 if it is none such.
std::uint64_t plan_number(const std::string& plan);
std::string plan_text(std::uint64_t number);

// REQUIRES: the rows of the allocation have their names, as the store gives them.
[[nodiscard]] Result<plan::PlanSummary> compile_plan(const store::Allocation& allocation, const std::string& path);

}  // namespace iez::runs
