#include "run_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "api/http_client.hpp"
#include "base/text.hpp"
#include "config/settings.hpp"
#include "inject.hpp"
#include "json.hpp"
#include "plan/plan_reader.hpp"
#include "preload_library.hpp"
#include "program_file.hpp"
#include "runs/identity.hpp"
#include "runs/live_file.hpp"
#include "runs/planner.hpp"
#include "runs/rank_count.hpp"
#include "runs/run_life.hpp"
#include "store/store.hpp"
#include "store_command.hpp"
#include "table.hpp"
#include "writable_folder.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;

constexpr int kCannotRun = 126;  // as env(1) has it
constexpr int kNotFound = 127;

void say(const std::string& text) { fmt::print(stderr, "iez run: {}\n", text::printable(text)); }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "";
}

// The MPI that the program wants, or the one that its launcher starts.
std::string mpi_flavour(const std::vector<std::string>& command, const runs::CommandIdentity& identity,
                        const runs::ProgramProbe& probe) {
  if (std::string flavour = mpi_of_program(command[identity.program]); !flavour.empty()) return flavour;
  if (identity.launcher.empty()) return "";
  const std::string resolved = probe.canonical(command[identity.launcher_at]);
  if (const auto flavour = runs::mpi_of_launcher(fs::path(resolved).filename().string()); !flavour.empty())
    return std::string(flavour);
  // srun starts any MPI. Of a script in Python, mpi4py tells which it is.
  for (std::size_t i = identity.launcher_at + 1; i <= identity.program; ++i) {
    if (!fs::path(command[i]).filename().string().starts_with("python")) continue;
    if (std::string flavour = mpi_of_python(command[i]); !flavour.empty()) return flavour;
  }
  return "";
}

std::vector<std::string> libraries_for(const std::vector<std::string>& command, const runs::CommandIdentity& identity,
                                       const runs::ProgramProbe& probe, std::string& problem) {
  std::vector<std::string> libraries;
  auto own = find_preload_library();
  if (!own) {
    problem = own.error().message;
    return libraries;
  }
  libraries.push_back(*std::move(own));
  if (const std::string flavour = mpi_flavour(command, identity, probe); !flavour.empty()) {
    if (auto mpi = find_mpi_library(flavour)) libraries.push_back(*std::move(mpi));
  }
  return libraries;
}

ordered_json text_or_null(const std::string& text) { return text.empty() ? ordered_json(nullptr) : ordered_json(text); }

ordered_json to_json(const runs::RunReport& report, const std::string& application) {
  return {{"application", application},
          {"mode", runs::to_string(report.mode)},
          {"why", report.why},
          {"plan", text_or_null(report.plan)},
          {"recorded", report.recorded},
          {"files", report.files},
          {"bytes_written", report.written},
          {"created", report.created},
          {"predicted", report.predicted},
          {"existing", report.existing},
          {"placed", report.placed},
          {"refused", report.refused},
          {"respected", report.respected},
          {"accuracy", or_null(report.accuracy)},
          {"ost_cost", or_null(report.ost_cost)},
          {"gain", text_or_null(report.gain)},
          {"write_ratio", or_null(report.write_ratio)},
          {"read_ratio", or_null(report.read_ratio)},
          {"given_up", report.given_up},
          {"next_plan", text_or_null(report.next_plan)},
          {"verdict", text_or_null(report.verdict)},
          {"planner", text_or_null(report.planner)},
          {"next_files", report.next_files},
          {"notes", report.notes}};
}

// What became of the files of this run.
std::string told_files(const runs::RunReport& report) {
  std::string out = fmt::format("{}, {} written", counted(report.files, "file"), to_string(Bytes{report.written}));
  if (report.created > 0) out += fmt::format("; {} of {} large ones predicted", report.predicted, report.created);
  if (report.mode == runs::Mode::place && report.placed > 0) out += fmt::format(", {} placed", report.placed);
  if (report.existing > 0) out += fmt::format("; {} written over in place", report.existing);
  if (report.respected > 0) out += fmt::format("; {} in directories with a layout of their own", report.respected);
  if (report.refused > 0) out += fmt::format("; {} refused", report.refused);
  if (report.accuracy) out += fmt::format("; sizes predicted to {:.1f} %", *report.accuracy);
  if (report.ost_cost) out += fmt::format("; OSTCost {:.3f}", *report.ost_cost);
  return out;
}

