// One interaction database that the coordinator fetches predictions from, plans, and sends the plans back to.
//
// A turn asks for the revision; where it changed, it fetches what has no plan, plans it, posts the plans, and learns what became
// of earlier ones, so that reservations end. Nothing is remembered that a turn could not learn anew: the id of a plan follows
// from the prediction (plan_id), the ledger knows the plans, the database knows which of them it took. So a turn that was cut
// off anywhere, on either side, is simply done again: each prediction ends with one plan, reserved once.
//
// Where Lustre's default is as good, the verdict is posted instead of a plan: the database does not offer the prediction again.
// A plan that the database does not want (its prediction was replaced), or does not know, is taken back. A plan that was mended
// is posted anew. A request that waits at the gate is posted when it is planned. One that cannot be planned is tried again after
// PullOptions::retry.
//
// A database is not trusted to make sense: pages must go on, and there are bounds for all of them.
//
// No input or output of its own: both sides are seams. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/database_client.hpp"
#include "api/pull_messages.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "coordinator/service.hpp"

namespace iez::coordinator {

// The database's side.
class PulledDatabase {
 public:
  PulledDatabase() = default;
  virtual ~PulledDatabase() = default;
  PulledDatabase(const PulledDatabase&) = delete;
  PulledDatabase& operator=(const PulledDatabase&) = delete;

  [[nodiscard]] virtual Result<std::uint64_t> revision() = 0;
  [[nodiscard]] virtual Result<api::PredictionPage> predictions(std::uint64_t after) = 0;
  [[nodiscard]] virtual Result<api::Posted> post(const api::PostedAllocation& posted) = 0;
  [[nodiscard]] virtual Result<api::AllocationPage> allocations(std::uint64_t after) = 0;
  [[nodiscard]] virtual Result<api::AllocationStates> states(std::string_view plan) = 0;
};

struct PulledPlan {
  std::string plan;
  std::string owner;
  std::uint64_t revision = 0;
};

// The coordinator's side.
class Planning {
 public:
  Planning() = default;
  virtual ~Planning() = default;
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

  // As Service::plan() with an id: the same id again gives the same plan.
  virtual Reply<api::Submitted> plan(std::uint64_t id, const std::string& owner, const api::PlanRequest& request) = 0;
  virtual Reply<api::Submitted> find(const std::string& owner, const std::string& plan) = 0;
  // False: not now (the ledger takes nothing). A plan that is not there is fine.
  virtual bool created(const std::string& owner, const std::string& plan, const api::CreatedRequest& request) = 0;
  virtual bool expire(const std::string& owner, const std::string& plan) = 0;
  virtual std::vector<PulledPlan> pending() = 0;  // from this database
  virtual std::uint64_t changes() = 0;            // another number when plans were mended, or came out of the queue
};

struct PullOptions {
  std::string url;      // of the database; its plans are known by it
  std::string planner;  // who plans: the coordinator's own address
  Duration interval{5'000'000'000};
  Duration longest{60'000'000'000};  // between tries of one that does not answer
  Duration retry{60'000'000'000};    // of a request that could not be planned
};

struct PullFigures {
  bool up = false;             // the last turn went to its end
  std::uint64_t revision = 0;  // seen
  std::uint64_t waiting = 0;   // predictions that wait at the gate, or could not be planned
  std::uint64_t turns = 0;
  std::uint64_t failures = 0;  // turns that did not
  std::uint64_t fetched = 0;   // predictions
  std::uint64_t posted = 0;    // plans that were taken
  std::uint64_t verdicts = 0;  // that there is no plan, likewise
  std::uint64_t replaced = 0;  // and those that came too late
  std::uint64_t refused = 0;   // requests that could not be planned
};

class Puller {
 public:
  Puller(PullOptions options, PulledDatabase& database, Planning& planning, Logger& log)
      : options_(std::move(options)), database_(database), planning_(planning), log_(log) {}

  // Gives when to come back. Times are those of a monotonic clock.
  Duration turn(Duration now);

  const PullFigures& figures() const { return figures_; }

 private:
  Result<void> work(Duration now);
  Result<void> fetch(Duration now);
  Result<void> plan_one(const api::OfferedPrediction& prediction, Duration now);
  Result<void> deliver(const api::OfferedPrediction& prediction, api::PlanAnswer answer, Duration now);
  void refuse(const api::OfferedPrediction& prediction, std::string_view why, Duration now);
  Result<void> list();
  Result<void> settle();
  Result<void> tell(const PulledPlan& plan, const api::AllocationHead& head);
  Result<void> renew(const PulledPlan& plan, api::AllocationHead& head);

  PullOptions options_;
  PulledDatabase& database_;
  Planning& planning_;
  Logger& log_;
  PullFigures figures_;
  std::uint32_t failed_ = 0;           // turns in a row
  std::optional<std::uint64_t> seen_;  // revision up to which all is done
  bool unfinished_ = false;
  bool known_ = false;                                    // offered_ and heads_ are what the database said
  std::uint64_t changes_ = 0;                             // of planning_, when it was settled
  std::set<std::string, std::less<>> offered_;            // plans of predictions without one
  std::map<std::string, Duration, std::less<>> refused_;  // by key: not before
  std::map<std::string, api::AllocationHead, std::less<>> heads_;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>, std::less<>> told_;  // created and expired, by plan
};

// The id of the plan of a prediction: always the same, and not 0.
std::uint64_t plan_id(std::string_view owner, std::string_view key);

}  // namespace iez::coordinator
