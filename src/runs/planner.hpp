// From a prediction to a plan, or to the reason why there is none: asked of the coordinator where there is one, else made here.
//
// Here, planning (planning/planner.hpp) sees the targets as they will be: as full as statistics say or as this node knows them to
// be, less what the coming run replaces, plus what the user's other plans will write. Those are space, never traffic, and they
// fade (planning/waiting.hpp).
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
#include "placement/targets.hpp"
#include "planning/target_speeds.hpp"
#include "runs/mount_table.hpp"
#include "runs/plan_outcome.hpp"
#include "runs/pull_note.hpp"
#include "store/store.hpp"

namespace iez::runs {

inline constexpr std::string_view kLocalPlanner = "local";
inline constexpr std::string_view kPulled = "pull";  // in reports: the coordinator has yet to fetch the prediction

struct PlanQuestion {
  const config::Settings& settings;
  const store::Application& application;
  const store::Prediction& prediction;  // stored: it has its number; its rows follow the rules of row_rules.hpp
  const std::vector<LayoutMount>& mounts;
  const std::unordered_map<std::string, model::Cluster>& before;  // targets when the run began
  std::span<const store::FileRow> files;                          // of the run that just ended; none before a run
  store::Store& store;
  std::string host;
  Clock& clock;
  std::vector<std::string>& notes;
};

// Files of the file system with the most bytes; a note tells of others. Errc::not_found: no file is on a file system that takes
// layouts.
[[nodiscard]] Result<PlanOutcome> make_plan(const PlanQuestion& question);

// The same choice of files, for a coordinator that pulls; the prediction need not be stored yet.
[[nodiscard]] Result<PullNote> note_for_pull(const PlanQuestion& question);

// Targets that a plan uses and that take no objects now, with why.
struct UnfitTarget {
  OstIndex ost;
  std::string why;
};
std::vector<UnfitTarget> unfit_targets(std::span<const OstIndex> used, const model::Cluster& cluster);

// ---- Pure parts ----

struct LocalView {
  const model::Cluster& cluster;
  std::vector<placement::Reservation> reservations;  // of other plans; OSTs that the cluster does not have are ignored
  std::vector<placement::Reservation> replaced;      // by the files of this one
  std::vector<planning::SlowTarget> slow;            // OSTs under suspicion
};

// The plan of these rows, ascending; number, key, id, time and planner are not set.
[[nodiscard]] Result<PlanOutcome> plan_locally(const store::Prediction& prediction, std::span<const std::uint32_t> rows,
                                               const LocalView& view, bool always);

// The usual gap between runs, in seconds: the median of the last ten; 0: fewer than two runs.
double usual_gap_s(std::span<const store::Run> newest_first);

// What rows that are still planned will write, a sum for each target.
std::vector<placement::Reservation> reservations_of(const store::Allocation& allocation, double share);

}  // namespace iez::runs
