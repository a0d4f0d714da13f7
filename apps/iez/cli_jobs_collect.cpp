#include "command_line.hpp"

namespace iez::cli {

namespace {
constexpr std::array<std::pair<std::string_view, ImportFormat>, 5> kImportFormats{{{"sacct", ImportFormat::sacct},
                                                                                   {"influx", ImportFormat::influx},
                                                                                   {"csv", ImportFormat::csv},
                                                                                   {"prometheus", ImportFormat::prometheus},
                                                                                   {"lmt", ImportFormat::lmt}}};
}

void CommandLine::add_jobs_node(CLI::App& command, JobsNodeOptions& options) {
  command.add_option("-r,--root", options.roots, "Parameters below this folder (default: this node); may be repeated")
      ->type_name("DIR");
  command.add_option("--state", options.state, fmt::format("Where readings wait for the epilog (default: {})", kJobsState))
      ->type_name("DIR");
  command.add_option("--job", options.job, "Its id (default: of SLURM_JOB_ID, PBS_JOBID, FLUX_JOB_ID)")->type_name("ID");
  command.add_option("--cluster", options.cluster, "Of the job (default: of SLURM_CLUSTER_NAME)")->type_name("NAME");
  command.add_option("--user", options.user, "Of the job (default: of SLURM_JOB_UID, FLUX_JOB_USERID)")->type_name("UID");
  command.add_option("--node", options.node, "Name of this node (default: of SLURMD_NODENAME, or the host's)")->type_name("NAME");
  command.add_option("--nodes", options.nodes, "Of the job (default: as the scheduler's variables say)")
      ->type_name("N")
      ->check(whole_number());
}

void CommandLine::add_jobs_collect(CLI::App& jobs) {
  CLI::App* const prolog = jobs.add_subcommand("prolog", "On each node before a job: keeps what its mounts counted so far");
  add_jobs_node(*prolog, jobs_prolog_);
  on(prolog, [this](Context& context) { return run_jobs_prolog(jobs_prolog_, context); });

  CLI::App* const epilog = jobs.add_subcommand("epilog", "On each node after a job: reports what the node did for it");
  add_jobs_node(*epilog, jobs_epilog_);
  epilog->add_option("--spool", jobs_epilog_.spool, fmt::format("Where reports go (default: {})", kJobsSpool))->type_name("DIR");
  on(epilog, [this](Context& context) { return run_jobs_epilog(jobs_epilog_, context); });

  CLI::App* const collect = jobs.add_subcommand("collect", "Sums the reports of nodes: a row for each job");
  collect->add_option("SPOOL", jobs_collect_.spools, fmt::format("Files or folders (default: {})", kJobsSpool))->type_name("");
  collect->add_option("-o,--out", jobs_collect_.out, "Spool for the rows; marks what was handed on, so that it is so once")
      ->type_name("DIR");
  collect->add_option("--sacct", jobs_collect_.sacct, "What the scheduler knows of the jobs: output of sacct")->type_name("FILE");
  collect->add_option("--zone", jobs_collect_.zone, "Of times in it: utc, local, or +HH:MM (default: utc)")->type_name("ZONE");
  add_duration(*collect, "--wait", "For nodes that have not reported (default: 1h)", true,
               [this](Duration given) { jobs_collect_.wait = given; });
  collect->add_flag("--again", jobs_collect_.again, "All jobs: also those handed on before, and those that wait for nodes");
  collect->add_flag("--json", jobs_collect_.json, "One JSON document");
  collect->add_flag("--no-header", jobs_collect_.no_header, "Rows only");
  on(collect, [this](Context& context) { return run_jobs_collect(jobs_collect_, context); });

  CLI::App* const spool = jobs.add_subcommand("spool", "What spool files hold");
  spool->add_option("SPOOL", jobs_spool_.spools, fmt::format("Files or folders (default: {})", kJobsSpool))->type_name("");
  spool->add_flag("--json", jobs_spool_.json, "One JSON document a row");
  spool->add_flag("--no-header", jobs_spool_.no_header, "Rows only");
  on(spool, [this](Context& context) { return run_jobs_spool(jobs_spool_, context); });
  add_jobs_import(jobs);
}

void CommandLine::add_jobs_import(CLI::App& jobs) {
  CLI::App* const command = jobs.add_subcommand("import", "What other programs collected: sacct, Telegraf, Prometheus, LMT");
  JobsImportOptions& o = jobs_import_;
  add_choice(*command, "--format", o.format, kImportFormats, "Of what is imported");
  command->get_option("--format")->required();
  command->add_option("FILE", o.files, "What to read ('-': stdin)")->type_name("");
  command->add_option("--url", o.url, "Of a Prometheus (http://...), or of LMT's database (mysql://USER@HOST/DATABASE)")
      ->type_name("URL");
  command->add_option("--token-file", o.token_file, "Holds the token for Prometheus")->type_name("FILE");
  command->add_option("--ca-file", o.ca_file, "Of its certificate (default: those of the system)")->type_name("FILE");
  command->add_option("-o,--out", o.out, fmt::format("Spool for the rows (default: {})", kJobsSpool))->type_name("DIR");
  command->add_option("--cluster", o.cluster, "Of jobs that do not tell")->type_name("NAME");
  command->add_option("--zone", o.zone, "Of times that do not tell: utc, local, or +HH:MM (default: utc)")->type_name("ZONE");
  command->add_option("--delimiter", o.delimiter, "Between fields of sacct (default: |)")->type_name("TEXT");
  command->add_option("--fields", o.fields, "Columns of sacct, where no line tells them: as its --format")->type_name("LIST");
  command->add_option("--from", o.from, "With --url: begin there (needed for Prometheus)")->type_name("TIME");
  command->add_option("--to", o.to, "With --url: end there (default: now)")->type_name("TIME");
  command->add_option("--at", o.at, "Time of scrapes that do not tell (default: that of the file)")->type_name("TIME");
  add_duration(*command, "--step", "Between values of Prometheus (default: 60s)", false,
               [&o](Duration given) { o.step = given; });
  command->add_flag("--json", o.json, "One JSON document");
  on(command, [this](Context& context) { return run_jobs_import(jobs_import_, context); });
}

}  // namespace iez::cli
