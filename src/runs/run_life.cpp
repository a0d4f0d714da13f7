#include "runs/run_life.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/rng.hpp"
#include "base/text.hpp"
#include "plan/plan_reader.hpp"
#include "runs/client_counters.hpp"
#include "runs/compile_plan.hpp"
#include "runs/gather.hpp"
#include "runs/guard_history.hpp"
#include "runs/model_text.hpp"
#include "runs/mount_table.hpp"
#include "runs/next_plan.hpp"
#include "runs/next_prediction.hpp"
#include "runs/old_contents.hpp"
#include "runs/ost_cost.hpp"
#include "runs/planner.hpp"
#include "runs/remote_plan.hpp"
#include "runs/replaced_files.hpp"
#include "runs/row_rules.hpp"
#include "runs/run_folder.hpp"
#include "runs/space.hpp"
#include "runs/target_history.hpp"
#include "store/store.hpp"
#include "trace/merge.hpp"

namespace iez::runs {

namespace {

namespace fs = std::filesystem;

constexpr Duration kPatience{1'000'000'000};  // with the store, and with another run that is planning: the command waits
constexpr const char* kOthersPlan = "another run of this application is planning";
constexpr std::size_t kLookedBack = store::OpenOptions{}.keep_runs;  // runs whose files are kept

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~") == std::string::npos;
    if (plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out.substr(0, 64UL << 10U);
}

std::string counted_files(std::size_t count) { return fmt::format("{} {}", count, count == 1 ? "file" : "files"); }

// "a, b, c and 5 more".
std::string first_of(std::span<const std::string> texts) {
  constexpr std::size_t kTold = 3;
  const std::size_t told = std::min(texts.size(), kTold);
  std::string out = fmt::format("{}", fmt::join(texts.first(told), ", "));
  if (texts.size() > told) out += fmt::format(" and {} more", texts.size() - told);
  return out;
}

// Apart those that are there and may be needed.
MovableFiles without_needed(std::vector<std::string> names, const OldContents& old_contents) {
  MovableFiles out;
  for (std::string& name : names) {
    std::string why = old_contents.why_needed(name);
    if (why.empty()) {
      out.names.push_back(std::move(name));
    } else if (struct stat status{}; ::lstat(name.c_str(), &status) == 0) {
      out.left.push_back({.name = std::move(name), .why = std::move(why)});
    }
  }
  return out;
}

}  // namespace

std::string plan_path(const std::string& state, const std::string& application) {
  return fmt::format("{}/plans/{}.iezplan", state, application);
}

class RunLife::State {
 public:
  State(RunOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  void prepare();
  void beat() const;
  void finish(const Ending& ending);
  void end_replacing(bool ended_well);
  void release() {
    folder_.reset();
    store_.reset();
  }
  const Variables& variables() const { return variables_; }
  const RunReport& report() const { return report_; }

 private:
  void note(std::string text) { report_.notes.push_back(std::move(text)); }
  std::int64_t now() const { return clock_.wall().time_since_epoch().count(); }
  std::string lock_path() const { return fmt::format("{}/plans/{}.lock", options_.state, options_.application); }
  std::string own_plan() const { return plan_path(options_.state, options_.application); }

  void choose_way();
  bool open_store(Duration patience);
  bool find_plan();
  bool make_folder();
  void choose_folders();
  bool find_late_plan();
  Result<void> plan_late();
  PlanQuestion question_of(const store::Prediction& prediction);
  NextPlanQuestion next_question();
  Result<bool> may_plan();
  Result<void> others_plan();
  void plan_anew();
  std::string why_unfit(const store::Prediction& last) const;
  bool is_the_plan(const std::string& path) const;
  Result<void> take_plan_file();
  Result<void> take_plan();
  void remember_prediction();
  OldContents old_contents();
  void tell_left(std::span<const LeftFile> left);
  void move_aside();
  void tell_movable();
  Result<void> compile_newest();
  void look_at_targets();
  std::size_t known_osts() const { return before_.size() == 1 ? before_.begin()->second.osts.size() : 0; }

  Result<void> record(const Ending& ending);
  std::uint64_t planned_of(std::span<const std::uint32_t> rows) const;
  void mark_created(const Gathered& gathered);
  Result<void> plan_next();
  Result<void> give_up(const std::string& why);
  bool numbers_skipped();
  void tell_gain();
  std::string written_file_system() const;
  void tell_unseen();
  std::string nothing_traced() const;

  RunOptions options_;
  Clock& clock_;
  Variables variables_;
  RunReport report_;
  std::vector<LayoutMount> mounts_;
  std::vector<std::string> folders_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Application> application_;
  std::unique_ptr<store::Allocation> allocation_;  // the newest, without rows
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<ReplacedFiles> replaced_;
  std::string no_plan_;                                     // why there is none
  std::unordered_map<std::string, model::Cluster> before_;  // by file system, when the run began
  std::unordered_map<std::string, Bytes> client_before_;    // likewise, what this node's client had written
  input::UniqueFd planning_;                                // the application's lock, as long as this run plans
  bool others_plan_ = false;                                // it was waited for in vain
  bool known_unfit_ = false;                                // the plan that this run goes by is for another one
  store::Id prediction_ = 0;                                // that this run is judged by; 0: none
  std::int64_t started_ns_ = 0;
  Gathered gathered_;
};

// ---- Before ----

bool RunLife::State::open_store(Duration patience) {
  const std::string& given = options_.settings.store.url;
  if (given.empty() && options_.state.empty()) {
    note("no store: neither IEZ_STATE, XDG_STATE_HOME nor HOME is set");
    return false;
  }
  if (given.empty() && !options_.dry_run) {
    if (const auto made = make_private_folder(options_.state); !made) {
      note(fmt::format("no store: {}", made.error().message));
      return false;
    }
  }
  store::OpenOptions opening;
  opening.patience = patience;
  opening.create = !options_.dry_run;
  opening.upgrade = options_.dry_run ? store::Upgrade::never : store::Upgrade::own_file;
  auto opened = store::Store::open(given.empty() ? store::default_store_url(options_.state) : given, clock_, opening);
  if (!opened) {
    if (!options_.dry_run || opened.error().code != Errc::not_found) note(fmt::format("no store: {}", opened.error().message));
    return false;
  }
  store_ = *std::move(opened);
  return true;
}

bool RunLife::State::find_plan() {
  auto found = store_->find_application(options_.owner, options_.application);
  if (!found) {
    note(fmt::format("no store: {}", found.error().message));
    store_.reset();
    return false;
  }
  if (!*found) return false;  // it is made when there is a run to record
  application_ = std::make_unique<store::Application>(**std::move(found));
  auto all = store_->allocations(application_->id);
  if (!all) {
    note(fmt::format("no plan: {}", all.error().message));
    return false;
  }
  if (all->empty() || all->front().planned + all->front().created == 0) {
    const auto last = store_->latest_prediction(application_->id);
    if (last && *last) no_plan_ = (*last)->verdict;
    return false;
  }
  allocation_ = std::make_unique<store::Allocation>(std::move(all->front()));
  return true;
}

void RunLife::State::choose_folders() {
  auto mounts = read_mounts();
  if (mounts) {
    mounts_ = *std::move(mounts);
  } else {
    note(mounts.error().message);
  }
  for (const std::string& under : options_.under) {
    std::error_code error;
    // By its real name, since that is what traces and plans have.
    std::string path = fs::weakly_canonical(fs::absolute(under, error), error).string();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    folders_.push_back(error ? under : path);
    if (!fs::exists(folders_.back(), error)) {  // the program may make it: then its files count
      note(fmt::format("--under {}: not there yet; it counts once it is made", text::printable(under)));
    }
  }
  if (!folders_.empty()) return;
  for (const LayoutMount& mount : mounts_) folders_.push_back(mount.path);
}

bool RunLife::State::make_folder() {
  const std::string parent =
      options_.trace_parent.empty() ? (options_.state.empty() ? std::string() : options_.state + "/runs") : options_.trace_parent;
  if (parent.empty()) return false;
  Rng rng(static_cast<std::uint64_t>(now()) ^ (static_cast<std::uint64_t>(::getpid()) << 40U));
  auto made = RunFolder::make(parent,
                              fmt::format("{:%Y%m%d-%H%M%S}-{}-{:08x}", std::chrono::floor<std::chrono::seconds>(clock_.wall()),
                                          ::getpid(), static_cast<std::uint32_t>(rng.bits())),
                              clock_.wall());
  if (!made) {
    note(fmt::format("no folder for traces: {}", made.error().message));
    return false;
  }
  folder_ = std::make_unique<RunFolder>(*std::move(made));
  if (folder_->leftovers() > 0)
    note(fmt::format("removed what {} left",
                     folder_->leftovers() == 1 ? "a killed run" : fmt::format("{} killed runs", folder_->leftovers())));
  return true;
}

void RunLife::State::look_at_targets() {
  std::set<std::string> names;
  for (const LayoutMount& mount : mounts_) {
    const bool asked = std::ranges::any_of(
        folders_, [&](const std::string& folder) { return is_below(folder, mount.path) || is_below(mount.path, folder); });
    if (asked) names.insert(mount.file_system);
  }
  for (const std::string& name : names) {
    const std::vector<std::string> roots = roots_of(mounts_, name, options_.settings.roots);
    if (auto cluster = read_cluster(roots, name)) before_.emplace(name, *std::move(cluster));
    if (const auto written = client_written(roots, name)) client_before_.emplace(name, *written);
  }
}

Result<void> RunLife::State::compile_newest() {
  IEZ_TRY(const auto newest, store_->latest_allocation(application_->id));
  if (!newest) return fail(Errc::not_found, "the plan is gone from the store");
  IEZ_CHECK(make_private_folder(options_.state + "/plans"));
  IEZ_TRY([[maybe_unused]] const auto summary, compile_plan(*newest, own_plan()));
  return {};
}

// Why the plan there is does not fit this run; empty: it does.
std::string RunLife::State::why_unfit(const store::Prediction& last) const {
  if (options_.ranks != 0 && last.ranks != 0 && last.ranks != options_.ranks) {
    return fmt::format("{} ranks instead of {}", options_.ranks, last.ranks);
  }
  if (!allocation_ || allocation_->planner != kLocalPlanner || allocation_->details.empty()) return "";
  const auto before = before_.find(allocation_->file_system);
  if (before == before_.end()) return "";
  const auto details = parse_details(allocation_->details);
  if (!details) return "";
  const auto unfit = unfit_targets(details->osts, before->second);
  return unfit.empty() ? "" : fmt::format("OST {} is {}", unfit.front().ost.value, unfit.front().why);
}

// Plans are made by one run at a time; the others wait for so long, and then do without.
Result<bool> RunLife::State::may_plan() {
  if (planning_) return true;
  if (others_plan_) return false;
  IEZ_CHECK(make_private_folder(options_.state + "/plans"));
  IEZ_TRY(auto lock, lock_file_within(lock_path(), kPatience, clock_));
  others_plan_ = !lock;
  if (lock) planning_ = *std::move(lock);
  return !others_plan_;
}

// Before the run: for its number of ranks, on the targets as they are, and for files that are to be moved aside.
void RunLife::State::plan_anew() {
  if (!application_) return;
  const auto last = store_->latest_prediction(application_->id);
  if (!last || !*last) return;
  const std::string why = why_unfit(**last);
  if (why.empty() && !options_.replace) return;
  const auto planned = [&]() -> Result<void> {
    IEZ_TRY(const bool alone, may_plan());
    if (!alone) return fail(Errc::exists, kOthersPlan);
    IEZ_TRY(const NextPlan next, make_next_plan(next_question()));
    if (next.allocation) return compile_newest();
    (void)::unlink(own_plan().c_str());
    return {};
  }();
  if (!planned) {
    note(fmt::format("the plan could not be made anew ({}): {}", why.empty() ? "--replace" : why, planned.error().message));
    known_unfit_ = !why.empty();
    return;
  }
  if (!why.empty()) note(fmt::format("planned anew: {}", why));
  allocation_.reset();
}

NextPlanQuestion RunLife::State::next_question() {
  return {.settings = options_.settings,
          .application = *application_,
          .mounts = mounts_,
          .before = before_,
          .files = gathered_.files,
          .ost_cost = report_.ost_cost,
          .store = *store_,
          .host = options_.host,
          .clock = clock_,
          .notes = report_.notes,
          .ranks = options_.ranks,
          .override_directories = options_.override_directories,
          .replace = options_.replace,
          .no_place = options_.no_place};
}

PlanQuestion RunLife::State::question_of(const store::Prediction& prediction) {
  return {.settings = options_.settings,
          .application = *application_,
          .prediction = prediction,
          .mounts = mounts_,
          .before = before_,
          .files = gathered_.files,
          .store = *store_,
          .host = options_.host,
          .clock = clock_,
          .notes = report_.notes};
}

// The coordinator was to fetch the last prediction and send the plan. Where it has not, this node plans, as if there were none.
Result<void> RunLife::State::plan_late() {
  const auto missing = [&]() -> Result<bool> {
    IEZ_TRY(const auto last, store_->latest_prediction(application_->id));
    return last && last->allocation == 0 && last->verdict.empty() && pull_note_of(last->model).has_value();
  };
  // Most often it is there: no lock then.
  IEZ_TRY(const bool before, missing());
  if (!before) return {};
  IEZ_TRY(const bool alone, may_plan());
  if (!alone) return {};
  IEZ_TRY(const bool still, missing());
  if (!still) return {};
  IEZ_TRY(const auto prediction, store_->latest_prediction(application_->id));
  if (!prediction) return {};
  IEZ_TRY(const PlanOutcome outcome, make_plan(question_of(*prediction)));
  if (!outcome.allocation) return store_->set_verdict(prediction->id, outcome.verdict);
  const auto stored = store_->put_late_allocation(*outcome.allocation);
  if (!stored && stored.error().code == Errc::exists) return {};  // it came just now
  if (!stored) return std::unexpected(stored.error());
  note("planned on this node: the coordinator has not sent the plan");
  return {};
}

// Like find_plan(), with a plan made here if the coordinator owes one.
bool RunLife::State::find_late_plan() {
  const bool found = find_plan();
  if (!options_.settings.coordinator.pull || options_.dry_run || options_.learn_only || options_.no_place ||
      !options_.plan_file.empty() || !application_ || !store_) {
    return found;
  }
  if (const auto planned = plan_late(); !planned) {
    note(fmt::format("the coordinator has not sent the plan, and none could be made here: {}", planned.error().message));
  }
  return find_plan();
}

// Whether the file holds the plan that this run is to go by.
bool RunLife::State::is_the_plan(const std::string& path) const {
  const auto reader = plan::PlanReader::open(path);
  return reader && reader->info().id == plan_number(allocation_->plan) && reader->info().created_ns == allocation_->made_ns;
}

Result<void> RunLife::State::take_plan_file() {
  IEZ_TRY(const plan::PlanReader reader, plan::PlanReader::open(options_.plan_file));
  report_.plan = plan_text(reader.info().id);
  std::error_code error;
  fs::copy_file(options_.plan_file, folder_->plan_path(), error);
  if (error) return fail_errno(error.value(), options_.plan_file);
  return {};
}

// The plan for this run: its own copy, so that all of its processes see the same one.
Result<void> RunLife::State::take_plan() {
  if (!options_.plan_file.empty()) return take_plan_file();
  const store::Id fitting = known_unfit_ ? 0 : allocation_->id;
  IEZ_TRY(const bool alone, may_plan());
  // Another run may have planned meanwhile.
  if (!find_plan()) return fail(Errc::not_found, "the plan was taken back");
  if (alone && allocation_->planner != kLocalPlanner && options_.settings.coordinator.asked()) {
    if (const auto renewed = renew_from_coordinator(options_.settings, *store_, *allocation_); !renewed) {
      note(fmt::format("the plan could not be looked over: {}", renewed.error().message));
    }
    if (!find_plan()) return fail(Errc::not_found, "the plan was taken back");
  }
  if (allocation_->id != fitting) {
    const auto its = store_->prediction(allocation_->prediction);
    known_unfit_ = !its || !*its || !why_unfit(**its).empty();
  }
  report_.plan = allocation_->plan;
  if (alone && !is_the_plan(own_plan())) IEZ_CHECK(compile_newest());
  const std::string copy = folder_->plan_path();
  if (::link(own_plan().c_str(), copy.c_str()) == 0) {
    if (is_the_plan(copy)) return {};
    (void)::unlink(copy.c_str());  // whoever plans now has put another one there
  }
  IEZ_TRY(const auto whole, store_->allocation(allocation_->id));
  if (!whole) return fail(Errc::not_found, "the plan is gone from the store");
  IEZ_TRY([[maybe_unused]] const auto summary, compile_plan(*whole, copy));
  return {};
}

// Other runs of the application may come and go before this one ends, and each stores a prediction of the next.
void RunLife::State::remember_prediction() {
  if (!store_ || !application_) return;
  if (report_.mode == Mode::place && options_.plan_file.empty()) {
    prediction_ = allocation_->prediction;
  } else if (const auto last = store_->latest_prediction(application_->id); last && *last) {
    prediction_ = (*last)->id;
  }
}

OldContents RunLife::State::old_contents() {
  OldContents out;
  const auto runs = store_->runs(application_->id, kLookedBack);
  if (!runs) return out;
  for (const store::Run& run : *runs) {
    if (const auto files = store_->files(run.id)) out.add(*files);
  }
  return out;
}

void RunLife::State::tell_left(std::span<const LeftFile> left) {
  std::vector<std::string> told;
  for (const LeftFile& file : left) told.push_back(fmt::format("{} ({})", file.name, file.why));
  if (!told.empty()) note(fmt::format("not moved aside: {}", first_of(told)));
}

void RunLife::State::move_aside() {
  if (!allocation_) return note("no file is moved aside: the plan is not the application's own");
  const auto whole = store_->allocation(allocation_->id);
  if (!whole || !*whole) return note("no file is moved aside: the plan is gone from the store");
  std::vector<std::string> names;
  for (const store::AllocationRow& row : (*whole)->rows) {
    if (row.files == 1) names.push_back(row.created_as.empty() ? row.name : row.created_as);
  }
  const MovableFiles wanted = without_needed(std::move(names), old_contents());
  Rng rng(static_cast<std::uint64_t>(now()) ^ (static_cast<std::uint64_t>(::getpid()) << 40U));
  auto moved = ReplacedFiles::move_aside(options_.state + "/replaced", fmt::format("{:016x}", rng.bits()), wanted.names);
  if (!moved) return note(fmt::format("no file is moved aside: {}", moved.error().message));
  if (moved->count() > 0) note(fmt::format("{} moved aside: {}", counted_files(moved->count()), first_of(moved->names())));
  tell_left(wanted.left);
  tell_left(moved->left());
  if (moved->count() > 0) replaced_ = std::make_unique<ReplacedFiles>(*std::move(moved));
}

// What --replace would do, by the last prediction: which of its files are planned is not known before they are.
void RunLife::State::tell_movable() {
  if (!store_ || !application_) return;
  const auto last = store_->latest_prediction(application_->id);
  if (!last || !*last) return;
  std::vector<std::string> names;
  for (const store::PredictionRow& row : (*last)->rows) {
    if (row.files == 1 && row.bytes >= options_.settings.place.least_file)
      names.push_back(row.created_as.empty() ? row.name : row.created_as);
  }
  const MovableFiles wanted = without_needed(std::move(names), old_contents());
  const MovableFiles movable = movable_files(wanted.names);
  note(movable.names.empty() ? std::string("no file would be moved aside")
                             : fmt::format("{} would be moved aside if there is a plan for new ones: {}",
                                           counted_files(movable.names.size()), first_of(movable.names)));
  tell_left(wanted.left);
  tell_left(movable.left);
}

// The mode and the plan.
void RunLife::State::choose_way() {
  choose_folders();
  ModeQuestion question{.enabled = options_.settings.enabled,
                        .traceable = !folders_.empty(),
                        .library = !options_.libraries.empty(),
                        .folder = true,
                        .learn_only = options_.learn_only || options_.no_place,
                        .has_plan = !options_.plan_file.empty()};
  const bool possible = question.enabled && question.traceable && question.library;
  if (possible) {
    const bool opened = open_store(kPatience);
    if (opened) find_late_plan();
    if (opened && store_ && !options_.dry_run) {
      for (std::string& told : put_back_leftovers(options_.state + "/replaced", clock_.wall())) note(std::move(told));
      look_at_targets();
      if (!question.learn_only && options_.plan_file.empty()) {
        plan_anew();
        if (!allocation_ && application_) find_plan();
      }
    }
    question.has_plan = question.has_plan || allocation_ != nullptr;
    question.no_plan = no_plan_;
    if (!options_.dry_run) question.folder = store_ != nullptr && make_folder();
    if (!store_ && !options_.dry_run) {
      report_.mode = Mode::plain;
      report_.why = "there is no store";
      return;
    }
  }
  auto [mode, why] = choose_mode(question);
  if (mode == Mode::plain && question.enabled) note(fmt::format("ran as it is: {}", why));
  if (options_.dry_run) {
    if (mode == Mode::place) report_.plan = options_.plan_file.empty() ? allocation_->plan : options_.plan_file;
    report_.mode = mode;
    report_.why = std::move(why);
    if (mode == Mode::plain) return;
    if (options_.replace) tell_movable();
    variables_ = variables_for({.libraries = options_.libraries,
                                .trace_folder = options_.state + "/runs/ID/trace",
                                .plan = mode == Mode::place ? options_.state + "/runs/ID/plan.iezplan" : std::string(),
                                .folders = folders_,
                                .osts = known_osts()},
                               config::default_sources().environment);
    return;
  }
  if (mode == Mode::place) {
    if (const auto taken = take_plan(); !taken) {
      note(fmt::format("no plan: {}", taken.error().message));
      report_.plan.clear();
      mode = Mode::learn;
      why = "the plan could not be used";
    }
  }
  report_.mode = mode;
  report_.why = std::move(why);
}

void RunLife::State::prepare() {
  choose_way();
  planning_.reset();
  if (options_.dry_run || report_.mode == Mode::plain) return;
  remember_prediction();
  if (options_.replace && report_.mode == Mode::place) move_aside();
  if (options_.replace && report_.mode == Mode::learn) note(fmt::format("no file is moved aside: {}", report_.why));
  started_ns_ = now();
  variables_ = variables_for({.libraries = options_.libraries,
                              .trace_folder = folder_->trace_folder(),
                              .plan = report_.mode == Mode::place ? folder_->plan_path() : std::string(),
                              .folders = folders_,
                              .osts = known_osts()},
                             config::default_sources().environment);
}

void RunLife::State::beat() const {
  if (folder_) folder_->beat();
  if (replaced_) replaced_->beat();
}

// ---- After ----

Result<void> RunLife::State::record(const Ending& ending) {
  IEZ_TRY(gathered_, gather(folder_->trace_folder(), folders_, options_.settings.place.least_file));
  IEZ_TRY(auto application, store_->ensure_application(options_.owner, options_.application, options_.fingerprint));
  application_ = std::make_unique<store::Application>(std::move(application));
  const trace::RunInfo& info = gathered_.summary.run;
  store::Run run;
  run.application = application_->id;
  run.started_ns = started_ns_;
  run.ended_ns = now();
  run.command = joined(options_.command);
  run.host = options_.host;
  run.uid = options_.uid;
  run.job = text::printable(info.job).substr(0, store::kMaxShort);
  run.ranks = info.communicator;
  run.processes = info.processes;
  run.mode = report_.mode == Mode::place ? store::RunMode::place : store::RunMode::learn;
  run.exit_status = ending.code();
  run.plan = report_.plan;
  run.phases = gathered_.phases;
  IEZ_TRY(run.targets, seen_targets(gathered_, mounts_, *store_, run.ended_ns));
  std::vector<store::Miss> misses;
  report_.placed = info.layouts.applied;
  report_.refused = info.layouts.refused + info.layouts.taken;
  report_.respected = info.layouts.respected;
  run.planned = info.layouts.applied;
  for (const store::FileRow& file : gathered_.files) {
    if (file.created || file.written.count > 0) ++report_.files;
    report_.written += file.written.count;
  }
  report_.traced = gathered_.summary.segments > 0;
  if (!report_.traced) note(nothing_traced());
  IEZ_TRY(const auto last, store_->prediction(prediction_));
  if (last && !last->rows.empty() && report_.files > 0) {  // without rows: it is not kept any more, and nothing is judged
    PredictionUse use = use_of(*last, gathered_.files, options_.settings.place.least_file);
    report_.created = use.created;
    report_.predicted = use.predicted;
    report_.existing = use.existing;
    report_.placed = std::min(report_.placed, planned_of(use.rows));
    run.unplanned = use.created - use.predicted;
    misses = std::move(use.misses);
    if (ending.code() == 0) {
      const forecast::Score scored = score(*last, gathered_.files, options_.settings.place.least_file);
      run.accuracy = scored.accuracy;
      run.by_weight = scored.by_weight;
      run.foretold = scored.predicted;
      run.met = scored.met;
      if (scored.accuracy) report_.accuracy = std::clamp(*scored.accuracy, 0.0, 100.0);
    }
  }
  IEZ_TRY([[maybe_unused]] const auto id, store_->record_run(run, gathered_.files, misses));
  report_.recorded = true;
  return {};
}

// One line that a terminal has room for; docs/guide/troubleshooting.md tells the rest.
std::string RunLife::State::nothing_traced() const {
  constexpr std::size_t kRoom = 71;  // of 80 columns, behind "iez run: "
  if (const std::string cause = options_.why_unseen ? options_.why_unseen() : ""; !cause.empty()) {
    std::string line = fmt::format("nothing was traced: {}; see 'iez inject'", cause);
    if (line.size() <= kRoom) return line;
    return fmt::format("nothing was traced: {}; see 'iez inject'", text::trim(cause.substr(cause.rfind(':') + 1)));
  }
  const std::string where = options_.under.empty() ? "on Lustre" : fmt::format("below {}", text::printable(first_of(folders_)));
  std::string line = fmt::format("nothing was traced: no file {} was opened; see 'iez inject'", where);
  return line.size() <= kRoom ? line : "nothing was traced: no file below --under was opened; see 'iez inject'";
}

// How many of these files the plan of this run has. What was placed and did not survive, or is small, counts neither here nor
// among the files created.
std::uint64_t RunLife::State::planned_of(std::span<const std::uint32_t> rows) const {
  if (report_.mode != Mode::place) return 0;
  const auto plan = plan::PlanReader::open(folder_->plan_path());
  if (!plan) return rows.size();
  return static_cast<std::uint64_t>(std::ranges::count_if(rows, [&](std::uint32_t row) {
    const auto found = plan->explain(gathered_.files[row].name);
    return !found || (found->found != plan::Found::nothing && !found->left_alone);
  }));
}

void RunLife::State::mark_created(const Gathered& gathered) {
  if (report_.mode != Mode::place || !allocation_ || !options_.plan_file.empty()) return;
  const auto whole = store_->allocation(allocation_->id);
  if (!whole || !*whole) return;
  std::unordered_set<std::string_view> made;
  for (const store::FileRow& file : gathered.files) {
    if (file.created) made.insert(file.name);
  }
  std::vector<std::uint32_t> rows;
  for (const store::AllocationRow& row : (*whole)->rows) {
    if (row.state == store::PlanState::planned && made.contains(row.created_as.empty() ? row.name : row.created_as)) {
      rows.push_back(row.row);
    }
  }
  if (rows.empty()) return;
  if (const auto changed = store_->set_states(allocation_->id, store::PlanState::created, rows); !changed) {
    note(fmt::format("not written down which files exist: {}", changed.error().message));
  }
  if ((*whole)->planner != kLocalPlanner) tell_created(options_.settings, **whole, rows);
}

// The plan that another run is making, or that there is, will do for the next one.
Result<void> RunLife::State::others_plan() {
  IEZ_TRY(const auto all, store_->allocations(application_->id));
  if (all.empty() || all.front().planned + all.front().created == 0) {
    note(fmt::format("this run has planned nothing: {}", kOthersPlan));
  }
  return {};
}

Result<void> RunLife::State::plan_next() {
  others_plan_ = false;
  IEZ_TRY(const bool alone, may_plan());
  if (!alone) return others_plan();
  NextPlanQuestion question = next_question();
  question.ranks = 0;  // whoever runs it next says how many, before that run
  question.replace = false;
  IEZ_TRY(const NextPlan next, make_next_plan(question));
  report_.next_files = next.files;
  report_.verdict = next.verdict;
  if (options_.replace && next.left.existing > 0 && next.left.all() == next.files && !options_.no_place) {
    // Who uses --replace need not be told of it.
    report_.verdict =
        fmt::format("its files are left to Lustre: {}", left_alone_text(next.left, options_.settings.place.least_file));
  }
  if (next.pulled) {
    report_.planner = kPulled;
    return {};
  }
  if (!next.allocation) {
    (void)::unlink(own_plan().c_str());
    return {};
  }
  IEZ_CHECK(compile_newest());
  report_.next_plan = next.allocation->plan;
  report_.planner = next.allocation->planner;
  return {};
}

Result<void> RunLife::State::give_up(const std::string& why) {
  report_.given_up = true;
  note(fmt::format("the plan did not fit, the next run is traced only: {}", why));
  IEZ_TRY([[maybe_unused]] const auto rows, store_->withdraw(application_->id));
  (void)::unlink(own_plan().c_str());
  if (allocation_ && allocation_->planner != kLocalPlanner) take_back(options_.settings, allocation_->plan);
  return {};
}

// Whether this run did what the one before it did, under numbers that were not foreseen: steps were skipped, say.
bool RunLife::State::numbers_skipped() {
  const auto runs = store_->runs(application_->id, kLookedBack);
  if (!runs || runs->empty()) return false;
  const auto older = std::ranges::find_if(std::span(*runs).subspan(1), teaches);
  return older != std::span(*runs).end() && goes_on(*store_, options_.settings, runs->front(), *older);
}

// How this run and those like it compare with Lustre's default.
void RunLife::State::tell_gain() {
  const auto runs = store_->runs(application_->id, kLookedAt);
  if (!runs || runs->empty()) return;
  const GuardAnswer answer = judge_history(*runs, shape_of(runs->front()), stored_facts(*store_));
  report_.gain = gain_text(answer);
  if (answer.writes.gain != planning::Gain::unknown) report_.write_ratio = answer.writes.ratio;
  if (answer.reads.gain != planning::Gain::unknown) report_.read_ratio = answer.reads.ratio;
}

// The only one that has files which this run wrote; empty: there are several, or none.
std::string RunLife::State::written_file_system() const {
  std::string found;
  for (const store::FileRow& file : gathered_.files) {
    if (file.written.count == 0) continue;
    const LayoutMount* const mount = mount_of(mounts_, file.name);
    if (mount == nullptr || mount->file_system == found) continue;
    if (!found.empty()) return "";
    found = mount->file_system;
  }
  return found;
}

// What this node's client wrote, and the trace has not.
void RunLife::State::tell_unseen() {
  std::string name = written_file_system();
  if (name.empty() && client_before_.size() == 1) name = client_before_.begin()->first;
  const auto before = client_before_.find(name);
  if (before == client_before_.end()) return;
  const auto after = client_written(roots_of(mounts_, name, options_.settings.roots), name);
  if (!after || *after < before->second) return;
  const Bytes written{after->count - before->second.count};
  if (std::string text = unseen_text(written, gathered_.called, Duration{now() - started_ns_}); !text.empty())
    note(std::move(text));
}

void RunLife::State::end_replacing(bool ended_well) {
  if (!replaced_) return;
  for (std::string& told : replaced_->finish(ended_well)) note(std::move(told));
  replaced_.reset();
}

void RunLife::State::finish(const Ending& ending) {
  const bool ended_well = ending.code() == 0;
  end_replacing(ended_well);
  if (report_.mode == Mode::plain || !folder_ || !store_) return;
  if (const auto recorded = record(ending); !recorded) {
    note(fmt::format("this run is not recorded: {}", recorded.error().message));
    return;
  }
  if (!options_.keep_trace.empty()) {
    const std::vector<std::string> inputs{folder_->trace_folder()};
    if (const auto kept = trace::merge_to_file(inputs, options_.keep_trace, {}); !kept) {
      note(fmt::format("the trace is not kept: {}", kept.error().message));
    }
  }
  mark_created(gathered_);
  if (const auto on = before_.find(written_file_system()); on != before_.end()) {
    report_.ost_cost = ost_cost(gathered_, on->second.osts.size());
  }
  tell_unseen();
  tell_gain();
  if (report_.files == 0) return;
  if (!ended_well) return;  // what there is stays: a plan, or none
  if (report_.mode == Mode::place && options_.plan_file.empty() && !known_unfit_) {
    FitFacts facts{.files = report_.created, .unpredicted = report_.created - report_.predicted, .size_error = std::nullopt};
    if (report_.accuracy) facts.size_error = 1 - *report_.accuracy / 100;
    const std::string why = misfit(facts, fit_limits(options_.settings));
    if (!why.empty() && numbers_skipped()) {
      note("its files have other numbers than predicted: the next run is predicted from these");
    } else if (!why.empty()) {
      if (const auto given_up = give_up(why); !given_up) {
        note(fmt::format("the plan could not be taken back: {}", given_up.error().message));
      }
      return;
    }
  }
  if (const auto planned = plan_next(); !planned) note(fmt::format("no plan for the next run: {}", planned.error().message));
  planning_.reset();
}

// ---- The handle ----

RunLife::RunLife(RunOptions options, Clock& clock) : state_(std::make_unique<State>(std::move(options), clock)) {}
RunLife::~RunLife() = default;
void RunLife::prepare() { state_->prepare(); }
const Variables& RunLife::variables() const { return state_->variables(); }
void RunLife::beat() const { state_->beat(); }
void RunLife::finish(const Ending& ending) { state_->finish(ending); }
void RunLife::not_started() { state_->end_replacing(false); }
void RunLife::release() { state_->release(); }
const RunReport& RunLife::report() const { return state_->report(); }

}  // namespace iez::runs
