#include "store_command.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/text.hpp"
#include "config/settings.hpp"
#include "input/byte_stream.hpp"
#include "json.hpp"
#include "runs/guard_history.hpp"
#include "runs/target_history.hpp"
#include "store/store.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kShownPhases = 12;

// Of a table whose head tells the zone.
std::string short_time_text(std::int64_t nanoseconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(nanoseconds / 1'000'000'000)));
}

std::string time_text(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return "never";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(nanoseconds / 1'000'000'000)));
}

std::string percent_text(const std::optional<double>& value) { return value ? fmt::format("{:.1f} %", *value) : "-"; }

// One that is not there is told, and not made: these commands look.
Result<std::unique_ptr<store::Store>> open_store(const StoreOptions& options, Context& context, bool create = false) {
  IEZ_TRY(const std::string url, store_url(options.store));
  store::OpenOptions opening;
  opening.create = create;
  auto opened = store::Store::open(url, context.clock, opening);
  if (!opened && opened.error().code == Errc::not_found) {
    return with_context(std::move(opened).error(), "no interaction database yet; `iez run` makes one");
  }
  return opened;
}

// 0: not known.
ordered_json count_or_null(std::uint32_t count) { return count == 0 ? ordered_json(nullptr) : ordered_json(count); }

std::string short_text(const std::string& text) { return text.size() <= 60 ? text : text.substr(0, 57) + "..."; }

ordered_json run_phases_json(const store::Run& run) {
  ordered_json list = ordered_json::array();
  for (const store::RunPhase& phase : run.phases) {
    list.push_back({{"kind", phase.reads ? "read" : "write"},
                    {"seconds", phase.seconds},
                    {"bytes", phase.bytes.count},
                    {"files", phase.files},
                    {"osts", count_or_null(phase.osts)}});
  }
  return list;
}

ordered_json run_json(const store::Run& run, runs::Way way) {
  return {{"key", run.key},
          {"started_ns", run.started_ns},
          {"ended_ns", run.ended_ns},
          {"mode", to_string(run.mode)},
          {"command", run.command},
          {"host", run.host},
          {"job", run.job},
          {"ranks", run.ranks},
          {"processes", run.processes},
          {"exit_status", run.exit_status},
          {"plan", run.plan.empty() ? ordered_json(nullptr) : ordered_json(run.plan)},
          {"files", run.files},
          {"files_kept", run.files_kept},
          {"written", run.written.count},
          {"read", run.read.count},
          {"planned", run.planned},
          {"unplanned", run.unplanned},
          {"misses", run.misses},
          {"accuracy", or_null(run.accuracy)},
          {"accuracy_by_weight", or_null(run.by_weight)},
          {"foretold", run.foretold},
          {"met", run.met},
          {"counts_as", runs::to_string(way)},
          {"phases", run_phases_json(run)}};
}

ordered_json gain_json(const planning::Comparison& gain) {
  if (gain.gain == planning::Gain::unknown) return nullptr;
  return {{"gain", planning::to_string(gain.gain)}, {"ratio", gain.ratio},  {"low", gain.low}, {"high", gain.high},
          {"by_default", gain.by_default},          {"placed", gain.placed}};
}

std::string gain_cells(const planning::Comparison& gain) {
  return fmt::format("{}, {}: {} by default, {} placed", runs::ratio_text(gain), planning::to_string(gain.gain),
                     counted(gain.by_default, "run"), gain.placed);
}

// Runs by default against placed ones, of the shape that the next run is predicted to have: as it will be judged.
struct GainHistory {
  runs::GuardAnswer whole;
  runs::PhaseGains phases;
  bool always = false;  // it is placed whatever comes of this
};

Result<GainHistory> gain_history(store::Store& store, std::span<const store::Run> newest_first,
                                 const std::optional<store::Prediction>& prediction) {
  if (newest_first.empty()) return GainHistory{};
  IEZ_TRY(const config::Settings settings, config::load_settings(config::default_sources()));
  runs::RunShape shape = runs::shape_of(newest_first.front());
  if (prediction && !prediction->rows.empty()) {
    std::vector<store::FileRow> files;
    if (prediction->run != 0) {
      IEZ_TRY(files, store.files(prediction->run));
    }
    shape = runs::shape_of(*prediction, settings.place.least_file, newest_first, files);
  }
  const runs::FactsOf facts = runs::stored_facts(store);
  return GainHistory{.whole = runs::judge_history(newest_first, shape, facts),
                     .phases = runs::compare_phases(newest_first, shape, facts),
                     .always = settings.place.always};
}

ordered_json phases_json(std::span<const runs::PhaseGain> phases) {
  ordered_json list = ordered_json::array();
  for (const runs::PhaseGain& one : phases) {
    list.push_back(gain_json(one.gain));
    list.back()["osts_by_default"] = count_or_null(one.osts_by_default);
    list.back()["osts_placed"] = count_or_null(one.osts_placed);
  }
  return list;
}

ordered_json history_json(const GainHistory& history) {
  return {{"whole", gain_json(history.whole.gain)},
          {"write", gain_json(history.whole.writes)},
          {"read", gain_json(history.whole.reads)},
          {"together", gain_json(history.whole.together)},
          {"write_phases", phases_json(history.phases.writes)},
          {"read_phases", phases_json(history.phases.reads)},
          {"stepped_back", history.whole.step_back},
          {"tries_in", history.whole.tries_in},
          {"by_default_once", history.whole.by_default_once},
          {"too_short", history.whole.too_short}};
}

// Why there is nothing to compare; empty: nothing was placed.
std::string nothing_compared_text(const runs::GuardAnswer& whole) {
  if (whole.too_short > 0 && whole.gain.by_default + whole.gain.placed == 0) {
    return fmt::format("not compared with Lustre's default: phases under {:g} s are too short to compare\n", runs::kTooShort);
  }
  if (whole.gain.placed == 0) return "";
  std::string out = fmt::format(
      "not compared with Lustre's default yet: of runs like the next one, {} {} placed, and none was by "
      "default\n",
      whole.gain.placed, whole.gain.placed == 1 ? "was" : "were");
  if (whole.too_short > 0) {
    out += fmt::format("  {} not counted: phases under {:g} s are too short to compare\n", counted(whole.too_short, "run"),
                       runs::kTooShort);
  }
  return out;
}

// A line for each, if there are several.
std::string phases_text(std::string_view kind, std::span<const runs::PhaseGain> phases) {
  std::string out;
  for (std::size_t i = 0; i < phases.size() && phases.size() > 1; ++i) {
    if (i == kShownPhases) {
      out += fmt::format("  ... and {} more phases; --json shows all\n", phases.size() - i);
      break;
    }
    const runs::PhaseGain& one = phases[i];
    out += fmt::format("  {:<15}{}", fmt::format("{} phase {}", kind, i + 1), gain_cells(one.gain));
    if (one.osts_by_default > 0 && one.osts_placed > 0) {
      out += fmt::format("; on {} and {} OSTs", one.osts_by_default, one.osts_placed);
    }
    out += '\n';
  }
  return out;
}

std::string history_text(const GainHistory& history) {
  const runs::GuardAnswer& whole = history.whole;
  std::string out;
  if (whole.gain.gain == planning::Gain::unknown) {
    out = nothing_compared_text(whole);
  } else {
    out = fmt::format("placed against Lustre's default, rates{}, runs like the next one:\n",
                      runs::has_range(whole.gain) ? " with 90 % confidence" : "");
    if (whole.writes.gain != planning::Gain::unknown) out += fmt::format("  writing        {}\n", gain_cells(whole.writes));
    if (whole.reads.gain != planning::Gain::unknown) {
      out += fmt::format("  reading        {}\n", gain_cells(whole.reads));
      out += fmt::format("  both together  {}\n", gain_cells(whole.together));
    }
  }
  out += phases_text("write", history.phases.writes) + phases_text("read", history.phases.reads);
  if (history.always) return out + (out.empty() ? "" : "  place.when is \"always\": placed in any case\n");
  if (whole.step_back) {
    out += fmt::format("  stepped back: not placed; a plan is tried again after {} more runs\n", whole.tries_in);
  }
  if (whole.by_default_once) out += "  next run: by Lustre's default once, to have something to compare with\n";
  return out;
}

// The model as JSON, if it is that; else as text.
ordered_json model_json(const std::string& model) {
  if (model.empty()) return nullptr;
  ordered_json parsed = ordered_json::parse(model, nullptr, false);
  return parsed.is_discarded() ? ordered_json(model) : parsed;
}

// What the model says of its templates, a line each; what has another shape is left out.
std::string model_text(const ordered_json& model) {
  std::string out;
  if (!model.is_object() || !model.contains("templates") || !model["templates"].is_array()) return out;
  for (const ordered_json& one : model["templates"]) {
    if (one.is_string()) out += fmt::format("  {}\n", text::printable(one.get<std::string>()));
    if (!one.is_object() || !one.contains("pattern") || !one["pattern"].is_string()) continue;
    out += fmt::format("  {}", text::printable(one["pattern"].get<std::string>()));
    if (one.contains("files") && one["files"].is_number_unsigned())
      out += ", " + counted(one["files"].get<std::size_t>(), "file");
    if (one.contains("bytes") && one["bytes"].is_number_unsigned())
      out += ", " + to_string(Bytes{one["bytes"].get<std::uint64_t>()});
    out += '\n';
  }
  return out;
}

}  // namespace

Result<std::string> store_url(const std::string& flag) {
  if (!flag.empty()) return flag;
  const config::SettingsSources sources = config::default_sources();
  IEZ_TRY(const config::Settings settings, config::load_settings(sources));
  if (!settings.store.url.empty()) return settings.store.url;
  IEZ_TRY(const std::string folder, config::state_folder(sources));
  return store::default_store_url(folder);
}

Result<store::Application> application_named(store::Store& store, const std::string& owner, const std::string& name,
                                             Naming naming) {
  IEZ_TRY(auto found, store.find_application(owner, name));
  if (found) return *std::move(found);
  IEZ_TRY(const auto all, store.applications(owner));
  std::vector<std::string_view> names;
  std::vector<store::Application> begin_so;
  names.reserve(all.size());
  for (const auto& one : all) {
    names.push_back(one.application.name);
    if (one.application.name.starts_with(name)) begin_so.push_back(one.application);
  }
  if (naming == Naming::or_its_start && begin_so.size() == 1) return begin_so.front();
  std::string message = fmt::format("there is no application '{}' of {}", text::printable(name), text::printable(owner));
  if (naming == Naming::or_its_start && begin_so.size() > 1) {
    message += fmt::format("; {} begin so, '{}' is one", begin_so.size(), text::printable(begin_so.front().name));
  } else if (const auto near = text::nearest(name, names)) {
    message += fmt::format("; is '{}' meant?", text::printable(*near));
  }
  return fail(Errc::not_found, std::move(message));
}

std::string current_user() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const uid_t uid = geteuid();
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return fmt::format("{}", uid);
}

