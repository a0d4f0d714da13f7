// The segments of a run to the rows that the store keeps.
//
// Thread safety: none beyond that of the files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "store/records.hpp"
#include "trace/merge.hpp"

namespace iez::runs {

struct Gathered {
  trace::MergeSummary summary;
  std::vector<store::FileRow> files;  // in the order of their first use
};

// Files below one of the folders; those that were only looked at are left out.
[[nodiscard]] Result<Gathered> gather(const std::string& trace_folder, std::span<const std::string> folders);

// Which files a plan had by name. What the plan file did with them is in the layouts of the summary.
struct PlanUse {
  std::uint64_t planned = 0;
  std::uint64_t unplanned = 0;
  std::vector<store::Miss> misses;  // at most kMaxMisses
};
inline constexpr std::size_t kMaxMisses = 10'000;
[[nodiscard]] Result<PlanUse> compare_with_plan(const std::string& plan_path, std::span<const store::FileRow> files);

}  // namespace iez::runs
