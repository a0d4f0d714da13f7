#include "base/text.hpp"
#include "command_line.hpp"

namespace iez::cli {
namespace {

constexpr std::array<std::pair<std::string_view, TraceForm>, 5> kTraceForms{{{"auto", TraceForm::automatic},
                                                                             {"segments", TraceForm::segments},
                                                                             {"csv", TraceForm::csv},
                                                                             {"darshan", TraceForm::darshan},
                                                                             {"recorder", TraceForm::recorder}}};
constexpr std::array<std::pair<std::string_view, TraceSort>, 4> kTraceSorts{
    {{"written", TraceSort::written}, {"read", TraceSort::read}, {"name", TraceSort::name}, {"time", TraceSort::time}}};

}  // namespace

void CommandLine::add_merge_limits(CLI::App& command, std::optional<Bytes>& memory, std::string& temporary, bool& drop_unused) {
  add_quantity<Bytes>(command, "--memory", "For the rows of segments; more are sorted on disk (default: 512MiB)", "SIZE",
                      parse_bytes, [&memory](Bytes size) { memory = size; });
  command.add_option("--tmp", temporary, "Folder for what does not fit (default: TMPDIR, or /tmp)")->type_name("DIR");
  command.add_flag("--drop-unused", drop_unused, "Leave out files that were neither created, written nor read");
}

void CommandLine::add_trace_form(CLI::App& command, TraceForm& form) {
  add_choice(command, "--from", form, kTraceForms, "What the input is (default: auto, by its content)");
}

void CommandLine::add_trace() {
  CLI::App* const command = app_.add_subcommand("trace", "What runs did to their files: show, merge, export, import");
  command->require_subcommand(1);
  const char* const input =
      "A segment, a merged run, a folder of segments, CSV, a log of Darshan or its text, or a folder of Recorder";

  CLI::App* const show = command->add_subcommand("show", "Files of a run, by bytes");
  show->add_option("TRACE", trace_show_.paths, input)->required()->type_name("");
  add_trace_form(*show, trace_show_.form);
  add_choice(*show, "-s,--sort", trace_show_.sort, kTraceSorts, "Order of the files (default: written)");
  show->add_option("-n,--limit", trace_show_.limit, "At most N files, 0 for all (default: 20, all with --json)")
      ->type_name("N")
      ->check(whole_number());
  show->add_flag("--calls", trace_show_.calls, "Also the single calls that a segment kept");
  show->add_flag("--json", trace_show_.json, "One JSON document a trace");
  show->add_flag("--no-header", trace_show_.no_header, "Rows only");
  on(show, [this](Context& context) { return run_trace_show(trace_show_, context); });

  CLI::App* const merge = command->add_subcommand("merge", "Segments of many processes to one row a file");
  merge->add_option("INPUT", trace_merge_.inputs, "Segments, merged runs, or folders of them")->required()->type_name("");
  merge->add_option("-o,--output", trace_merge_.output, "The merged run to write, RUN.ieztrace")->required()->type_name("FILE");
  add_merge_limits(*merge, trace_merge_.memory, trace_merge_.temporary, trace_merge_.drop_unused);
  merge->add_flag("--json", trace_merge_.json, "What was merged, as one JSON document");
  on(merge, [this](Context& context) { return run_trace_merge(trace_merge_, context); });

  CLI::App* const exported = command->add_subcommand("export", "A run as CSV, one line a file");
  exported->add_option("TRACE", trace_export_.input, input)->required()->type_name("");
  exported->add_option("-o,--output", trace_export_.output, "The CSV file to write (default: '-', stdout)")->type_name("FILE");
  add_trace_form(*exported, trace_export_.form);
  add_merge_limits(*exported, trace_export_.memory, trace_export_.temporary, trace_export_.drop_unused);
  on(exported, [this](Context& context) { return run_trace_export(trace_export_, context); });

  CLI::App* const imported = command->add_subcommand("import", "Logs of other tracers as a run of ours");
  imported
      ->add_option("LOG", trace_import_.input, "A log of Darshan, what darshan-parser prints, a folder of recorder2text, or CSV")
      ->required()
      ->type_name("");
  imported
      ->add_option("-o,--output", trace_import_.output,
                   "A merged run if it ends in .ieztrace, else CSV (default: '-', CSV on stdout)")
      ->type_name("FILE");
  add_trace_form(*imported, trace_import_.form);
  on(imported, [this](Context& context) { return run_trace_import(trace_import_, context); });
}

void CommandLine::add_forecast() {
  CLI::App* const command =
      app_.add_subcommand("forecast", "The next values of a series; the files of an application's next run");
  command->require_subcommand(1);
  CLI::App* const series = command->add_subcommand("series", "The next values of a numeric series");
  ForecastSeriesOptions& o = forecast_series_;
  series->add_option("FILE", o.file, "CSV with a header, or one number a line ('-': stdin)")->required()->type_name("");
  series
      ->add_option("-c,--column", o.column, "Title of the column, or its number without a header (default: value, or the first)")
      ->type_name("NAME");
  series->add_option("-n,--horizon", o.horizon, "How many values ahead (default: one period, or 12)")
      ->type_name("N")
      ->check(whole_number());
  CLI::Option* const order =
      series->add_option("--order", o.order, "This ARIMA and no search: p,d,q or p,d,q,P,D,Q,period")->type_name("LIST");
  series->add_flag("--grid", o.grid, "All 216 ARIMA(p,d,q) up to 5, the least error in the sample")->excludes(order);
  series->add_option("--period", o.period, "The period is N; 0: there is none (default: looked for)")
      ->type_name("N")
      ->check(whole_number());
  series->add_option("-q,--quantile", o.high, "Show what is not exceeded with this probability (default: 0.9)")->type_name("P");
  series->add_flag("--negative", o.negative, "Values may be below zero: not sizes");
  series->add_option("--test", o.test, "Forecast each of the last N values, too, and tell how good that was")
      ->type_name("N")
      ->check(whole_number());
  CLI::Option* const plot = series->add_flag("--plot", o.plot, "Draw it, also where there is no terminal");
  series->add_flag("--no-plot", o.no_plot, "Draw nothing")->excludes(plot);
  series->add_flag("--json", o.json, "One JSON document");
  series->add_flag("--no-header", o.no_header, "Rows only");
  on(series, [this](Context& context) { return run_forecast_series(forecast_series_, context); });

  CLI::App* const run = command->add_subcommand("run", "The files of the next run, from traces of earlier ones");
  ForecastRunOptions& r = forecast_run_;
  run->add_option("TRACE", r.traces, "One trace a run, the oldest first")->required()->type_name("");
  add_trace_form(*run, r.form);
  run->add_option("--ranks", r.ranks, "Processes of the next run (default: as the last)")->type_name("N")->check(whole_number());
  run->add_option("--scale", r.scale, "The problem is X times as large (default: 1)")->type_name("X");
  run->add_option("-q,--quantile", r.reserve, "Probability that a file is at most its HIGH (default: 0.9)")->type_name("P");
  run->add_option("--under", r.under, "Only files below this folder")->type_name("DIR");
  run->add_option("-n,--limit", r.limit, "List at most N files, 0 for all (default: 20, all with --json)")
      ->type_name("N")
      ->check(whole_number());
  run->add_option("--requests", r.requests, "Also write the files as requests of 'iez place' ('-': stdout, and nothing else)")
      ->type_name("FILE");
  run->add_option("--score", r.score, "A trace of the run that followed: how good was the forecast?")->type_name("TRACE");
  run->add_flag("--json", r.json, "One JSON document");
  run->add_flag("--no-header", r.no_header, "Rows only");
  on(run, [this](Context& context) { return run_forecast_run(forecast_run_, context); });
}

}  // namespace iez::cli