Result<void> run_db_show(const StoreOptions& options, Context& context) {
  IEZ_TRY(const auto store, open_store(options, context));
  IEZ_TRY(const store::StoreInfo info, store->info());
  IEZ_TRY(const auto applications, store->applications());
  if (options.json) {
    ordered_json json{{"url", info.url},
                      {"engine", info.engine},
                      {"schema", info.schema},
                      {"revision", info.revision},
                      {"bytes", info.bytes},
                      {"runs", info.runs},
                      {"files", info.files},
                      {"misses", info.misses},
                      {"models", info.models},
                      {"predictions", info.predictions},
                      {"predicted", info.predicted},
                      {"allocations", info.allocations},
                      {"allocated", info.allocated},
                      {"applications", ordered_json::array()}};
    for (const auto& one : applications) {
      json["applications"].push_back({{"owner", one.application.owner}, {"name", one.application.name}, {"runs", one.runs}});
    }
    return print(to_line(json));
  }
  std::string out = fmt::format("{}: {}, schema {}, revision {}, {}\n", text::printable(info.url), info.engine, info.schema,
                                info.revision, to_string(Bytes{info.bytes}));
  Table table({{.title = "WHAT"}, {.title = "RECORDS", .align = Align::right}, {.title = "ROWS", .align = Align::right}});
  table.add({{"applications"}, {fmt::format("{}", info.applications)}, {"-"}});
  table.add({{"runs, with files"}, {fmt::format("{}", info.runs)}, {fmt::format("{}", info.files)}});
  table.add({{"misses"}, {"-"}, {fmt::format("{}", info.misses)}});
  table.add({{"models"}, {fmt::format("{}", info.models)}, {"-"}});
  table.add({{"predictions"}, {fmt::format("{}", info.predictions)}, {fmt::format("{}", info.predicted)}});
  table.add({{"allocations"}, {fmt::format("{}", info.allocations)}, {fmt::format("{}", info.allocated)}});
  return print(out + table.render(context.terminal, true));
}

