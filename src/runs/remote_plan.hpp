// Plans of the coordinator: asked for after a run, looked over before the next one, and told what became of them.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"
#include "placement/targets.hpp"
#include "planning/target_speeds.hpp"
#include "runs/plan_outcome.hpp"
#include "store/store.hpp"

namespace iez::runs {

// Files of a prediction that a plan is wanted for.
struct WantedRows {
  std::string application;
  std::string host;
  std::string file_system;
  const store::Prediction& prediction;
  std::span<const std::uint32_t> rows;  // of the prediction, ascending
  std::vector<api::FreedBytes> freed;   // by the files of this plan, at most one for each target
  std::vector<api::SlowOst> slow;       // targets that planning is to reckon with as slow
  bool always = false;                  // plan though Lustre's default is as good
  double gap_s = 0;                     // between two runs, usually; 0: not known
  double idle_s = 0;                    // since the run ended
  double ran_s = 0;                     // that it took; 0: not known
};

struct RemoteQuestion {
  const config::Settings& settings;
  WantedRows wanted;
  Clock& clock;
};

// As long as the settings wait for the coordinator; no longer than it takes to hear that its node is busy, since the program
// waits for this. What is not answered then is asked to be forgotten. An outcome without an allocation is an answer, too:
// Lustre's default is as good.
[[nodiscard]] Result<PlanOutcome> ask_coordinator(const RemoteQuestion& question);

// The plan's run begins. Waits for one second at most: has the coordinator planned anew what is not created yet, or does so now,
// by what others move? If so, that is stored.
[[nodiscard]] Result<void> renew_from_coordinator(const config::Settings& settings, store::Store& store,
                                                  const store::Allocation& allocation);

// Told as far as it listens. rows: of the prediction.
void tell_created(const config::Settings& settings, const store::Allocation& allocation, std::span<const std::uint32_t> rows);
void take_back(const config::Settings& settings, const std::string& plan);

// ---- Pure parts ----

// Rows that are left alone come last: no layout stands before one that a row does not have, and so the first entries of an answer
// are the rows of the allocation, by which a coordinator is told later what exists.
api::PlanRequest request_of(const WantedRows& wanted);

// What files take on targets, as a request tells it.
std::vector<api::FreedBytes> freed_bytes(std::span<const placement::Reservation> replaced);

// Targets under suspicion that are not tried again now, as a request tells them: at most as many as it may have.
std::vector<api::SlowOst> slow_osts(std::span<const planning::SlowTarget> slow);

// The plan as the store keeps it, without a key. planner: who answered. REQUIRES: the answer has a plan.
[[nodiscard]] Result<store::Allocation> allocation_of(const api::PlanAnswer& answer, const WantedRows& wanted,
                                                      std::string_view planner);

// The rows of an answer that have layouts, in the order of the request. rows: those that were asked for, in that order. Fails if
// the answer has other files than were asked for.
[[nodiscard]] Result<std::vector<store::AllocationRow>> rows_of(const api::PlanAnswer& answer,
                                                                std::span<const std::uint32_t> rows);

}  // namespace iez::runs
