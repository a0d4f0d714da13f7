// What the coordinator knows: telemetry, and the plans of all applications that are not written yet.
//
// Plans of others are space. Each object of such a plan is reserved on its target; planning sees targets as they will be when all
// of it is written, with the sizes that are expected, and room as if each file took what is reserved for it, which is seldom
// exceeded. A file that was created leaves the reservations (its bytes are in telemetry then, or will be), and so does a plan
// that was taken back, or expired. A plan whose run does not come fades before it expires (planning/waiting.hpp): it counts whole
// for the first third of its life, then by eighths less. Files that it will replace are taken off its targets as long as none of
// it was created. Sums are kept per target: planning costs what the request and the targets ask for, not what is pending. As
// traffic no plan counts, for nobody knows when it will be carried out.
//
// Traffic is what moves on each target now, by telemetry (target_rates.hpp), in the phases whose duration is known. Whoever asks
// has just run, and what it moved itself says nothing of its next run: so a rate counts only if all of the time that it was
// measured over lies kSettles_ns or more after the end of that run, which was PlanRequest::idle_s ago, and if it is not stale.
// For so long clients may still write what the run left in their caches.
//
// Targets of which telemetry is old are planned around. When a target takes no objects any more, or has less room than is
// reserved there, mend() plans the files that it was to get anew: those of the newest plans move first.
//
// Plans come one after the other, and each is made for the time of its own files. Where the last runs of several applications
// overlapped, plan_together() plans them anew as one (together.hpp). When a plan's run begins, begin() looks it over once more,
// among what moves then (begin.hpp); from then on it is not planned together with others any more.
//
// No input or output, no clock: times come as arguments. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/result.hpp"
#include "coordinator/stored_plan.hpp"
#include "coordinator/target_rates.hpp"
#include "model/cluster.hpp"
#include "placement/targets.hpp"
#include "planning/planner.hpp"

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

// From the end of a run until what it left in the caches of clients is written.
inline constexpr std::int64_t kSettles_ns = 30'000'000'000;

class GlobalView {
 public:
  static constexpr std::string_view kPolicy = "phases";  // as plans and answers name the way they were made

  // effort: of the search, for each phase (planning/planner.hpp).
  explicit GlobalView(std::uint64_t effort = planning::PlanOptions{}.effort) : effort_(effort) {}

  // What telemetry says now. Fails for a cluster that makes no sense; the one before stays then. Rates of targets that the
  // cluster does not have are ignored.
  [[nodiscard]] Result<void> set_cluster(model::Cluster cluster, std::vector<OstIndex> stale, std::vector<TargetRate> rates = {});

  std::vector<std::string> file_systems() const;

  // The name of a file system, or of the only one. Errc::not_found: not known.
  [[nodiscard]] Result<std::string> resolve(const std::string& file_system) const;

  // Plans; nothing is changed by it. Without an id: Lustre's default is as good, or no file is to be planned. Errc::limit: no
  // room. REQUIRES: check(request) holds, resolve() knows its file system.
  [[nodiscard]] Result<StoredPlan> plan(const api::PlanRequest& request, std::string_view user, std::uint64_t id,
                                        std::int64_t now_ns, std::int64_t ttl_ns);

  // The plan of this id is this one from now on; null: there is none.
  void put(std::uint64_t id, PlanPointer plan);

  // Counts plans that wait by their age at this time. Time does not go back: an earlier one changes nothing.
  void fade(std::int64_t now_ns);

  // Of the plan's reservations, so many eighths count.
  std::uint32_t eighths(std::uint64_t id) const;

  PlanPointer find(std::uint64_t id) const;
  std::vector<PlanPointer> earlier(std::string_view user, std::string_view application, std::string_view file_system) const;
  std::vector<PlanPointer> expired(std::int64_t now_ns) const;
  const std::unordered_map<std::uint64_t, PlanPointer>& plans() const { return plans_; }
  std::uint64_t pending_files() const { return pending_files_; }

