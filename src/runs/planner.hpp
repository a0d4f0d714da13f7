// Who plans the next run: the coordinator, or, where there is none or it does not answer, this node.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"
#include "model/cluster.hpp"
#include "runs/allocate.hpp"
#include "runs/mount_table.hpp"
#include "runs/pull_note.hpp"
#include "store/store.hpp"

namespace iez::runs {

inline constexpr std::string_view kLocalPlanner = "local";
inline constexpr std::string_view kPulled = "pull";  // in reports: the coordinator has yet to fetch the prediction

struct PlanQuestion {
  const config::Settings& settings;
  const store::Application& application;
  const store::Prediction& prediction;  // stored: it has its number
  const std::vector<LayoutMount>& mounts;
  const std::unordered_map<std::string, model::Cluster>& before;  // targets when the run began
  std::span<const store::FileRow> files;                          // of the run that just ended
  store::Store& store;
  std::string host;
  Clock& clock;
  std::vector<std::string>& notes;
};

// Files of the file system with the most bytes; a note tells of others. Errc::not_found: no file is on a file system that takes
// layouts.
[[nodiscard]] Result<store::Allocation> make_allocation(const PlanQuestion& question);

// The same choice of files, for a coordinator that pulls; the prediction need not be stored yet.
[[nodiscard]] Result<PullNote> note_for_pull(const PlanQuestion& question);

// The same plan, but for the rows that use an unfit target: those get others. Number and key are not set.
[[nodiscard]] Result<store::Allocation> mend(const store::Allocation& allocation, const store::Prediction& prediction,
                                             std::span<const UnfitTarget> unfit, const model::Cluster& cluster);

}  // namespace iez::runs