// What comes next.
std::string told_next(const runs::RunReport& report) {
  if (!report.next_plan.empty()) return fmt::format("next run: placed by plan ({}), {}", report.planner, report.verdict);
  if (report.planner == runs::kPulled) return "next run: planned by the coordinator, which fetches the prediction";
  if (report.given_up || report.verdict.empty()) return "";
  return fmt::format("next run: not placed: {}", report.verdict);
}

// Before the command, which may take hours. Returns how many were said.
std::size_t tell_notes_so_far(const runs::RunReport& report, const RunCommandOptions& options) {
  if (options.json || options.quiet) return 0;
  for (const std::string& note : report.notes) say(note);
  return report.notes.size();
}

// said: notes that were told before.
void tell(const runs::RunReport& report, const std::string& application, const RunCommandOptions& options, std::size_t said) {
  if (options.json) {
    fmt::print(stderr, "{}", to_line(to_json(report, application)));
    return;
  }
  if (options.quiet) return;
  for (const std::string& note : std::span(report.notes).subspan(std::min(said, report.notes.size()))) say(note);
  if (!report.recorded || !report.traced) return;  // why nothing was traced stands among the notes
  const std::string_view way = report.mode != runs::Mode::place ? "traced:" : report.placed > 0 ? "placed:" : "none placed:";
  say(fmt::format("{}: {} {}", application, way, told_files(report)));
  if (!report.gain.empty()) say(report.gain);
  if (const std::string next = told_next(report); !next.empty()) say(next);
}

Result<void> show(const runs::RunReport& report, const runs::Variables& variables, const runs::CommandIdentity& identity,
                  const std::string& application, const RunCommandOptions& options) {
  if (options.json) {
    ordered_json json{{"application", application},
                      {"program", options.command[identity.program]},
                      {"fingerprint", identity.fingerprint},
                      {"mode", runs::to_string(report.mode)},
                      {"why", report.why},
                      {"plan", report.plan.empty() ? ordered_json(nullptr) : ordered_json(report.plan)},
                      {"environment", ordered_json::array()},
                      {"command", options.command},
                      {"notes", report.notes}};
    for (const auto& [name, value] : variables) json["environment"].push_back({{"name", name}, {"value", value}});
    return print(to_line(json));
  }
  std::string out = fmt::format("application  {}\nprogram      {}\nmode         {}: {}\n", application,
                                text::printable(options.command[identity.program]), runs::to_string(report.mode), report.why);
  if (!report.plan.empty()) out += fmt::format("plan         {}\n", report.plan);
  for (const auto& [name, value] : variables) out += fmt::format("environment  {}={}\n", name, text::printable(value));
  out += fmt::format("command      {}\n", text::printable(fmt::format("{}", fmt::join(options.command, " "))));
  for (const std::string& note : report.notes) out += fmt::format("note         {}\n", text::printable(note));
  return print(out);
}

std::unexpected<Error> wrong(std::string_view option, const std::string& given, std::string_view why) {
  return fail(Errc::invalid_argument, fmt::format("{} {}: {}", option, text::printable(given), why));
}

// What makes no sense is told before the command runs for hours. Settings are another matter: they are not typed each time, and a
// run goes on without them.
Result<void> check(const RunCommandOptions& options) {
  std::error_code error;
  if (!options.plan.empty()) {
    if (const auto plan = plan::PlanReader::open(options.plan); !plan)  // its message names the file
      return fail(Errc::invalid_argument, "--plan " + plan.error().message);
  }
  if (!options.coordinator.empty() && options.coordinator != "none") {
    IEZ_TRY([[maybe_unused]] const auto client, api::HttpClient::make({.what = "--coordinator", .url = options.coordinator}));
  }
  if (!options.store.empty()) {
    if (const auto url = store::parse_store_url(options.store); !url) return wrong("--store", options.store, url.error().message);
  }
  for (const std::string& root : options.roots) {
    if (!fs::exists(root, error)) return wrong("--root", root, "no such directory or file");
  }
  for (const std::string& under : options.under) {
    if (under.empty() || (fs::exists(under, error) && !fs::is_directory(under, error))) {
      return wrong("--under", under, "expected a directory");
    }
  }
  if (!options.trace_folder.empty() && !why_not_writable(options.trace_folder).empty()) {
    return wrong("--trace-dir", options.trace_folder, "expected a directory that you may write to");
  }
  if (!options.keep_trace.empty()) {
    const fs::path parent = fs::absolute(options.keep_trace, error).parent_path();
    if (fs::is_directory(options.keep_trace, error))
      return wrong("--keep-trace", options.keep_trace, "a directory; expected a file");
    if (!fs::is_directory(parent, error) || !why_not_writable(parent.string()).empty()) {
      return wrong("--keep-trace", options.keep_trace, "its directory is not there, or you may not write to it");
    }
  }
  return {};
}

}  // namespace

