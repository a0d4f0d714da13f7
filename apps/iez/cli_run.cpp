#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_run() {
  CLI::App* const command = app_.add_subcommand("run", "Run a command: its files are traced, and placed from the second run on");
  CLI::Option* const application =
      command->add_option("--app", run_.application, "Name of the application (default: $IEZ_APP, or by its program)")
          ->type_name("NAME");
  offer(application, Gathered::applications);
  command->add_flag("--dry-run", run_.dry_run, "Say what would be done, and do nothing");
  CLI::Option* const learn = command->add_flag("--learn", run_.learn, "Place no files this time; learn anew");
  command->add_flag("--no-place", run_.no_place, "Learn, and make no plan either")->excludes(learn);
  command
      ->add_flag("--replace", run_.replace, "Move files that exist aside, so that they are placed; remove them after a good run")
      ->excludes(learn);
  command->add_option("--store", run_.store, "Interaction database: a file, or mysql://USER@HOST/DATABASE")->type_name("URL");
  command->add_option("--coordinator", run_.coordinator, "Who plans: http(s)://HOST:PORT; none: this node")->type_name("URL");
  command->add_option("--root", run_.roots, "Parameters to plan by (default: this node's); repeat for more")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--under", run_.under, "Only files below DIR count (default: those on Lustre); repeat for more")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--plan", run_.plan, "Place by this plan file")->type_name("FILE")->excludes(learn);
  command->add_option("--trace-dir", run_.trace_folder, "Folder for traces while it runs, seen by all nodes")->type_name("DIR");
  command->add_option("--keep-trace", run_.keep_trace, "Keep the trace of the run in this file")->type_name("FILE");
  command->add_flag("-q,--quiet", run_.quiet, "Say nothing on stderr");
  command->add_flag("--json", run_.json, "What came of it as one JSON document on stderr (--dry-run: on stdout)");
  command->add_option("COMMAND", run_.command, "What to run, behind --")->required()->type_name("");
  on(command, [this](Context& context) { return run_run(run_, context); });
}

}  // namespace iez::cli
