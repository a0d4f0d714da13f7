#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_plan() {
  CLI::App* const command = app_.add_subcommand("plan", "Plan files: which layout each new file gets");
  command->require_subcommand(1);

  CLI::App* const compile = command->add_subcommand("compile", "CSV to a plan file");
  compile->add_option("CSV", plan_compile_.input, "Files, patterns and directories with their layouts ('-': stdin)")
      ->required()
      ->type_name("");
  compile->add_option("-o,--output", plan_compile_.output, "The plan to write, PLAN.iezplan")->required()->type_name("FILE");
  compile->add_flag("--json", plan_compile_.json, "What was written, as one JSON document");
  on(compile, [this](Context& context) { return run_plan_compile(plan_compile_, context); });

  CLI::App* const show = command->add_subcommand("show", "What is in a plan; what a name would get, and why");
  show->add_option("PLAN", plan_show_.path, "A plan file")->required()->type_name("");
  CLI::Option* const match =
      show->add_option("-m,--match", plan_show_.names, "What would a file of this name get?")->type_name("NAME");
  show->add_option("-n,--limit", plan_show_.limit, "At most N rules and files, 0 for all (default: 20, all with --json)")
      ->type_name("N")
      ->check(whole_number())
      ->excludes(match);
  show->add_flag("--json", plan_show_.json, "One JSON document");
  show->add_flag("--no-header", plan_show_.no_header, "Rows only");
  on(show, [this](Context& context) { return run_plan_show(plan_show_, context); });

  CLI::App* const check = command->add_subcommand("check", "Is a plan whole? Reads every byte that a lookup can meet");
  check->add_option("PLAN", plan_check_.paths, "Plan files")->required()->type_name("");
  check->add_flag("--json", plan_check_.json, "One JSON document a plan");
  on(check, [this](Context& context) { return run_plan_check(plan_check_, context); });
}

}  // namespace iez::cli
