// What comes after the runs that are stored: the prediction of the next one, and a plan for it or why there is none.
//
//   predict   from the last runs (next_prediction.hpp), for the number of ranks that is asked for
//   rules     which of its files are planned at all (row_rules.hpp)
//   guard     were placed runs of this shape slower, or is there none by default to compare with? Then no plan
//   (guard_history.hpp) plan      by the coordinator, or here (planner.hpp)
//
// Every step is stored before the next one begins: the prediction, then its plan, or the verdict and that the old plan is gone.
//
// Thread safety: none. The caller holds the application's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"
#include "model/cluster.hpp"
#include "runs/guard_history.hpp"
#include "runs/mode.hpp"
#include "runs/mount_table.hpp"
#include "runs/row_rules.hpp"
#include "store/store.hpp"

namespace iez::runs {

struct NextPlanQuestion {
  const config::Settings& settings;
  const store::Application& application;
  const std::vector<LayoutMount>& mounts;
  const std::unordered_map<std::string, model::Cluster>& before;  // targets when the run began
  std::span<const store::FileRow> files;                          // of the run that just ended; none before a run
  std::optional<double> ost_cost;                                 // of that run (ost_cost.hpp); none: not known
  store::Store& store;
  std::string host;
  Clock& clock;
  std::vector<std::string>& notes;
  std::uint32_t ranks = 0;            // of the next run; 0: as the last
  bool override_directories = false;  // layouts of directories' own
  bool replace = false;               // files that exist are moved aside
  bool no_place = false;              // the prediction alone
};

struct NextPlan {
  std::uint64_t files = 0;  // predicted
  LeftAlone left;           // of them
  GuardAnswer guard;
  std::string verdict;  // one sentence: why there is no plan, or what it is predicted to gain, and what runs showed
  double gain = 1;      // predicted
  bool pulled = false;  // a coordinator will fetch the prediction
  std::optional<store::Allocation> allocation;  // stored; with rows
};

[[nodiscard]] Result<NextPlan> make_next_plan(const NextPlanQuestion& question);

// Whether the newer of two stored runs wrote the files of the older one under other numbers (only_numbers_differ()). False, too,
// where the files of one are not kept.
bool goes_on(store::Store& store, const config::Settings& settings, const store::Run& newer, const store::Run& older);

// How the fit of a prediction is judged, by the settings.
FitLimits fit_limits(const config::Settings& settings);

}  // namespace iez::runs