Result<void> run_run(const RunCommandOptions& options, Context& context) {
  IEZ_CHECK(check(options));
  const config::SettingsSources sources = config::default_sources();
  runs::RunOptions run;
  std::vector<std::string> problems;
  if (auto settings = config::load_settings(sources)) {
    run.settings = *std::move(settings);
  } else {
    if (options.dry_run) return std::unexpected(std::move(settings).error());
    problems.push_back(fmt::format("settings are passed over: {}", settings.error().message));
  }
  if (!options.store.empty()) run.settings.store.url = options.store;
  if (!options.coordinator.empty()) {
    run.settings.coordinator.url = options.coordinator == "none" ? "" : options.coordinator;
    run.settings.coordinator.pull = false;
  }
  if (!options.roots.empty()) run.settings.roots = options.roots;
  if (auto state = config::state_folder(sources)) run.state = *std::move(state);

  const runs::ProgramProbe probe = program_probe();
  const runs::CommandIdentity identity = runs::identify(options.command, probe);
  std::string application = options.application;
  if (application.empty()) application = sources.environment("IEZ_APP").value_or("");
  if (application.empty()) application = identity.application;
  if (!runs::valid_application(application)) {
    if (!options.application.empty()) {
      return fail(Errc::invalid_argument,
                  fmt::format("--app {}: expected 1 to 128 letters, digits and . _ - + @ :, not a point or a dash first",
                              text::printable(application)));
    }
    application = runs::made_valid(application);
  }
  run.application = application;
  run.fingerprint = identity.fingerprint;
  run.owner = current_user();
  run.uid = static_cast<std::uint32_t>(::getuid());
  run.host = host_name();
  run.command = options.command;
  run.under = options.under;
  run.why_unseen = [&program = options.command[identity.program]]() -> std::string {
    const std::string why = why_unseen(program);
    return why.empty() ? "" : fmt::format("{}: {}", text::printable(fs::path(program).filename().string()), why);
  };
  run.plan_file = options.plan;
  run.trace_parent = options.trace_folder;
  run.keep_trace = options.keep_trace;
  run.learn_only = options.learn;
  run.no_place = options.no_place;
  run.replace = options.replace;
  run.ranks = runs::ranks_before_run(options.command, identity.program, !identity.launcher.empty(), sources.environment);
  const auto overridden = sources.environment("IEZ_OVERRIDE_DIRECTORIES");
  run.override_directories = overridden && !overridden->empty() && *overridden != "0";
  run.dry_run = options.dry_run;
  std::string missing;
  run.libraries = libraries_for(options.command, identity, probe, missing);
  if (!missing.empty()) problems.push_back(missing);

  runs::RunLife life(std::move(run), context.clock);
  life.prepare();
  if (options.dry_run) return show(life.report(), life.variables(), identity, application, options);
  const std::size_t said = tell_notes_so_far(life.report(), options);
  const auto ending =
      runs::run_command(options.command, life.variables(), {.every = runs::kHeartbeat, .done = [&] { life.beat(); }});
  if (!ending) {
    fmt::print(stderr, "iez run: {}\n", text::printable(ending.error().message));
    life.not_started();
    tell(life.report(), application, options, said);
    life.release();
    runs::end_like({.status = ending.error().os_errno == ENOENT ? kNotFound : kCannotRun});
  }
  life.finish(*ending);
  if (!options.quiet && !options.json) {
    for (const std::string& problem : problems) say(problem);
  }
  tell(life.report(), application, options, said);
  life.release();
  runs::end_like(*ending);
}

}  // namespace iez::cli
