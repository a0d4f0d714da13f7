#include "forecast_run.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/request_csv.hpp"
#include "forecast/next_run.hpp"
#include "forecast/rename_rule.hpp"
#include "json.hpp"
#include "placement/request.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kShownByDefault = 20;
constexpr std::size_t kTemplatesShown = 12;

using forecast::NextRun;
using forecast::PredictedFile;

bool below(std::string_view name, std::string_view folder) {
  if (folder.empty()) return true;
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return name.starts_with(folder) && (folder.ends_with('/') || name.size() == folder.size() || name[folder.size()] == '/');
}

Result<LoadedTrace> load(const std::string& path, const ForecastRunOptions& options, Context& context) {
  Progress progress(context.clock);
  input::ParseReport report;
  TraceInputOptions input{.form = options.form};
  input.merge.progress = [&](std::size_t done, std::size_t of) {
    progress.tell(fmt::format("{}: {} of {} segments", path, done, of));
  };
  IEZ_TRY(auto loaded, load_trace(path, input, report));
  progress.wipe();
  report_problems(report, context);
  sort_by_time(loaded.files);
  return loaded;
}

// Points into the trace.
forecast::RunSeen seen(const LoadedTrace& loaded, std::string_view under) {
  forecast::RunSeen run{.ranks = loaded.run.communicator};
  for (const trace::TracedFile& file : loaded.files) {
    if (file.written.count == 0 && file.creates == 0) continue;  // only read
    if (!below(trace::final_name(file), under)) continue;
    run.files.push_back({.name = trace::final_name(file),
                         .bytes = trace::held(file),
                         .stripe_count = file.stripe_count,
                         .rank = file.rank,
                         .ranks = std::max(1U, file.ranks)});
  }
  return run;
}

struct Answer {
  NextRun next;
  std::vector<forecast::RenameRule> renames;
  std::optional<forecast::Score> score;
};

std::string one_in(const std::optional<double>& value) { return value ? fmt::format("{:.2f} %", *value) : "none"; }

std::string score_text(std::string_view title, const forecast::Score& score) {
  return fmt::format(
      "{}: {} of {} files foretold ({} foretold in all), sizes {}, by weight {}, at or below high {}, stripe counts {}\n", title,
      score.met, score.written, score.predicted, one_in(score.accuracy), one_in(score.by_weight),
      score.met == 0 ? "none" : percent(static_cast<double>(score.within) / static_cast<double>(score.met)),
      score.stripe_known == 0 ? "not known"
                              : percent(static_cast<double>(score.stripe_counts) / static_cast<double>(score.stripe_known)));
}

ordered_json score_json(const forecast::Score& score) {
  return {{"predicted", score.predicted},
          {"written", score.written},
          {"met", score.met},
          {"accuracy", or_null(score.accuracy)},
          {"wape_accuracy", or_null(score.by_weight)},
          {"within_high", score.within},
          {"modes_right", score.modes},
          {"stripe_counts_right", score.stripe_counts},
          {"stripe_counts_known", score.stripe_known}};
}

std::string rename_text(const forecast::RenameRule& rule) {
  return fmt::format("{} -> {}", rule.temporary.pattern(), rule.final.pattern());
}

