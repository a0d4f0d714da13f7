#include "runs/planner.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "runs/compile_plan.hpp"
#include "runs/remote_plan.hpp"
#include "runs/space.hpp"

namespace iez::runs {

namespace {

constexpr std::int64_t kReservationAge = 7LL * 24 * 3600 * 1'000'000'000;  // a plan that nobody carried out for so long is void

using Reservations = std::vector<placement::Reservation>;

const std::string& looked_up(const store::PredictionRow& row) { return row.created_as.empty() ? row.name : row.created_as; }

struct Choice {
  std::string file_system;
  std::vector<std::uint32_t> rows;
  std::vector<std::string> names;  // of those
};

// The file system with the most bytes.
Result<Choice> choose_file_system(const PlanQuestion& question) {
  std::map<std::string, Choice> by_name;
  std::map<std::string, std::uint64_t> bytes;
  for (std::uint32_t i = 0; i < question.prediction.rows.size(); ++i) {
    const store::PredictionRow& row = question.prediction.rows[i];
    const LayoutMount* const mount = mount_of(question.mounts, looked_up(row));
    if (mount == nullptr) continue;
    Choice& choice = by_name[mount->file_system];
    choice.file_system = mount->file_system;
    choice.rows.push_back(i);
    choice.names.push_back(row.name);
    bytes[mount->file_system] += row.bytes.count * row.files + 1;
  }
  if (by_name.empty()) return fail(Errc::not_found, "its files are on no file system that takes layouts");
  const auto best = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  if (by_name.size() > 1) {
    question.notes.push_back(fmt::format("the plan is for file system {} alone; the run wrote to others, too", best->first));
  }
  return std::move(by_name[best->first]);
}

void append(Reservations& to, const Reservations& from) { to.insert(to.end(), from.begin(), from.end()); }

struct OtherPlans {
  Reservations reserved;
  Reservations vanishing;
};

// What other applications of this user are about to write there, and to replace.
Result<OtherPlans> other_plans(const PlanQuestion& question, const std::string& file_system, FileSpace& space) {
  OtherPlans all;
  IEZ_TRY(const auto applications, question.store.applications(question.application.owner));
  const std::int64_t now = question.clock.wall().time_since_epoch().count();
  for (const store::ApplicationSummary& one : applications) {
    if (one.application.id == question.application.id || one.waiting == 0) continue;
    IEZ_TRY(const auto allocation, question.store.latest_allocation(one.application.id));
    if (!allocation || allocation->file_system != file_system || now - allocation->made_ns > kReservationAge) continue;
    append(all.reserved, reservations_of(*allocation));
    for (const store::AllocationRow& row : allocation->rows) {
      if (row.state == store::PlanState::planned) append(all.vanishing, space.of(row.name));
    }
  }
  return all;
}

Reservations replaced_by(const PlanQuestion& question, const Choice& choice, FileSpace& space) {
  Reservations all;
  for (const std::uint32_t number : choice.rows) {
    const store::PredictionRow& row = question.prediction.rows[number];
    if (!row.open) append(all, space.of(row.name));
  }
  return all;
}

Reservations written_by(const PlanQuestion& question, FileSpace& space) {
  Reservations all;
  for (const store::FileRow& file : question.files) {
    if (file.created) append(all, space.of(file.renamed.empty() ? file.name : file.renamed));
  }
  return all;
}

std::string new_plan_id(const PlanQuestion& question) {
  Rng rng(static_cast<std::uint64_t>(question.clock.wall().time_since_epoch().count()) ^
          (static_cast<std::uint64_t>(::getpid()) << 32U) ^ static_cast<std::uint64_t>(question.prediction.id));
  return plan_text(std::max<std::uint64_t>(1, rng.bits()));
}

Result<store::Allocation> plan_here(const PlanQuestion& question, const Choice& choice) {
  FileSpace space;
  IEZ_TRY(model::Cluster cluster, read_cluster(question.settings.roots, choice.file_system));
  if (const auto before = question.before.find(choice.file_system); before != question.before.end()) {
    cluster = at_least(std::move(cluster), before->second, written_by(question, space));
  }
  LocalPlan local{.cluster = cluster, .replaced = replaced_by(question, choice, space)};
  IEZ_TRY(OtherPlans others, other_plans(question, choice.file_system, space));
  local.reservations = std::move(others.reserved);
  local.vanishing = std::move(others.vanishing);
  IEZ_TRY(PlannedRows planned, plan_rows(question.prediction, choice.rows, local));
  planned.details.spread = spread_folders(choice.names);
  store::Allocation allocation;
  allocation.prediction = question.prediction.id;
  allocation.plan = new_plan_id(question);
  allocation.made_ns = question.clock.wall().time_since_epoch().count();
  allocation.planner = kLocalPlanner;
  allocation.policy = std::move(planned.policy);
  allocation.file_system = choice.file_system;
  allocation.details = to_text(planned.details);
  allocation.rows = std::move(planned.rows);
  return allocation;
}

}  // namespace

Result<store::Allocation> make_allocation(const PlanQuestion& question) {
  IEZ_TRY(const Choice choice, choose_file_system(question));
  if (question.settings.coordinator.asked()) {
    FileSpace space;
    auto answered = ask_coordinator({.settings = question.settings,
                                     .wanted = {.application = question.application.name,
                                                .host = question.host,
                                                .file_system = choice.file_system,
                                                .prediction = question.prediction,
                                                .rows = choice.rows,
                                                .spread = spread_folders(choice.names),
                                                .freed = freed_bytes(replaced_by(question, choice, space))},
                                     .clock = question.clock});
    if (answered) return answered;
    question.notes.push_back(fmt::format("planned on this node: {}", answered.error().message));
  }
  return plan_here(question, choice);
}

Result<PullNote> note_for_pull(const PlanQuestion& question) {
  IEZ_TRY(Choice choice, choose_file_system(question));
  FileSpace space;
  return PullNote{.host = question.host,
                  .file_system = choice.file_system,
                  .rows = choice.rows,
                  .spread = spread_folders(choice.names),
                  .freed = freed_bytes(replaced_by(question, choice, space))};
}

Result<store::Allocation> mend(const store::Allocation& allocation, const store::Prediction& prediction,
                               std::span<const UnfitTarget> unfit, const model::Cluster& cluster) {
  std::set<OstIndex> bad;
  for (const UnfitTarget& one : unfit) bad.insert(one.ost);
  store::Allocation mended = allocation;
  mended.id = 0;
  mended.key.clear();
  std::vector<std::uint32_t> affected;
  store::Allocation others = allocation;  // keep their targets
  others.rows.clear();
  for (const store::AllocationRow& row : allocation.rows) {
    const bool hit =
        row.state != store::PlanState::expired && std::ranges::any_of(row.layouts, [&](const store::StripeLayout& layout) {
          return std::ranges::any_of(layout.osts, [&](OstIndex ost) { return bad.contains(ost); });
        });
    if (hit) {
      affected.push_back(row.row);
    } else {
      others.rows.push_back(row);
    }
  }
  const LocalPlan local{.cluster = cluster, .reservations = reservations_of(others)};
  IEZ_TRY(const PlannedRows planned, plan_rows(prediction, affected, local));
  std::set<OstIndex> used;
  for (store::AllocationRow& row : mended.rows) {
    const auto found = std::ranges::find(planned.rows, row.row, &store::AllocationRow::row);
    if (found != planned.rows.end()) {
      row.layouts = found->layouts;
      row.reason = found->reason + "; planned anew, as a target of the first plan takes no objects";
      row.state = store::PlanState::planned;
    }
    for (const store::StripeLayout& layout : row.layouts) used.insert(layout.osts.begin(), layout.osts.end());
  }
  IEZ_TRY(PlanDetails details, parse_details(allocation.details.empty() ? "{}" : allocation.details));
  details.osts.assign(used.begin(), used.end());
  std::erase_if(details.weights, [&](const auto& one) { return bad.contains(one.first); });
  for (const UnfitTarget& one : unfit) details.notes.push_back(fmt::format("OST {} is {}", one.ost.value, one.why));
  mended.details = to_text(details);
  return mended;
}

}  // namespace iez::runs
