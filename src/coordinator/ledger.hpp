// What the coordinator must not forget: plans that are not written yet, and requests that wait, in STATE/coordinator.db.
//
// A commit is one transaction of many changes: all of them or none. With Durability::machine it is on the disk when commit()
// returns; a plan is acknowledged only then.
//
// Thread safety: none. Files: mode 0600; a lock keeps a second coordinator out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "coordinator/stored_plan.hpp"
#include "sql/sqlite.hpp"

namespace iez::coordinator {

// A request that came while the node was busy.
struct Queued {
  std::uint64_t id = 0;
  std::uint64_t turn = 0;  // the lower the earlier
  std::int64_t made_ns = 0;
  std::string user;
  std::string body;     // the request, as JSON
  std::string outcome;  // not empty: it has no plan. Why it could not be planned, as problem+json, or the answer with the verdict
};
using QueuedPointer = std::shared_ptr<const Queued>;

// Of one id. What was there before is kept for those who must take the change back.
struct Change {
  std::uint64_t id = 0;
  PlanPointer plan_before;
  PlanPointer plan_after;
  QueuedPointer queued_before;
  QueuedPointer queued_after;
};

class Ledger {
 public:
  // folder: made if it is not there, mode 0700.
  [[nodiscard]] static Result<std::unique_ptr<Ledger>> open(const std::string& folder, sql::Durability durability);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] Result<void> load(const std::function<void(StoredPlan&&)>& plan, const std::function<void(Queued&&)>& queued);

  // Errc::limit: the disk is full. Nothing of a commit that fails is kept.
  [[nodiscard]] Result<void> commit(std::span<const Change> changes);

 private:
  Ledger(int lock, std::unique_ptr<sql::Database> database) : lock_(lock), database_(std::move(database)) {}

  int lock_;
  std::unique_ptr<sql::Database> database_;
};

}  // namespace iez::coordinator