ordered_json to_json(const Answer& answer, std::size_t shown) {
  const NextRun& next = answer.next;
  ordered_json json{{"runs", next.runs},
                    {"ranks", next.ranks},
                    {"files", next.files.size()},
                    {"bytes", next.total.count},
                    {"high", next.total_high.count},
                    {"last_run", next.last_run ? score_json(*next.last_run) : ordered_json(nullptr)},
                    {"score", answer.score ? score_json(*answer.score) : ordered_json(nullptr)},
                    {"notes", next.notes},
                    {"renames", ordered_json::array()},
                    {"templates", ordered_json::array()},
                    {"rows", ordered_json::array()}};
  for (const forecast::RenameRule& rule : answer.renames) {
    json["renames"].push_back({{"temporary", rule.temporary.pattern()}, {"final", rule.final.pattern()}, {"pairs", rule.pairs}});
  }
  for (const forecast::PredictedTemplate& one : next.templates) {
    json["templates"].push_back({{"pattern", one.name.pattern()},
                                 {"files", one.files},
                                 {"bytes", one.bytes.count},
                                 {"rank_exponent", one.exponent},
                                 {"rank_exponent_fitted", one.fitted}});
  }
  for (const PredictedFile& file : std::span(next.files).first(shown)) {
    json["rows"].push_back({{"name", file.name},
                            {"open", file.open},
                            {"files", file.files},
                            {"bytes", file.bytes.count},
                            {"high", file.high.count},
                            {"stripe_count", file.stripe_count},
                            {"rank", file.rank},
                            {"shared", file.shared},
                            {"step", file.step},
                            {"template", file.of}});
  }
  return json;
}

std::string heading(const Answer& answer) {
  const NextRun& next = answer.next;
  std::uint64_t files = 0;
  for (const PredictedFile& file : next.files) files += file.files;
  std::string out = fmt::format("next run: {}, {} in all, {} if each is at its HIGH; from {}", counted(files, "file"),
                                to_string(next.total), to_string(next.total_high), counted(next.runs, "run"));
  out += next.ranks > 0 ? fmt::format(", {}\n", counted(next.ranks, "rank")) : "\n";
  if (next.last_run) out += score_text("the last run, foretold by those before it", *next.last_run);
  if (answer.score) out += score_text("the run that followed", *answer.score);
  for (const std::string& note : next.notes) out += fmt::format("note: {}\n", note);
  for (const forecast::RenameRule& rule : answer.renames) {
    out += fmt::format("written as a temporary file: {}\n", text::printable(rename_text(rule)));
  }
  return out + '\n';
}

std::string to_text(const Answer& answer, std::size_t shown, bool header, const Terminal& terminal) {
  const NextRun& next = answer.next;
  std::string out;
  if (header) {
    out = heading(answer);
    Table templates({{.title = "FILES", .align = Align::right}, {.title = "BYTES", .align = Align::right}, {.title = "NAMES"}});
    for (const auto& one : std::span(next.templates).first(std::min(kTemplatesShown, next.templates.size()))) {
      templates.add({{fmt::to_string(one.files)}, {to_string(one.bytes)}, {one.name.pattern()}});
    }
    out += templates.render(terminal, true);
    if (next.templates.size() > kTemplatesShown) out += fmt::format("... and {} more\n", next.templates.size() - kTemplatesShown);
    out += '\n';
  }
  Table table({{.title = "BYTES", .align = Align::right},
               {.title = "HIGH", .align = Align::right},
               {.title = "STRIPES", .align = Align::right},
               {.title = "RANK", .align = Align::right},
               {.title = "FILE"}});
  for (const PredictedFile& file : std::span(next.files).first(shown)) {
    table.add({{fmt::to_string(file.bytes.count)},
               {fmt::to_string(file.high.count)},
               {file.stripe_count == 0 ? "-" : fmt::to_string(file.stripe_count)},
               {file.shared ? "shared" : (file.rank < 0 ? "-" : fmt::to_string(file.rank))},
               {file.files > 1 ? fmt::format("{} ({} files)", file.name, file.files) : file.name}});
  }
  out += table.render(terminal, header);
  if (header && shown < next.files.size())
    out += fmt::format("... and {} more; --limit 0 shows all\n", next.files.size() - shown);
  return out;
}