  // Plans that were mended, in place already; the caller makes it last, or puts them back. Tries so many, whatever comes of it;
  // the next call goes on behind them, and begins with the newest again when all had their turn.
  std::vector<PlanChange> mend(std::size_t most);

  // Plans that came since the last call, each with those of applications that ran at the same time: those that are the better for
  // it, in place already, as with mend(). Looks at kSeeds plans that came, and at less once it has done kWorkTogether; the others
  // have their turn in the next call. A plan is planned together with at most kPartners, at most kWorkTogether in all.
  static constexpr std::size_t kSeeds = 16;
  static constexpr std::size_t kPartners = 7;
  static constexpr std::size_t kWorkTogether = 20'000;  // StoredPlan::work()
  std::vector<PlanChange> plan_together();

  // The run of this plan begins. What became of the plan by what others move now is in place already, as with mend(); none: it
  // stays as it is, always if it may not change. REQUIRES: the plan is there.
  std::optional<PlanChange> begin(std::uint64_t id, std::int64_t now_ns, bool may_change);

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
    std::vector<TargetRate> rates;
  };
  struct Sums {
    std::vector<std::uint64_t> reserved;  // by OST index
    std::vector<std::uint64_t> expected;  // of it
    std::vector<std::uint64_t> freed;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // put() for a plan that is taken out for a moment, or counts anew: whether it was looked at, or has begun, stays as it is.
  void set(std::uint64_t id, PlanPointer plan);
  void account(const StoredPlan& plan, std::uint32_t eighths, bool add);
  void refresh(FileSystem& known, const Sums& sums, std::uint32_t ost);
  static Bytes replaced(const FileSystem& known, const Sums& sums, std::uint32_t ost);
  static void free_for(FileSystem& known, const Sums& sums, std::span<const api::FreedBytes> freed);
  static placement::TargetTable seen_by_lustre(const FileSystem& known, std::span<const api::FreedBytes> freed);
  bool overfull(const FileSystem& known, const Sums& sums, std::uint32_t ost) const;
  std::vector<bool> misplaced(const FileSystem& known, const Sums& sums, const StoredPlan& plan) const;
  PlanPointer mended(FileSystem& known, const StoredPlan& plan, std::vector<bool> affected);
  std::vector<PlanPointer> side_by_side(const PlanPointer& plan) const;
  // Bytes per second on each target that were measured wholly after the time; empty: none.
  static std::vector<double> load_since(const FileSystem& known, std::int64_t since_ns, std::int64_t now_ns);

  std::uint64_t effort_;
  std::map<std::string, FileSystem, std::less<>> file_systems_;
  std::map<std::string, Sums, std::less<>> sums_;
  std::unordered_map<std::uint64_t, PlanPointer> plans_;
  std::map<std::string, std::set<std::uint64_t>, std::less<>> by_application_;  // user, application and file system
  std::set<std::pair<std::int64_t, std::uint64_t>> by_expiry_;
  std::set<std::pair<std::int64_t, std::uint64_t>> by_run_;     // when the last run ended, where that is known, and the id
  std::set<std::uint64_t> came_;                                // not looked at by plan_together()
  std::set<std::uint64_t> begun_;                               // plans that a run goes by
  std::set<std::pair<std::int64_t, std::uint64_t>> by_fading_;  // when the plan counts less, and its id
  struct Counted {
    std::uint32_t eighths = 8;
    std::int64_t until_ns = 0;  // in by_fading_, if any of it counts
  };
  std::unordered_map<std::uint64_t, Counted> counted_;                                // every plan
  std::map<std::string, std::pair<std::int64_t, std::uint64_t>, std::less<>> tried_;  // by mend(), the last: when it was made, id
  std::int64_t now_ns_ = 0;                                                           // of fade()
  std::uint64_t pending_files_ = 0;
};

}  // namespace iez::coordinator
