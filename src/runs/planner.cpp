#include "runs/planner.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "planning/rows.hpp"
#include "planning/waiting.hpp"
#include "runs/compile_plan.hpp"
#include "runs/model_text.hpp"
#include "runs/remote_plan.hpp"
#include "runs/space.hpp"
#include "runs/target_history.hpp"

namespace iez::runs {

namespace {

using Reservations = std::vector<placement::Reservation>;

constexpr std::size_t kGaps = 10;
constexpr double kNanosecond = 1e-9;

const std::string& looked_up(const store::PredictionRow& row) { return row.created_as.empty() ? row.name : row.created_as; }

struct Choice {
  std::string file_system;
  std::vector<std::uint32_t> rows;
};

// The file system with the most bytes.
Result<Choice> choose_file_system(const PlanQuestion& question) {
  std::map<std::string, Choice> by_name;
  std::map<std::string, double> bytes;
  for (std::uint32_t i = 0; i < question.prediction.rows.size(); ++i) {
    const store::PredictionRow& row = question.prediction.rows[i];
    const LayoutMount* const mount = mount_of(question.mounts, looked_up(row));
    if (mount == nullptr) continue;
    Choice& choice = by_name[mount->file_system];
    choice.file_system = mount->file_system;
    choice.rows.push_back(i);
    bytes[mount->file_system] += static_cast<double>(row.bytes.count) * static_cast<double>(row.files) + 1;
  }
  if (by_name.empty()) return fail(Errc::not_found, "its files are on no file system that takes layouts");
  const auto best = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  if (by_name.size() > 1) {
    question.notes.push_back(fmt::format("the plan is for file system {} alone; the run wrote to others, too", best->first));
  }
  return std::move(by_name[best->first]);
}

void append(Reservations& to, const Reservations& from) { to.insert(to.end(), from.begin(), from.end()); }

// What other applications of this user are about to write there.
Result<Reservations> other_plans(const PlanQuestion& question, const std::string& file_system) {
  Reservations all;
  IEZ_TRY(const auto applications, question.store.applications(question.application.owner));
  const std::int64_t now = question.clock.wall().time_since_epoch().count();
  for (const store::ApplicationSummary& one : applications) {
    if (one.application.id == question.application.id || one.waiting == 0) continue;
    IEZ_TRY(const auto allocation, question.store.latest_allocation(one.application.id));
    if (!allocation || allocation->file_system != file_system) continue;
    IEZ_TRY(const auto runs, question.store.runs(one.application.id, kGaps + 1));
    const double age = static_cast<double>(now - allocation->made_ns) * kNanosecond;
    const double share = planning::waiting_share(age, usual_gap_s(runs));
    if (share > 0) append(all, reservations_of(*allocation, share));
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

Result<std::vector<planning::SlowTarget>> suspects(const PlanQuestion& question, const Choice& choice) {
  return slow_targets(question.store, choice.file_system, question.clock.wall().time_since_epoch().count());
}

Result<PlanOutcome> plan_here(const PlanQuestion& question, const Choice& choice) {
  FileSpace space;
  IEZ_TRY(model::Cluster cluster,
          read_cluster(roots_of(question.mounts, choice.file_system, question.settings.roots), choice.file_system));
  if (const auto before = question.before.find(choice.file_system); before != question.before.end()) {
    cluster = at_least(std::move(cluster), before->second, written_by(question, space));
  }
  LocalView view{.cluster = cluster, .reservations = {}, .replaced = replaced_by(question, choice, space), .slow = {}};
  IEZ_TRY(view.reservations, other_plans(question, choice.file_system));
  IEZ_TRY(view.slow, suspects(question, choice));
  IEZ_TRY(PlanOutcome outcome, plan_locally(question.prediction, choice.rows, view, question.settings.place.always));
  if (!outcome.allocation) return outcome;
  store::Allocation& allocation = *outcome.allocation;
  allocation.prediction = question.prediction.id;
  allocation.plan = new_plan_id(question);
  allocation.made_ns = question.clock.wall().time_since_epoch().count();
  allocation.planner = kLocalPlanner;
  allocation.file_system = choice.file_system;
  return outcome;
}

struct Habit {
  double gap_s = 0;
  double idle_s = 0;  // since the last run ended; 0: it has just ended
  double ran_s = 0;   // that the last run took
};

Habit habit_of(const PlanQuestion& question) {
  const auto runs = question.store.runs(question.application.id, kGaps + 1);
  if (!runs || runs->empty()) return {};
  Habit habit{.gap_s = usual_gap_s(*runs)};
  habit.ran_s = std::max(0.0, static_cast<double>(runs->front().ended_ns - runs->front().started_ns) * kNanosecond);
  const std::int64_t now = question.clock.wall().time_since_epoch().count();
  if (question.files.empty()) habit.idle_s = std::max(0.0, static_cast<double>(now - runs->front().ended_ns) * kNanosecond);
  return habit;
}

model::Cluster without(model::Cluster cluster, std::span<const placement::Reservation> replaced) {
  std::map<OstIndex, std::uint64_t> freed;
  for (const placement::Reservation& one : replaced) freed[one.ost] += one.bytes.count;
  for (model::Ost& ost : cluster.osts) {
    const auto found = freed.find(ost.index);
    if (found == freed.end()) continue;
    const std::uint64_t bytes = std::min(found->second, model::used(ost).count);
    ost.free.count += bytes;
    ost.available.count += bytes;
  }
  return cluster;
}

Reservations known_ones(const model::Cluster& cluster, std::span<const placement::Reservation> all) {
  Reservations out;
  for (const placement::Reservation& one : all) {
    if (std::ranges::any_of(cluster.osts, [&](const model::Ost& ost) { return ost.index == one.ost; })) out.push_back(one);
  }
  return out;
}

planning::Row planning_row(const store::PredictionRow& row) {
  return {.file = {.bytes = std::max(row.bytes, Bytes{1}),
                   .room = std::max(row.bytes, row.high),
                   .phase = row.phase,
                   .read_phase = row.read_phase < 0 ? planning::kNoPhase : static_cast<std::uint32_t>(row.read_phase),
                   .stripes = row.stripe_count,
                   .stripe_size = row.stripe_size,
                   .default_stripes = row.default_stripes,
                   .default_stripe_size = row.default_stripe_size,
                   .shared = row.shared,
                   .left_alone = row.left_alone},
          .files = row.files};
}

// Empty: it takes objects.
std::string_view why_unfit(const model::Ost& ost) {
  if (!ost.state.active) return "inactive";
  if (ost.state.read_only) return "read-only";
  if (ost.state.no_create) return "closed to new objects";
  return model::full(ost) ? "full" : "";
}

}  // namespace

Result<PlanOutcome> make_plan(const PlanQuestion& question) {
  IEZ_TRY(const Choice choice, choose_file_system(question));
  if (question.settings.coordinator.asked()) {
    FileSpace space;
    const Habit habit = habit_of(question);
    IEZ_TRY(const auto slow, suspects(question, choice));
    auto answered = ask_coordinator({.settings = question.settings,
                                     .wanted = {.application = question.application.name,
                                                .host = question.host,
                                                .file_system = choice.file_system,
                                                .prediction = question.prediction,
                                                .rows = choice.rows,
                                                .freed = freed_bytes(replaced_by(question, choice, space)),
                                                .slow = slow_osts(slow),
                                                .always = question.settings.place.always,
                                                .gap_s = habit.gap_s,
                                                .idle_s = habit.idle_s,
                                                .ran_s = habit.ran_s},
                                     .clock = question.clock});
    if (answered) return answered;
    question.notes.push_back(fmt::format("planned on this node: {}", answered.error().message));
  }
  return plan_here(question, choice);
}

Result<PullNote> note_for_pull(const PlanQuestion& question) {
  IEZ_TRY(Choice choice, choose_file_system(question));
  IEZ_TRY(const auto slow, suspects(question, choice));
  FileSpace space;
  const Habit habit = habit_of(question);
  return PullNote{.host = question.host,
                  .file_system = choice.file_system,
                  .rows = choice.rows,
                  .freed = freed_bytes(replaced_by(question, choice, space)),
                  .slow = slow_osts(slow),
                  .always = question.settings.place.always,
                  .gap_s = habit.gap_s,
                  .ran_s = habit.ran_s};
}

std::vector<UnfitTarget> unfit_targets(std::span<const OstIndex> used, const model::Cluster& cluster) {
  std::vector<UnfitTarget> out;
  for (const OstIndex index : used) {
    const auto found = std::ranges::find(cluster.osts, index, &model::Ost::index);
    const std::string_view why = found == cluster.osts.end() ? "gone" : why_unfit(*found);
    if (!why.empty()) out.push_back({.ost = index, .why = std::string(why)});
  }
  return out;
}

Result<PlanOutcome> plan_locally(const store::Prediction& prediction, std::span<const std::uint32_t> rows, const LocalView& view,
                                 bool always) {
  const model::Cluster cluster = without(view.cluster, view.replaced);
  placement::TargetOptions options;
  options.reservations = known_ones(cluster, view.reservations);
  IEZ_TRY(const placement::TargetTable table, placement::make_targets(cluster, options));
  IEZ_TRY(const placement::TargetTable seen, placement::make_targets(cluster, {}));
  std::vector<OstIndex> osts;
  for (const placement::Target& target : table.targets) osts.push_back(target.ost);
  std::vector<planning::Row> wanted;
  wanted.reserve(rows.size());
  for (const std::uint32_t number : rows) wanted.push_back(planning_row(prediction.rows.at(number)));
  IEZ_TRY(const planning::RowsPlan planned, planning::plan_rows(wanted,
                                                                {.table = table,
                                                                 .phase_seconds = prediction.phase_seconds,
                                                                 .speed = planning::speeds_of(view.slow, osts),
                                                                 .load = {},
                                                                 .seen = &seen},
                                                                {.compare = !always}));
  PlanOutcome out{.allocation = std::nullopt, .verdict = planning::verdict_text(planned.plan), .gain = planned.plan.gain()};
  const std::string slow = planning::slow_text(view.slow, osts);
  if (planned.made() && !slow.empty()) out.verdict += "; " + slow;
  if (planned.plan.verdict == planning::Verdict::no_room) {
    out.verdict = fmt::format("{}: not enough room on any set of OSTs", prediction.rows.at(rows[planned.short_of_room]).name);
  }
  if (!planned.made()) return out;
  store::Allocation& allocation = out.allocation.emplace();
  allocation.policy = "phases";
  PlanDetails details;
  std::set<OstIndex> used;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const planning::PlannedRow& from = planned.rows[i];
    if (from.layouts.empty()) continue;
    store::AllocationRow& row = allocation.rows.emplace_back();
    row.row = rows[i];
    row.reason = from.reason;
    for (const planning::RowLayout& layout : from.layouts) {
      row.layouts.push_back({.stripe_size = layout.stripe_size, .osts = layout.osts});
      used.insert(layout.osts.begin(), layout.osts.end());
    }
  }
  details.osts.assign(used.begin(), used.end());
  details.ost_cost_before = planned.plan.before.ost_cost;
  details.oss_cost_before = planned.plan.before.oss_cost;
  details.ost_cost_after = planned.plan.score.balance.ost_cost;
  details.oss_cost_after = planned.plan.score.balance.oss_cost;
  details.notes.push_back(out.verdict);
  for (const placement::Target& target : table.targets) {
    if (target.exclusion == placement::Exclusion::none) continue;
    details.notes.push_back(fmt::format("OST {} is left out: {}", target.ost.value, placement::to_string(target.exclusion)));
  }
  allocation.details = to_text(details);
  return out;
}

double usual_gap_s(std::span<const store::Run> newest_first) {
  std::vector<double> gaps;
  for (std::size_t i = 0; i + 1 < newest_first.size() && gaps.size() < kGaps; ++i) {
    gaps.push_back(static_cast<double>(newest_first[i].started_ns - newest_first[i + 1].started_ns) * kNanosecond);
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  return std::max(*middle, 1.0);
}

std::vector<placement::Reservation> reservations_of(const store::Allocation& allocation, double share) {
  Reservations all;
  for (const store::AllocationRow& row : allocation.rows) {
    if (row.state != store::PlanState::planned) continue;
    for (const store::StripeLayout& layout : row.layouts) add_objects(row.bytes, layout.stripe_size, layout.osts, all);
  }
  std::map<OstIndex, std::uint64_t> sums;
  for (const placement::Reservation& one : all) sums[one.ost] += one.bytes.count;
  Reservations out;
  out.reserve(sums.size());
  for (const auto& [ost, bytes] : sums) {
    out.push_back({.ost = ost, .bytes = Bytes{static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * share))}});
  }
  return out;
}

}  // namespace iez::runs