// Reserved is what will hardly be exceeded. A name that is not known cannot be placed before it is.
std::string to_requests(const NextRun& next) {
  std::vector<placement::Request> requests;
  requests.reserve(next.files.size());
  for (const PredictedFile& file : next.files) {
    if (file.high.count == 0 || file.open) continue;
    placement::Request request{.name = file.name, .bytes = file.high};
    if (file.stripe_count > 0) request.stripe_count = static_cast<std::int32_t>(file.stripe_count);
    requests.push_back(std::move(request));
  }
  return config::to_csv(requests);
}

Result<void> check(const ForecastRunOptions& options) {
  if (options.ranks && *options.ranks == 0) return fail(Errc::invalid_argument, "--ranks: found 0, expected 1 or more");
  const bool scale = options.scale > 0 && options.scale <= 1e6;  // false for NaN
  if (!scale) {
    return fail(Errc::invalid_argument,
                fmt::format("--scale: found {}, expected more than 0 and at most 1000000", options.scale));
  }
  const bool probability = options.reserve > 0.5 && options.reserve < 1;
  if (!probability) {
    return fail(Errc::invalid_argument,
                fmt::format("--quantile: found {}, expected more than 0.5 and less than 1", options.reserve));
  }
  if (options.requests == kStandardStream && options.json) {
    return fail(Errc::invalid_argument, "--requests - with --json: only one of them can go to standard output");
  }
  const auto standard = std::ranges::count(options.traces, kStandardStream) + (options.score == kStandardStream ? 1 : 0);
  if (standard > 1) return fail(Errc::invalid_argument, "'-' is given more than once: standard input can be read once");
  return {};
}

}  // namespace

Result<void> run_forecast_run(const ForecastRunOptions& options, Context& context) {
  IEZ_CHECK(check(options));
  std::vector<LoadedTrace> loaded;
  loaded.reserve(options.traces.size());
  for (const std::string& path : options.traces) {
    IEZ_TRY(auto one, load(path, options, context));
    loaded.push_back(std::move(one));
  }
  std::vector<forecast::RunSeen> runs;
  runs.reserve(loaded.size());
  std::vector<forecast::RenamedFile> renamed;
  for (const LoadedTrace& one : loaded) {
    runs.push_back(seen(one, options.under));
    for (const trace::TracedFile& file : one.files) {
      if (!file.renamed.empty() && below(file.renamed, options.under))
        renamed.push_back({.temporary = file.name, .final = file.renamed});
    }
  }
  if (std::ranges::all_of(runs, [](const forecast::RunSeen& run) { return run.files.empty(); })) {
    return fail(Errc::not_found,
                fmt::format("found no file that was written{} in {} trace{}, expected at least one",
                            options.under.empty() ? "" : fmt::format(" below {}", text::printable(options.under)), runs.size(),
                            runs.size() == 1 ? "" : "s"));
  }
  IEZ_TRY(auto next, forecast::predict_next_run(
                         runs, {.ranks = options.ranks.value_or(0), .scale = options.scale, .reserve = options.reserve}));
  Answer answer{.next = std::move(next), .renames = forecast::learn_renames(renamed)};
  if (!options.score.empty()) {
    IEZ_TRY(const auto followed, load(options.score, options, context));
    answer.score = forecast::score(answer.next, seen(followed, options.under));
  }
  const auto open = std::ranges::count_if(answer.next.files, &PredictedFile::open);
  if (!options.requests.empty() && open > 0) {
    context.log.warning(fmt::format("--requests leaves out {} whose names cannot be known before they are made",
                                    counted(static_cast<std::size_t>(open), "file")));
  }
  if (!options.requests.empty()) IEZ_CHECK(write_text_file(options.requests, to_requests(answer.next)));
  if (options.requests == kStandardStream) return {};
  const std::size_t limit = options.limit.value_or(options.json ? 0 : kShownByDefault);
  const std::size_t shown = limit == 0 ? answer.next.files.size() : std::min(limit, answer.next.files.size());
  return print(options.json ? to_line(to_json(answer, shown)) : to_text(answer, shown, !options.no_header, context.terminal));
}

}  // namespace iez::cli
