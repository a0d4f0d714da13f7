// A prediction to an allocation, on this node alone: what the coordinator does for a site, for one user without one.
//
// The balanced policy against the targets as they are, plus what the user's other plans will write, less the files that the
// coming run will replace: who removes the files of the last run before the next one has their space then, and who overwrites
// them in place needs none.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/cluster.hpp"
#include "model/layout.hpp"
#include "placement/targets.hpp"
#include "runs/model_text.hpp"
#include "store/records.hpp"

namespace iez::runs {

inline constexpr std::uint64_t kMaxLocalFiles = 1'000'000;

// Bytes that a file of this layout has on each OST, all objects as large as the largest.
void add_objects(Bytes bytes, Bytes stripe_size, std::span<const OstIndex> osts, std::vector<placement::Reservation>& to);

// What rows that are still planned will write.
std::vector<placement::Reservation> reservations_of(const store::Allocation& allocation);

struct LocalPlan {
  const model::Cluster& cluster;
  std::vector<placement::Reservation> reservations;  // of other plans; OSTs that the cluster does not have are passed over
  std::vector<placement::Reservation> replaced;      // by the files of this one
  std::vector<placement::Reservation> vanishing;     // replaced by other plans: no room yet, but not there in the end
  std::string policy = "balanced";
};

struct PlannedRows {
  std::string policy;
  std::vector<store::AllocationRow> rows;  // ascending
  PlanDetails details;                     // without spread
};

// rows: those of the prediction to plan, ascending. Fails if a file cannot be planned; then nothing is.
[[nodiscard]] Result<PlannedRows> plan_rows(const store::Prediction& prediction, std::span<const std::uint32_t> rows,
                                            const LocalPlan& local);

// The folders for whose other files a plan has rules: those of the files, without ones below others, and at most 64.
std::vector<std::string> spread_folders(std::span<const std::string> names);

// Targets that a plan uses and that take no objects now, with why.
struct UnfitTarget {
  OstIndex ost;
  std::string why;
};
std::vector<UnfitTarget> unfit_targets(std::span<const OstIndex> used, const model::Cluster& cluster);

}  // namespace iez::runs
