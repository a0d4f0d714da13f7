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
  offer(show->add_option("PLAN", plan_show_.path, "A plan file, or an application")->required()->type_name(""),
        Gathered::applications);
  CLI::Option* const match =
      show->add_option("-m,--match", plan_show_.names, "What would a file of this name get?")->type_name("NAME");
  show->add_option("-n,--limit", plan_show_.limit, "At most N rules and files, 0 for all (default: 20, all with --json)")
      ->type_name("N")
      ->check(whole_number())
      ->excludes(match);
  show->add_flag("--json", plan_show_.json, "One JSON document");
  show->add_flag("--no-header", plan_show_.no_header, "Rows only");
  show->add_option("--store", plan_show_.store, "The interaction database (default: as set)")->type_name("URL");
  on(show, [this](Context& context) { return run_plan_show(plan_show_, context); });

  CLI::App* const check = command->add_subcommand("check", "Is a plan whole? Reads every byte that a lookup can meet");
  check->add_option("PLAN", plan_check_.paths, "Plan files")->required()->type_name("");
  check->add_flag("--json", plan_check_.json, "One JSON document a plan");
  on(check, [this](Context& context) { return run_plan_check(plan_check_, context); });

  CLI::App* const explain = command->add_subcommand("explain", "Why these OSTs: who planned a file, when and why so");
  explain->add_option("FILE", plan_explain_.file, "The name of a file, there or not yet")->required()->type_name("");
  CLI::Option* const of =
      explain->add_option("--app", plan_explain_.application, "In plans of this application (default: all of yours)")
          ->type_name("NAME");
  offer(of, Gathered::applications);
  explain->add_option("--store", plan_explain_.store, "The interaction database (default: as set)")->type_name("URL");
  explain->add_flag("--json", plan_explain_.json, "One JSON document");
  on(explain, [this](Context& context) { return run_plan_explain(plan_explain_, context); });

  CLI::App* const diff = command->add_subcommand("diff", "What differs: between two plans, or from an application's last one");
  offer(diff->add_option("A", plan_diff_.first, "A plan file, or an application")->required()->type_name(""),
        Gathered::applications);
  offer(diff->add_option("B", plan_diff_.second, "Another one; none: the last two plans of application A")->type_name(""),
        Gathered::applications);
  diff->add_option("-n,--limit", plan_diff_.limit, "At most N changes, 0 for all (default: 20, all with --json)")
      ->type_name("N")
      ->check(whole_number());
  diff->add_option("--store", plan_diff_.store, "The interaction database (default: as set)")->type_name("URL");
  diff->add_flag("--json", plan_diff_.json, "One JSON document");
  diff->add_flag("--no-header", plan_diff_.no_header, "Rows only");
  on(diff, [this](Context& context) { return run_plan_diff(plan_diff_, context); });

  CLI::App* const expire = command->add_subcommand("expire", "Takes plans back: the next run of the application learns");
  offer(expire->add_option("APP", plan_expire_.application, "An application (default: all of yours)")->type_name(""),
        Gathered::applications);
  add_duration(*expire, "--older-than", "Only plans made longer ago", true,
               [this](Duration age) { plan_expire_.older_than = age; });
  expire->add_option("--store", plan_expire_.store, "The interaction database (default: as set)")->type_name("URL");
  expire->add_flag("--json", plan_expire_.json, "One JSON document");
  on(expire, [this](Context& context) { return run_plan_expire(plan_expire_, context); });
}

}  // namespace iez::cli
