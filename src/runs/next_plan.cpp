#include "runs/next_plan.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lustre/layout_file.hpp"
#include "runs/model_text.hpp"
#include "runs/next_prediction.hpp"
#include "runs/ost_cost.hpp"
#include "runs/planner.hpp"
#include "runs/pull_note.hpp"
#include "runs/remote_plan.hpp"

namespace iez::runs {

namespace {

constexpr const char* kToCompare = "by Lustre's default once, to have something to compare with";

struct Learnt {
  store::Prediction prediction;
  std::vector<store::Run> runs;            // newest first
  std::vector<store::FileRow> last_files;  // of the newest run learnt from
};

Result<Learnt> learn(const NextPlanQuestion& question) {
  const config::Settings::Run& limits = question.settings.run;
  Learnt out;
  const std::size_t wanted = std::max<std::size_t>(std::size_t{limits.history} * 4, kLookedAt);
  IEZ_TRY(out.runs, question.store.runs(question.application.id, wanted));
  std::vector<PastRun> history;
  const auto skipped = [&](std::size_t newer, std::size_t older) {
    return goes_on(question.store, question.settings, out.runs[newer], out.runs[older]);
  };
  for (const std::size_t i : runs_to_learn_from(out.runs, limits.history, fit_limits(question.settings), skipped)) {
    IEZ_TRY(auto files, question.store.files(out.runs[i].id));
    history.push_back({.run = out.runs[i], .files = std::move(files)});
  }
  IEZ_TRY(out.prediction, predict(history, {.ranks = question.ranks,
                                            .reserve = limits.reserve,
                                            .now_ns = question.clock.wall().time_since_epoch().count()}));
  if (question.ranks != 0) out.prediction.ranks = question.ranks;
  out.last_files = std::move(history.back().files);
  return out;
}

std::string stepped_back_text(const GuardAnswer& guard) {
  return fmt::format("placed runs were slower than by default ({}); a plan is tried again after {} more runs", gain_text(guard),
                     guard.tries_in);
}

std::string nothing_text(const LeftAlone& left, const config::Settings& settings) {
  std::string out = fmt::format("its files are left to Lustre: {}", left_alone_text(left, settings.place.least_file));
  if (left.existing > 0) {
    out += "; what is written over in place keeps its OSTs, and `iez run --replace` moves the old files aside before the run";
  }
  return out;
}

// The plan that there is holds no more.
Result<void> withdraw(const NextPlanQuestion& question) {
  IEZ_TRY(const auto last, question.store.latest_allocation(question.application.id));
  if (!last || last->planned + last->created == 0) return {};
  IEZ_TRY([[maybe_unused]] const auto rows, question.store.withdraw(question.application.id));
  if (last->planner != kLocalPlanner) take_back(question.settings, last->plan);
  return {};
}

// What `iez run` will tell as OSTCost if the plan is followed, and what it told of the run before.
void note_costs(const NextPlanQuestion& question, const store::Prediction& prediction, store::Allocation& allocation) {
  const auto cluster = question.before.find(allocation.file_system);
  auto details = parse_details(allocation.details.empty() ? "{}" : allocation.details);
  if (cluster == question.before.end() || !details) return;
  for (store::AllocationRow& row : allocation.rows) {
    if (row.row >= prediction.rows.size()) continue;
    row.bytes = prediction.rows[row.row].bytes;
    row.files = prediction.rows[row.row].files;
  }
  details->run_cost_before = question.ost_cost;
  details->file_system_osts = cluster->second.osts.size();
  details->run_cost_after = ost_cost(allocation, question.settings.place.least_file, details->file_system_osts);
  allocation.details = to_text(*details);
}

}  // namespace

FitLimits fit_limits(const config::Settings& settings) {
  return {.unpredicted = settings.run.unplanned_limit, .size = settings.run.size_limit};
}

bool goes_on(store::Store& store, const config::Settings& settings, const store::Run& newer, const store::Run& older) {
  const auto now = store.files(newer.id);
  const auto before = store.files(older.id);
  return now && before && only_numbers_differ(*before, *now, settings.place.least_file, fit_limits(settings));
}

Result<NextPlan> make_next_plan(const NextPlanQuestion& question) {
  NextPlan out;
  IEZ_TRY(Learnt learnt, learn(question));
  store::Prediction& prediction = learnt.prediction;
  DirectoryDefaults defaults(question.mounts, lustre::read_layout);
  out.left = apply_rules(prediction.rows, learnt.last_files, defaults,
                         {.least_file = question.settings.place.least_file,
                          .free_layout = question.settings.place.free,
                          .override_directories = question.override_directories,
                          .replace = question.replace});
  for (const store::PredictionRow& row : prediction.rows) out.files += row.files;
  out.guard = judge_history(learnt.runs, shape_of(prediction, question.settings.place.least_file, learnt.runs, learnt.last_files),
                            stored_facts(question.store));
  if (question.no_place) {
    out.verdict = "asked not to place";
  } else if (out.left.all() == out.files) {
    out.verdict = nothing_text(out.left, question.settings);
  } else if (out.guard.step_back && !question.settings.place.always) {
    out.verdict = stepped_back_text(out.guard);
  } else if (out.guard.by_default_once && !question.settings.place.always && !question.replace) {
    out.verdict = kToCompare;  // without a plan nothing is moved aside: the old files would be written over, and tell nothing
  }

  const PlanQuestion asked{.settings = question.settings,
                           .application = question.application,
                           .prediction = prediction,
                           .mounts = question.mounts,
                           .before = question.before,
                           .files = question.files,
                           .store = question.store,
                           .host = question.host,
                           .clock = question.clock,
                           .notes = question.notes};
  // A pull is for the next run, and this one would begin before the coordinator comes by.
  out.pulled = question.settings.coordinator.pull && out.verdict.empty() && !question.files.empty();
  if (out.pulled) {
    IEZ_TRY(const PullNote wanted, note_for_pull(asked));
    auto model = with_pull_note(prediction.model, wanted);
    auto request = pulled_request(question.application.name, prediction, wanted, prediction.made_ns);
    out.pulled = model && request;
    if (out.pulled) {
      prediction.model = *std::move(model);
    } else {
      question.notes.push_back(fmt::format("planned on this node: {}", (model ? request.error() : model.error()).message));
    }
  }
  prediction.verdict = out.verdict.substr(0, store::kMaxShort);
  IEZ_TRY(prediction.id, question.store.put_prediction(prediction));
  if (out.pulled) return out;
  if (out.verdict.empty()) {
    IEZ_TRY(PlanOutcome outcome, make_plan(asked));
    out.verdict = std::move(outcome.verdict);
    out.gain = outcome.gain;
    out.allocation = std::move(outcome.allocation);
    if (!out.allocation) IEZ_CHECK(question.store.set_verdict(prediction.id, out.verdict));
  }
  if (!out.allocation) {
    IEZ_CHECK(withdraw(question));
    return out;
  }
  note_costs(question, prediction, *out.allocation);
  out.verdict = told_promise(out.verdict, out.guard);
  IEZ_TRY([[maybe_unused]] const auto id, question.store.put_allocation(*out.allocation));
  return out;
}

}  // namespace iez::runs
