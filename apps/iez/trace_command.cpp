#include "trace_command.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/text.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "text_file.hpp"
#include "trace/merge.hpp"
#include "trace/segment_reader.hpp"
#include "trace/segment_writer.hpp"
#include "trace/trace_csv.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kShownByDefault = 20;
constexpr std::string_view kRunSuffix = ".ieztrace";

trace::MergeOptions merge_options(const std::optional<Bytes>& memory, const std::string& temporary, bool drop_unused,
                                  Progress& progress) {
  trace::MergeOptions merge{.temporary_directory = temporary, .drop_unused = drop_unused};
  if (memory) merge.memory = *memory;
  merge.progress = [&progress](std::size_t done, std::size_t of) {
    progress.tell(fmt::format("merging: {} of {} segments", done, of));
  };
  return merge;
}

std::string time_text(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return "not known";
  const std::time_t seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

std::string count_text(std::uint64_t number) { return number == 0 ? "-" : fmt::to_string(number); }

// "3", "0-15 (shared)" would promise too much: ranks need not follow each other.
std::string rank_text(const trace::TracedFile& file) {
  if (trace::shared(file)) return fmt::format("{} ranks", file.ranks);
  return file.rank == trace::kNoRank ? "-" : fmt::to_string(file.rank);
}

std::string share_text(std::uint64_t part, std::uint64_t of) {
  return of == 0 ? "-" : percent(static_cast<double>(std::min(part, of)) / static_cast<double>(of));
}

struct Totals {
  std::uint64_t files = 0;
  Bytes written;
  Bytes read;
  Bytes unseen;

  void add(const trace::TracedFile& file) {
    ++files;
    written += file.written;
    read += file.read;
    unseen += trace::unseen(file);
  }
};

void sort_files(std::vector<trace::TracedFile>& files, TraceSort sort) {
  switch (sort) {
    case TraceSort::written:
      std::ranges::sort(files, {}, [](const auto& file) { return std::pair(~file.written.count, std::string_view(file.name)); });
      break;
    case TraceSort::read:
      std::ranges::sort(files, {}, [](const auto& file) { return std::pair(~file.read.count, std::string_view(file.name)); });
      break;
    case TraceSort::name:
      break;
    case TraceSort::time:
      sort_by_time(files);
      break;
  }
}

std::string layouts_text(const trace::LayoutCounts& layouts) {
  if (layouts == trace::LayoutCounts{}) return {};
  std::string out = fmt::format("layouts: {} as planned", layouts.applied);
  const auto more = [&out](std::uint64_t count, const std::string& what) {
    if (count > 0) out += fmt::format(", {} {}", count, what);
  };
  more(layouts.refused,
       layouts.last_errno == 0 ? "refused" : fmt::format("refused ({})", std::generic_category().message(layouts.last_errno)));
  more(layouts.taken, "taken by another opener");
  more(layouts.existing, "of files that existed");
  more(layouts.elsewhere, "on other file systems");
  more(layouts.respected, "left to their directory");
  return out + '\n';
}

std::string run_text(const LoadedTrace& loaded, const Totals& totals) {
  const trace::RunInfo& run = loaded.run;
  std::string out = fmt::format("{}, {} written, {} read; form: {}\n", counted(totals.files, "file"), to_string(totals.written),
                                to_string(totals.read), loaded.form);
  if (!run.program.empty()) out += fmt::format("program: {}\n", text::printable(run.program));
  if (!run.job.empty()) out += fmt::format("job: {}\n", text::printable(run.job));
  if (!run.host.empty()) out += fmt::format("host: {}\n", text::printable(run.host));
  if (run.processes > 0 || run.communicator > 0) {
    out += fmt::format("processes: {}, ranks: {}\n", count_text(run.processes), count_text(run.communicator));
  }
  if (run.start_ns != 0 || run.end_ns != 0) out += fmt::format("from {} to {}\n", time_text(run.start_ns), time_text(run.end_ns));
  if (totals.unseen.count > 0) {
    out += fmt::format("unseen: {} by which files grew without a call that was seen (mappings, io_uring, holes)\n",
                       to_string(totals.unseen));
  }
  out += layouts_text(run.layouts);
  for (const std::string& note : loaded.notes) out += fmt::format("note: {}\n", note);
  return out + '\n';
}

std::string files_text(const std::vector<trace::TracedFile>& files, std::size_t shown, const Terminal& terminal, bool header) {
  Table table({{.title = "WRITTEN", .align = Align::right},
               {.title = "CALLS", .align = Align::right},
               {.title = "SEQ", .align = Align::right},
               {.title = "READ", .align = Align::right},
               {.title = "STRIPES", .align = Align::right},
               {.title = "RANK", .align = Align::right},
               {.title = "FILE"}});
  for (const trace::TracedFile& file : std::span(files).first(shown)) {
    std::string name = file.name;
    if (!file.renamed.empty()) name += " -> " + file.renamed;
    if (trace::removed(file)) name += " (removed)";
    table.add({{to_string(file.written)},
               {count_text(file.write_calls)},
               {share_text(file.sequential_writes, file.write_calls)},
               {to_string(file.read)},
               {count_text(file.stripe_count)},
               {rank_text(file)},
               {std::move(name)}});
  }
  std::string out = table.render(terminal, header);
  if (header && shown < files.size()) out += fmt::format("... and {} more; --limit 0 shows all\n", files.size() - shown);
  return out;
}

ordered_json file_json(const trace::TracedFile& file) {
  return {{"name", file.name},
          {"renamed", file.renamed.empty() ? ordered_json(nullptr) : ordered_json(file.renamed)},
          {"written", file.written.count},
          {"read", file.read.count},
          {"write_calls", file.write_calls},
          {"read_calls", file.read_calls},
          {"sequential_writes", file.sequential_writes},
          {"sequential_reads", file.sequential_reads},
          {"largest_write", file.largest_write.count},
          {"largest_read", file.largest_read.count},
          {"end", file.end.count},
          {"creates", file.creates},
          {"opens", file.opens},
          {"unseen", trace::unseen(file).count},
          {"stripe_count", file.stripe_count},
          {"stripe_size", file.stripe_size.count},
          {"rank", file.rank},
          {"ranks", file.ranks},
          {"communicator", file.communicator},
          {"first_ns", or_null(file.first_ns)},
          {"last_ns", or_null(file.last_ns)},
          {"first_write_ns", or_null(file.first_write_ns)},
          {"last_write_ns", or_null(file.last_write_ns)},
          {"first_read_ns", or_null(file.first_read_ns)},
          {"last_read_ns", or_null(file.last_read_ns)},
          {"removed", trace::removed(file)},
          {"own_layout", file.own_layout}};
}

ordered_json run_json(const std::string& path, const LoadedTrace& loaded, const Totals& totals,
                      const input::ParseReport& report) {
  const trace::RunInfo& run = loaded.run;
  ordered_json json{{"path", path},
                    {"form", loaded.form},
                    {"program", run.program},
                    {"job", run.job},
                    {"host", run.host},
                    {"processes", run.processes},
                    {"ranks", run.communicator},
                    {"start_ns", run.start_ns},
                    {"end_ns", run.end_ns},
                    {"files", totals.files},
                    {"written", totals.written.count},
                    {"read", totals.read.count},
                    {"unseen", totals.unseen.count},
                    {"layouts",
                     {{"applied", run.layouts.applied},
                      {"refused", run.layouts.refused},
                      {"taken", run.layouts.taken},
                      {"existing", run.layouts.existing},
                      {"elsewhere", run.layouts.elsewhere},
                      {"respected", run.layouts.respected},
                      {"errno", run.layouts.last_errno}}},
                    {"notes", loaded.notes}};
  add_problems(json, report);
  return json;
}

std::string_view word(trace::CallOperation operation) {
  switch (operation) {
    case trace::CallOperation::read:
      return "read";
    case trace::CallOperation::write:
      return "write";
    case trace::CallOperation::open:
      return "open";
    case trace::CallOperation::close:
      return "close";
    case trace::CallOperation::sync:
      return "sync";
    case trace::CallOperation::truncate:
      return "truncate";
  }
  return "?";
}

struct SingleCalls {
  std::vector<trace::TracedCall> calls;
  std::vector<std::pair<std::uint32_t, std::string>> names;  // by slot

  std::string_view name(std::uint32_t slot) const {
    const auto found = std::ranges::lower_bound(names, slot, {}, &std::pair<std::uint32_t, std::string>::first);
    return found != names.end() && found->first == slot ? std::string_view(found->second) : "?";
  }
};

Result<SingleCalls> read_calls(const std::string& path) {
  IEZ_TRY(auto reader, trace::SegmentReader::open(path));
  SingleCalls result;
  input::ParseReport ignored;  // told when the files were read
  IEZ_TRY(
      const auto stats,
      reader.read({.file = [&](std::uint32_t slot, const trace::TracedFile& file) { result.names.emplace_back(slot, file.name); },
                   .call = [&](const trace::TracedCall& call) { result.calls.push_back(call); }},
                  ignored));
  (void)stats;  // the calls say it
  std::ranges::sort(result.calls, {},
                    [](const trace::TracedCall& call) { return std::tuple(call.start_ns, call.file_slot, call.offset); });
  return result;
}

std::string calls_text(const SingleCalls& single, std::size_t limit, const Terminal& terminal, bool header) {
  Table table({{.title = "TIME", .align = Align::right},
               {.title = "TOOK", .align = Align::right},
               {.title = "CALL"},
               {.title = "OFFSET", .align = Align::right},
               {.title = "LENGTH", .align = Align::right},
               {.title = "FILE"}});
  const std::size_t shown = limit == 0 ? single.calls.size() : std::min(limit, single.calls.size());
  const std::int64_t start = single.calls.empty() ? 0 : single.calls.front().start_ns;
  for (const trace::TracedCall& call : std::span(single.calls).first(shown)) {
    table.add({{fmt::format("{:.6f}", static_cast<double>(call.start_ns - start) / 1e9)},
               {to_string(call.duration)},
               {std::string(word(call.operation))},
               {fmt::to_string(call.offset.count)},
               {fmt::to_string(call.length.count)},
               {std::string(single.name(call.file_slot))}});
  }
  std::string out = header ? fmt::format("\n{} single calls\n", single.calls.size()) : "";
  out += table.render(terminal, header);
  if (header && shown < single.calls.size())
    out += fmt::format("... and {} more; --limit 0 shows all\n", single.calls.size() - shown);
  return out;
}

ordered_json calls_json(const SingleCalls& single) {
  ordered_json json = ordered_json::array();
  for (const trace::TracedCall& call : single.calls) {
    json.push_back({{"call", word(call.operation)},
                    {"file", single.name(call.file_slot)},
                    {"offset", call.offset.count},
                    {"length", call.length.count},
                    {"start_ns", call.start_ns},
                    {"duration_ns", call.duration.count()},
                    {"thread", call.thread}});
  }
  return json;
}

Result<void> show_one(const std::string& path, const TraceShowOptions& options, Context& context) {
  Progress progress(context.clock);
  input::ParseReport report;
  const TraceInputOptions input{.form = options.form, .merge = merge_options({}, "", false, progress)};
  IEZ_TRY(LoadedTrace loaded, load_trace(path, input, report));
  progress.wipe();
  Totals totals;
  for (const trace::TracedFile& file : loaded.files) totals.add(file);
  sort_files(loaded.files, options.sort);
  std::optional<SingleCalls> single;
  if (options.calls) {
    auto calls = read_calls(path);
    if (!calls) return with_context(std::move(calls).error(), "--calls needs one segment");
    single = *std::move(calls);
  }
  report_problems(report, context);
  const std::size_t limit = options.limit.value_or(options.json ? 0 : kShownByDefault);
  const std::size_t shown = limit == 0 ? loaded.files.size() : std::min(limit, loaded.files.size());
  if (options.json) {
    ordered_json json = run_json(path, loaded, totals, report);
    json["rows"] = ordered_json::array();
    for (const trace::TracedFile& file : std::span(loaded.files).first(shown)) json["rows"].push_back(file_json(file));
    if (single) json["calls"] = calls_json(*single);
    return print(to_line(json));
  }
  std::string out;
  if (!options.no_header)
    out = (options.paths.size() > 1 ? fmt::format("{}:\n", text::printable(path)) : "") + run_text(loaded, totals);
  out += files_text(loaded.files, shown, context.terminal, !options.no_header);
  if (single) out += calls_text(*single, limit, context.terminal, !options.no_header);
  return print(out);
}

trace::SegmentInfo segment_info(const trace::RunInfo& run) {
  trace::SegmentInfo info{
      .kind = trace::SegmentKind::run, .processes = std::max(1U, run.processes), .communicator = run.communicator};
  info.host = run.host;
  info.job = run.job;
  info.program = run.program;
  info.start_ns = run.start_ns;
  info.end_ns = run.end_ns;
  info.layouts = run.layouts;
  info.unseen_descriptors = run.unseen_descriptors;
  return info;
}

Result<void> write_run(const std::string& path, const LoadedTrace& loaded) {
  IEZ_TRY(auto writer, trace::SegmentWriter::create(path, segment_info(loaded.run)));
  for (const trace::TracedFile& file : loaded.files) IEZ_CHECK(writer.add(file));
  return writer.finish();
}

// What happened, on stderr: stdout is the data.
void tell(const LoadedTrace& loaded, const Totals& totals, Context& context) {
  for (const std::string& note : loaded.notes) context.log.info(note);
  context.log.info(
      fmt::format("{}, {} written; form: {}", counted(totals.files, "file"), to_string(totals.written), loaded.form));
}

Result<void> to_csv(const TraceExportOptions& options, Context& context) {
  Progress progress(context.clock);
  input::ParseReport report;
  const TraceInputOptions input{.form = options.form,
                                .merge = merge_options(options.memory, options.temporary, options.drop_unused, progress)};
  IEZ_TRY(TextOutput output, TextOutput::create(options.output));
  trace::CsvWriter writer([&](std::string_view text) { return output.write(text); });
  Totals totals;
  IEZ_TRY(const LoadedTrace loaded, visit_trace(options.input, input, report, [&](const trace::TracedFile& file) -> Result<void> {
            totals.add(file);
            return writer.add(file);
          }));
  IEZ_CHECK(writer.finish());
  IEZ_CHECK(output.finish());
  progress.wipe();
  report_problems(report, context);
  tell(loaded, totals, context);
  return {};
}

}  // namespace