Result<void> run_db_export(const DbExportOptions& options, Context& context) {
  IEZ_TRY(const auto store, open_store(options.common, context));
  IEZ_TRY(auto output, TextOutput::create(options.output));
  IEZ_CHECK(store->export_lines([&](std::string_view line) { return output.write(line); }));
  return output.finish();
}

Result<void> run_db_import(const DbImportOptions& options, Context& context) {
  const bool standard = options.input == kStandardStream;
  const std::string origin = standard ? "standard input" : options.input;
  input::UniqueFd fd(standard ? ::dup(STDIN_FILENO) : ::open(options.input.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, text::printable(origin));
  const auto stream = input::file_stream(std::move(fd), origin);
  IEZ_TRY(const auto store, open_store(options.common, context, true));
  IEZ_TRY(const store::Imported done, store->import_lines(*stream, text::printable(origin)));
  if (options.common.json) {
    return print(to_line({{"lines", done.lines},
                          {"applications", done.applications},
                          {"runs", done.runs},
                          {"predictions", done.predictions},
                          {"allocations", done.allocations},
                          {"present", done.present}}));
  }
  return print(fmt::format("{}: {}, {}, {}, {} added; {} there already\n", text::printable(origin),
                           counted(done.applications, "application"), counted(done.runs, "run"),
                           counted(done.predictions, "prediction"), counted(done.allocations, "allocation"), done.present));
}

Result<void> run_db_check(const StoreOptions& options, Context& context) {
  IEZ_TRY(const auto store, open_store(options, context));
  IEZ_TRY(const auto wrong, store->check());
  IEZ_TRY(const store::StoreInfo info, store->info());
  if (options.json) {
    IEZ_CHECK(print(to_line({{"url", info.url}, {"whole", wrong.empty()}, {"problems", wrong}})));
  } else {
    for (const std::string& problem : wrong) IEZ_CHECK(print(text::printable(problem) + '\n'));
    if (wrong.empty()) {
      IEZ_CHECK(print(fmt::format("{}: whole: {}, {} of runs, {} of plans\n", text::printable(info.url),
                                  counted(info.applications, "application"), counted(info.files, "file row"),
                                  counted(info.allocated, "row"))));
    }
  }
  if (wrong.empty()) return {};
  return fail(Errc::parse, fmt::format("{}: {}; `iez db export` what can be saved, and import it into a new database",
                                       text::printable(info.url), counted(wrong.size(), "problem")));
}

Result<void> run_db_migrate(const DbMigrateOptions& options, Context& context) {
  IEZ_TRY(const std::string url, store_url(options.common.store));
  IEZ_TRY(const store::Migration done, store::migrate(url, options.dry_run, context.clock));
  if (options.common.json) {
    return print(to_line({{"from", done.from}, {"to", done.to}, {"dry_run", options.dry_run}, {"steps", done.steps}}));
  }
  std::string out;
  if (done.from == done.to) {
    out = fmt::format("schema version {}: nothing to do\n", done.to);
  } else {
    out = fmt::format("schema version {} {} {}\n", done.from, options.dry_run ? "would become" : "became", done.to);
    for (const std::string& step : done.steps) out += fmt::format("  {}\n", step);
  }
  return print(out);
}

Result<void> run_app_list(const AppListOptions& options, Context& context) {
  IEZ_TRY(const auto store, open_store(options.common, context));
  IEZ_TRY(const auto all, store->applications(options.all ? "" : current_user()));
  if (options.common.json) {
    ordered_json list = ordered_json::array();
    for (const auto& one : all) {
      list.push_back({{"owner", one.application.owner},
                      {"name", one.application.name},
                      {"fingerprint",
                       one.application.fingerprint.empty() ? ordered_json(nullptr) : ordered_json(one.application.fingerprint)},
                      {"runs", one.runs},
                      {"last_run_ns", one.last_run_ns == 0 ? ordered_json(nullptr) : ordered_json(one.last_run_ns)},
                      {"predictions", one.predictions},
                      {"allocations", one.allocations},
                      {"file_rows", one.file_rows},
                      {"waiting", one.waiting}});
    }
    return print(to_line({{"applications", std::move(list)}}));
  }
  Table table({{.title = "APPLICATION"},
               {.title = "OWNER"},
               {.title = "RUNS", .align = Align::right},
               {.title = "LAST RUN"},
               {.title = "PLANS", .align = Align::right},
               {.title = "FILES WAITING", .align = Align::right}});
  for (const auto& one : all) {
    table.add({{one.application.name},
               {one.application.owner},
               {fmt::format("{}", one.runs)},
               {time_text(one.last_run_ns)},
               {fmt::format("{}", one.allocations)},
               {fmt::format("{}", one.waiting)}});
  }
  return print(table.render(context.terminal, !options.no_header));
}

namespace {

struct SlowOst {
  std::string file_system;
  planning::SlowTarget slow;
};

// Of the file systems that the last run wrote to.
Result<std::vector<SlowOst>> slow_osts(store::Store& store, const std::vector<store::Run>& newest_first, Context& context) {
  std::vector<SlowOst> out;
  if (newest_first.empty()) return out;
  const std::int64_t now = context.clock.wall().time_since_epoch().count();
  for (const store::RunTargets& one : newest_first.front().targets) {
    IEZ_TRY(const auto slow, runs::slow_targets(store, one.file_system, now));
    for (const planning::SlowTarget& target : slow) out.push_back({one.file_system, target});
  }
  return out;
}

ordered_json slow_json(const std::vector<SlowOst>& slow) {
  ordered_json list = ordered_json::array();
  for (const SlowOst& one : slow) {
    list.push_back({{"file_system", one.file_system},
                    {"ost", one.slow.ost.value},
                    {"speed", one.slow.speed},
                    {"runs", one.slow.seen},
                    {"tried_again", one.slow.tried}});
  }
  return list;
}

}  // namespace

Result<void> run_app_show(const AppShowOptions& options, Context& context) {
  IEZ_TRY(const auto store, open_store(options.common, context));
  IEZ_TRY(const store::Application app,
          application_named(*store, options.owner.empty() ? current_user() : options.owner, options.name, Naming::or_its_start));
  IEZ_TRY(const auto compared, store->runs(app.id, options.limit == 0 ? 0 : std::max(options.limit, runs::kLookedAt)));
  const auto listed = std::span(compared).first(options.limit == 0 ? compared.size() : std::min(options.limit, compared.size()));
  IEZ_TRY(const auto prediction, store->latest_prediction(app.id));
  IEZ_TRY(const auto allocation, store->latest_allocation(app.id));
  IEZ_TRY(const GainHistory history, gain_history(*store, compared, prediction));
  const std::vector<runs::Way> ways = runs::ways_of(compared, listed.size(), runs::stored_facts(*store));
  IEZ_TRY(const auto slow, slow_osts(*store, compared, context));
  const ordered_json model = prediction ? model_json(prediction->model) : ordered_json(nullptr);
  if (options.common.json) {
    ordered_json json{{"owner", app.owner},
                      {"name", app.name},
                      {"fingerprint", app.fingerprint.empty() ? ordered_json(nullptr) : ordered_json(app.fingerprint)},
                      {"prediction", nullptr},
                      {"allocation", nullptr},
                      {"history", history_json(history)},
                      {"slow_osts", slow_json(slow)},
                      {"runs", ordered_json::array()}};
    if (prediction) {
      json["prediction"] = {{"key", prediction->key},
                            {"made_ns", prediction->made_ns},
                            {"ranks", prediction->ranks},
                            {"rows", prediction->row_count},
                            {"bytes", prediction->bytes.count},
                            {"accuracy", or_null(prediction->accuracy)},
                            {"verdict", prediction->verdict.empty() ? ordered_json(nullptr) : ordered_json(prediction->verdict)},
                            {"model", model}};
    }
    if (allocation) {
      json["allocation"] = {{"key", allocation->key},         {"plan", allocation->plan},
                            {"made_ns", allocation->made_ns}, {"planner", allocation->planner},
                            {"policy", allocation->policy},   {"file_system", allocation->file_system},
                            {"rows", allocation->row_count},  {"planned", allocation->planned},
                            {"created", allocation->created}, {"expired", allocation->expired}};
    }
    for (std::size_t i = 0; i < listed.size(); ++i) json["runs"].push_back(run_json(listed[i], ways[i]));
    return print(to_line(json));
  }
  std::string out = fmt::format("{} of {}\n", text::printable(app.name), text::printable(app.owner));
  if (prediction) {
    out += fmt::format("prediction of {}: {}, {}; it would have predicted the last run by {}\n", time_text(prediction->made_ns),
                       counted(prediction->row_count, "row"), to_string(prediction->bytes), percent_text(prediction->accuracy));
    out += model_text(model);
  } else {
    out += "no prediction yet: it needs a run that ended well\n";
  }
  if (prediction && !prediction->verdict.empty()) {
    out += fmt::format("no plan: {}\n", text::printable(prediction->verdict));
  } else if (allocation) {
    out += fmt::format("plan {} of {} by {} ({}): {} to be created, {} created, {} expired\n", text::printable(allocation->plan),
                       time_text(allocation->made_ns), text::printable(allocation->planner), text::printable(allocation->policy),
                       allocation->planned, allocation->created, allocation->expired);
  }
  for (const SlowOst& one : slow) {
    out += fmt::format("{}: {}\n", text::printable(one.file_system), planning::suspicion_text(one.slow));
  }
  out += history_text(history);
  if (!listed.empty()) out += fmt::format("last command: {}\n", text::printable(short_text(listed.front().command)));
  // Programs without an MPI have no ranks.
  const bool has_ranks = std::ranges::any_of(listed, [](const store::Run& run) { return run.ranks != 0; });
  std::vector<Table::Column> columns{{.title = "RUN (UTC)"},
                                     {.title = "TOOK", .align = Align::right},
                                     {.title = "EXIT", .align = Align::right, .leaves = 2},
                                     {.title = "FILES", .align = Align::right},
                                     {.title = "PLACED", .align = Align::right},
                                     {.title = "NEW", .align = Align::right, .leaves = 4},
                                     {.title = "WRITTEN", .align = Align::right},
                                     {.title = "SIZES", .align = Align::right, .leaves = 1},
                                     {.title = "COUNTS AS"}};
  if (has_ranks) columns.insert(columns.begin() + 3, {.title = "RANKS", .align = Align::right, .leaves = 3});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const store::Run& run = listed[i];
    std::vector<Cell> row{{short_time_text(run.started_ns)},
                          {run.ended_ns > run.started_ns ? to_string(Duration{run.ended_ns - run.started_ns}) : "-"},
                          {fmt::format("{}", run.exit_status)},
                          {fmt::format("{}", run.files)},
                          {fmt::format("{}", run.planned)},
                          {fmt::format("{}", run.unplanned)},
                          {to_string(run.written)},
                          {run.accuracy ? fmt::format("{:.0f} %", *run.accuracy) : "-"},
                          {std::string(runs::to_string(ways[i]))}};
    if (has_ranks) row.insert(row.begin() + 3, {run.ranks == 0 ? "-" : fmt::format("{}", run.ranks)});
    table.add(std::move(row));
  }
  return print(out + table.render(context.terminal, true));
}

Result<void> run_app_forget(const AppForgetOptions& options, Context& context) {
  IEZ_TRY(const auto store, open_store(options.common, context));
  IEZ_TRY(const store::Application app, application_named(*store, current_user(), options.name, Naming::whole));
  IEZ_TRY(const store::Forgotten gone, store->forget(app.id));
  if (options.common.json) {
    return print(to_line({{"name", app.name},
                          {"runs", gone.runs},
                          {"files", gone.files},
                          {"predictions", gone.predictions},
                          {"allocations", gone.allocations}}));
  }
  return print(fmt::format("{}: removed, with {}, {}, {} and {}\n", text::printable(app.name), counted(gone.runs, "run"),
                           counted(gone.files, "file row"), counted(gone.predictions, "prediction"),
                           counted(gone.allocations, "allocation")));
}

}  // namespace iez::cli
