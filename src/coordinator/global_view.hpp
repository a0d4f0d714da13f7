// What the coordinator knows: telemetry, and the plans of all applications that are not written yet.
//
// Each object of such a plan is reserved on its target; planning sees targets as they will be when all of it is written, with the
// sizes that are expected, and room as if each file took what is reserved for it, which is seldom exceeded. A file
// that was created leaves the reservations (its bytes are in telemetry then, or will be), and so does a plan that was taken
// back. Files that it will replace are taken off its targets as long as none of it was created. Sums are kept per target:
// planning costs what the request and the targets ask for, not what is pending.
//
// Targets of which telemetry is old are planned around. When a target takes no objects any more, or has less room than is
// reserved there, mend() plans what was not created anew: the newest plans move first. rebalance() does so for applications that
// come at once.
//
// No input or output, no clock: times come as arguments. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/result.hpp"
#include "coordinator/plan_files.hpp"
#include "coordinator/stored_plan.hpp"
#include "model/cluster.hpp"
#include "placement/policy.hpp"
#include "placement/targets.hpp"

namespace iez::coordinator {

// A plan before and after; null: there is none.
struct PlanChange {
  PlanPointer before;
  PlanPointer after;
};

struct TargetReport {
  OstIndex ost;
  std::string name;
  Bytes total;
  Bytes free;
  Bytes available;
  Bytes reserved;
  bool stale = false;
  placement::Exclusion exclusion = placement::Exclusion::none;
};

class GlobalView {
 public:
  static constexpr double kEven = 1.01;  // OSTCost that is good enough

  // thorough: for plans made together, which are few; none: the same policy.
  explicit GlobalView(std::unique_ptr<placement::Policy> policy, std::unique_ptr<placement::Policy> thorough = nullptr)
      : policy_(std::move(policy)), thorough_(std::move(thorough)) {}

  // What telemetry says now. Fails for a cluster that makes no sense; the one before stays then.
  [[nodiscard]] Result<void> set_cluster(model::Cluster cluster, std::vector<OstIndex> stale);

  std::vector<std::string> file_systems() const;

  // The name of a file system, or of the only one. Errc::not_found: not known.
  [[nodiscard]] Result<std::string> resolve(const std::string& file_system) const;

  // Plans; nothing is changed by it. Errc::limit: no room. REQUIRES: check(request) holds, resolve() knows its file system.
  [[nodiscard]] Result<StoredPlan> plan(const api::PlanRequest& request, std::string_view user, std::uint64_t id,
                                        std::int64_t now_ns, std::int64_t ttl_ns);

  // The plan of this id is this one from now on; null: there is none.
  void put(std::uint64_t id, PlanPointer plan);

  PlanPointer find(std::uint64_t id) const;
  std::vector<PlanPointer> earlier(std::string_view user, std::string_view application, std::string_view file_system) const;
  std::vector<PlanPointer> expired(std::int64_t now_ns) const;
  const std::unordered_map<std::uint64_t, PlanPointer>& plans() const { return plans_; }
  std::uint64_t pending_files() const { return pending_files_; }

  // Plans that were mended, in place already; the caller makes it last, or puts them back. At most so many.
  std::vector<PlanChange> mend(std::size_t most);

  // Plans of several applications that were made one after the other, each without knowing of those to come: where planning them
  // together makes the targets more even, they are planned anew. Looks at the last kTogether made since then of which nothing was
  // created, with at most kRebalanced files in all; what was of no use is not tried again before something changes. In place
  // already, as with mend().
  static constexpr std::size_t kTogether = 8;
  static constexpr std::size_t kRebalanced = 10'000;
  std::vector<PlanChange> rebalance(std::int64_t since_ns);

  [[nodiscard]] Result<std::vector<api::OstWeight>> weights(const std::string& file_system) const;

  Bytes reserved(const std::string& file_system, OstIndex ost) const;
  std::vector<TargetReport> targets(const std::string& file_system) const;
  const model::Cluster* cluster(const std::string& file_system) const;
  std::size_t usable_targets(const std::string& file_system) const;

 private:
  struct FileSystem {
    model::Cluster cluster;
    std::vector<OstIndex> stale;
    placement::TargetTable base;       // without reservations
    placement::TargetTable table;      // with them
    std::vector<std::uint32_t> place;  // by OST index: position in the table, or kNone
    std::vector<bool> failed;          // by position: takes no objects, for another reason than space or old telemetry
  };
  struct Sums {
    std::vector<std::uint64_t> reserved;  // by OST index
    std::vector<std::uint64_t> expected;  // of it
    std::vector<std::uint64_t> freed;
  };
  struct Tried {
    double cost = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> plans;  // id and revision
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  void account(const StoredPlan& plan, bool add);
  void refresh(FileSystem& known, const Sums& sums, std::uint32_t ost);
  static Bytes replaced(const FileSystem& known, const Sums& sums, std::uint32_t ost);
  static void free_for(FileSystem& known, const Sums& sums, std::span<const api::FreedBytes> freed);
  bool overfull(const FileSystem& known, const Sums& sums, std::uint32_t ost) const;
  bool misplaced(const FileSystem& known, const Sums& sums, const StoredPlan& plan) const;
  Result<PlanPointer> mended(FileSystem& known, const StoredPlan& plan);
  Result<std::vector<PlanPointer>> planned_together(FileSystem& known, std::span<const PlanPointer> plans);

  std::unique_ptr<placement::Policy> policy_;
  std::unique_ptr<placement::Policy> thorough_;
  std::map<std::string, FileSystem, std::less<>> file_systems_;
  std::map<std::string, Sums, std::less<>> sums_;
  std::unordered_map<std::uint64_t, PlanPointer> plans_;
  std::map<std::string, std::set<std::uint64_t>, std::less<>> by_application_;  // user, application and file system
  std::set<std::pair<std::int64_t, std::uint64_t>> by_expiry_;
  std::uint64_t pending_files_ = 0;
  std::map<std::string, Tried, std::less<>> tried_;  // by rebalance(), last
};

}  // namespace iez::coordinator