Result<void> run_trace_show(const TraceShowOptions& options, Context& context) {
  for (const std::string& path : options.paths) IEZ_CHECK(show_one(path, options, context));
  return {};
}

Result<void> run_trace_merge(const TraceMergeOptions& options, Context& context) {
  Progress progress(context.clock);
  IEZ_TRY(const auto summary,
          trace::merge_to_file(options.inputs, options.output,
                               merge_options(options.memory, options.temporary, options.drop_unused, progress)));
  progress.wipe();
  report_problems(summary.report, context);
  if (options.json) {
    ordered_json json{{"output", options.output},     {"segments", summary.segments}, {"bad_segments", summary.bad_segments},
                      {"unclosed", summary.unclosed}, {"dropped", summary.dropped},   {"rows", summary.rows},
                      {"files", summary.files},       {"spills", summary.spills}};
    add_problems(json, summary.report);
    return print(to_line(json));
  }
  std::string out = fmt::format("{}: {} of {}\n", text::printable(options.output), counted(summary.files, "file"),
                                counted(summary.segments, "segment"));
  if (summary.bad_segments > 0) out += fmt::format("not used: {} segments that could not be read\n", summary.bad_segments);
  if (summary.unclosed > 0) out += fmt::format("{} processes did not end by themselves\n", summary.unclosed);
  for (const std::string& note : trace::clock_notes(summary)) out += note + '\n';
  if (summary.dropped > 0) out += fmt::format("{} records found no room in their segments and are missing\n", summary.dropped);
  return print(out);
}

Result<void> run_trace_export(const TraceExportOptions& options, Context& context) { return to_csv(options, context); }

Result<void> run_trace_import(const TraceExportOptions& options, Context& context) {
  if (!options.output.ends_with(kRunSuffix)) return to_csv(options, context);
  Progress progress(context.clock);
  input::ParseReport report;
  const TraceInputOptions input{.form = options.form,
                                .merge = merge_options(options.memory, options.temporary, options.drop_unused, progress)};
  IEZ_TRY(const LoadedTrace loaded, load_trace(options.input, input, report));
  IEZ_CHECK(write_run(options.output, loaded));
  progress.wipe();
  report_problems(report, context);
  Totals totals;
  for (const trace::TracedFile& file : loaded.files) totals.add(file);
  tell(loaded, totals, context);
  return {};
}

}  // namespace iez::cli
