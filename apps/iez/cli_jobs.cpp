#include "command_line.hpp"

namespace iez::cli {
namespace {

constexpr std::array<std::pair<std::string_view, jobs::Like>, 2> kLikes{
    {{"quartz", jobs::Like::quartz}, {"cab", jobs::Like::cab}}};

}  // namespace

void CommandLine::add_number(CLI::App& command, const std::string& name, double& value, const std::string& text) {
  command.add_option(name, value, text)->type_name("N")->check(number(0.0, 1e18));
}

void CommandLine::add_jobs_store(CLI::App& command, JobsStoreOptions& options) {
  command.add_option("--store", options.store, "The folder of job statistics (default: as set)")->type_name("DIR");
  command.add_flag("--json", options.json, "One JSON document");
}

void CommandLine::add_jobs_range(CLI::App& command, JobsRangeOptions& options) {
  command.add_option("--from", options.from, "From this time on: 2018-06-07, 2018-06-07T12:30, or seconds since 1970 (UTC)")
      ->type_name("TIME");
  command.add_option("--to", options.to, "Before this time")->type_name("TIME");
  command.add_option("--cluster", options.cluster, "Only this cluster")->type_name("NAME");
  command.add_option("--time-zone", options.time_zone, "Of days and hours, e.g. Europe/Berlin (default: UTC)")->type_name("NAME");
}

void CommandLine::add_jobs_analysis(CLI::App& command, jobs::AnalysisOptions& options) {
  add_number(command, "--node-memory", options.node_memory,
             "Bytes of memory of a node, for jobs that do not tell (default: not known)");
  add_number(command, "--busy-hour", options.busy_hour,
             "A busy hour has so many times the bytes of an average one (default: 1.5)");
  add_number(command, "--small-call", options.small_call,
             "Advice: smaller mean write calls are too small (default: 65536 bytes)");
  add_number(command, "--least-bytes", options.least_bytes, "Advice: nobody is advised about less (default: 1e9)");
  add_number(command, "--unclosed-share", options.unclosed_share, "Advice: more unclosed files than this share (default: 0.1)");
  add_number(command, "--storm-calls", options.storm_calls_mb, "Advice: more metadata calls for each MB (default: 10)");
}

void CommandLine::add_jobs() {
  CLI::App* const jobs = app_.add_subcommand("jobs", "What jobs and users do to the file system: collect, keep, report");
  jobs->require_subcommand(1);

  CLI::App* const report = jobs->add_subcommand("report", "Ten analyses with findings and advice");
  add_jobs_range(*report, jobs_report_.range);
  report->add_option("--out", jobs_report_.out, "A page of HTML ('-': stdout)")->type_name("FILE");
  report->add_option("--md", jobs_report_.md, "Markdown ('-': stdout)")->type_name("FILE");
  report->add_option("--csv", jobs_report_.csv, "A file for each table, in this folder")->type_name("DIR");
  add_number(*report, "--longest", jobs_report_.analysis.longest_hours,
             "Durations and nodes: jobs below so many hours (default: 24)");
  add_number(*report, "--short", jobs_report_.analysis.short_hours, "Short: below so many hours (default: 2)");
  add_number(*report, "--few-nodes", jobs_report_.analysis.few_nodes, "Few: below so many nodes (default: 100)");
  add_number(*report, "--similar-runs", jobs_report_.analysis.similar_runs, "The least of a group of similar runs (default: 3)");
  add_number(*report, "--unbalanced", jobs_report_.analysis.unbalanced,
             "Advice: a metadata target with so many times the mean (default: 1.5)");
  add_jobs_analysis(*report, jobs_report_.analysis);
  add_jobs_store(*report, jobs_report_.common);
  on(report, [this](Context& context) { return run_jobs_report(jobs_report_, context); });

  CLI::App* const show = jobs->add_subcommand("show", "The life of a job: its minutes, bursts, targets, neighbours");
  show->add_option("JOB", jobs_show_.job, "Its id")->required()->type_name("");
  add_jobs_range(*show, jobs_show_.range);
  add_number(*show, "--node-memory", jobs_show_.analysis.node_memory,
             "Bytes of memory of a node, for jobs that do not tell (default: not known)");
  show->add_flag("--no-header", jobs_show_.no_header, "Rows only");
  add_jobs_store(*show, jobs_show_.common);
  on(show, [this](Context& context) { return run_jobs_show(jobs_show_, context); });

  CLI::App* const user = jobs->add_subcommand("user", "What a user's jobs do, and advice");
  user->add_option("USER", jobs_user_.user, "A uid, a name, or a hash: as the jobs have it")->required()->type_name("");
  add_jobs_range(*user, jobs_user_.range);
  add_jobs_analysis(*user, jobs_user_.analysis);
  user->add_flag("--no-header", jobs_user_.no_header, "Rows only");
  add_jobs_store(*user, jobs_user_.common);
  on(user, [this](Context& context) { return run_jobs_user(jobs_user_, context); });

  CLI::App* const contention = jobs->add_subcommand("contention", "Who shared which OST with whom at a time, and who suffered");
  contention->add_option("--at", jobs_contention_.at, "When (UTC)")->required()->type_name("TIME");
  contention->add_option("--cluster", jobs_contention_.cluster, "Only this cluster")->type_name("NAME");
  contention->add_flag("--no-header", jobs_contention_.no_header, "Rows only");
  add_jobs_store(*contention, jobs_contention_.common);
  on(contention, [this](Context& context) { return run_jobs_contention(jobs_contention_, context); });

  add_jobs_keeping(*jobs);
  add_jobs_collect(*jobs);
}

void CommandLine::add_jobs_keeping(CLI::App& jobs) {
  CLI::App* const ingest = jobs.add_subcommand("ingest", "Adds rows to the store; the same rows twice change nothing");
  ingest
      ->add_option("FILE", jobs_ingest_.files, "Tables of rows, as `iez jobs synth` writes them, or a spool ('-' or none: stdin)")
      ->type_name("");
  ingest->add_flag("--anonymous", jobs_ingest_.anonymous, "A new store that keeps users as keyed hashes, from now on");
  add_jobs_store(*ingest, jobs_ingest_.common);
  on(ingest, [this](Context& context) { return run_jobs_ingest(jobs_ingest_, context); });

  CLI::App* const synth = jobs.add_subcommand("synth", "Synthetic rows of a published shape, to try things with");
  add_choice(*synth, "--like", jobs_synth_.synth.like, kLikes, "The machine whose figures they have (default: quartz)");
  synth->add_option("--jobs", jobs_synth_.synth.jobs, "How many, up to a thousand million (default: as many as were published)")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000'000));
  synth->add_option("--seed", jobs_synth_.synth.seed, "The same seed gives the same rows (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  synth->add_flag("--series", jobs_synth_.synth.series, "Of 34 days, with a row for each minute and target");
  synth->add_option("-o,--output", jobs_synth_.output, "The file to write (default: stdout)")->type_name("FILE");
  on(synth, [this](Context& context) { return run_jobs_synth(jobs_synth_, context); });

  CLI::App* const check = jobs.add_subcommand("check", "Is the store whole? Reads everything");
  add_jobs_store(*check, jobs_check_);
  on(check, [this](Context& context) { return run_jobs_check(jobs_check_, context); });

  CLI::App* const compact = jobs.add_subcommand("compact", "Joins the files of each month to one");
  add_jobs_store(*compact, jobs_compact_);
  on(compact, [this](Context& context) { return run_jobs_compact(jobs_compact_, context); });

  CLI::App* const retain = jobs.add_subcommand("retain", "Removes months that are older than wanted");
  retain->add_option("--months", jobs_retain_.months, "Keep so many months before this one")
      ->required()
      ->type_name("N")
      ->check(whole_number());
  add_jobs_store(*retain, jobs_retain_.common);
  on(retain, [this](Context& context) { return run_jobs_retain(jobs_retain_, context); });

  CLI::App* const sql =
      jobs.add_subcommand("sql", "Prints the SQL of an analysis, for other engines; without a name, lists them");
  const CLI::Option* const name = sql->add_option("NAME", jobs_sql_.name, "Which one")->type_name("");
  for (const jobs::SqlFile& file : jobs::sql_files()) offer(name, std::array{file.name});
  on(sql, [this](Context& context) { return run_jobs_sql(jobs_sql_, context); });
}

}  // namespace iez::cli
