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
  std::vector<store::RunPhase> phases;
};

// Files below one of the folders; those that were only looked at are left out.
[[nodiscard]] Result<Gathered> gather(const std::string& trace_folder, std::span<const std::string> folders);

}  // namespace iez::runs
