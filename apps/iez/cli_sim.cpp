#include "command_line.hpp"
#include "sim_shipped.hpp"

namespace iez::cli {
namespace {

// May be given several times, one value each.
void add_many(CLI::App& command, const std::string& name, std::vector<std::string>& values, const std::string& text,
              const std::string& type) {
  command.add_option(name, values, text)->type_name(type)->take_all()->expected(1)->allow_extra_args(false);
}

}  // namespace

void CommandLine::add_sim() {
  CLI::App* const command = app_.add_subcommand("sim", "What if: jobs, policies and laws on a simulated machine");
  command->require_subcommand(1);
  const std::string set_text = "Another value for a key, such as congestion.fixed=4; repeat for several";
  const std::string threads_text = "Runs at once (default: one for each core)";
  const auto offer_scenarios = [this](const CLI::Option* to) {
    for (const ShippedFile& file : shipped_scenarios()) offer(to, std::array{file.name});
  };

  CLI::App* const run = command->add_subcommand("run", "Run a scenario, or a sweep over some of its keys");
  SimRunOptions& r = sim_run_;
  offer_scenarios(run->add_option("SCENARIO", r.scenario, "A TOML file ('-': stdin), or the name of one from 'iez sim list'")
                      ->required()
                      ->type_name(""));
  add_many(*run, "-s,--set", r.set, set_text, "KEY=VALUE");
  add_many(*run, "--sweep", r.sweeps, "Run with each of these values: 1,4,8 or 1..32*2 or 0..10+2; repeat for all combinations",
           "KEY=VALUES");
  run->add_option("--seeds", r.seeds, "Runs of each combination, with seeds that follow each other (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  run->add_option("--csv", r.csv, "Also write what happened over time ('-': stdout, and nothing else)")->type_name("FILE");
  run->add_option("--html", r.html, "Also write a page with plots ('-': stdout, and nothing else)")->type_name("FILE");
  run->add_option("--jobs", r.threads, threads_text)->type_name("N")->check(whole_number());
  run->add_flag("--json", r.json, "One JSON document");
  run->add_flag("--samples", r.samples, "With --json: also what happened over time");
  CLI::Option* const plot = run->add_flag("--plot", r.plot, "Draw a sweep, also where there is no terminal");
  run->add_flag("--no-plot", r.no_plot, "Draw nothing")->excludes(plot);
  run->add_flag("--no-header", r.no_header, "Rows only");
  on(run, [this](Context& context) { return run_sim_run(sim_run_, context); });

  CLI::App* const compare = command->add_subcommand("compare", "Two scenarios side by side");
  SimCompareOptions& c = sim_compare_;
  offer_scenarios(compare->add_option("A", c.a, "A scenario, as for 'run'")->required()->type_name(""));
  offer_scenarios(compare->add_option("B", c.b, "Another one")->required()->type_name(""));
  add_many(*compare, "-s,--set", c.set, set_text + "; over both", "KEY=VALUE");
  compare->add_option("--seeds", c.seeds, "Runs of each: means, and bands of 95 % (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  compare->add_option("--html", c.html, "Also write a page with plots ('-': stdout, and nothing else)")->type_name("FILE");
  compare->add_option("--jobs", c.threads, threads_text)->type_name("N")->check(whole_number());
  compare->add_flag("--json", c.json, "One JSON document");
  compare->add_flag("--no-header", c.no_header, "Rows only");
  on(compare, [this](Context& context) { return run_sim_compare(sim_compare_, context); });

  CLI::App* const list = command->add_subcommand("list", "Machines and scenarios that come with iez");
  list->add_flag("--json", sim_list_.json, "One JSON document");
  list->add_flag("--no-header", sim_list_.no_header, "Rows only");
  on(list, [this](Context& context) { return run_sim_list(sim_list_, context); });

  CLI::App* const show = command->add_subcommand("show", "Print one of them, to start from");
  const CLI::Option* const name = show->add_option("NAME", sim_show_.name, "From 'iez sim list'")->required()->type_name("");
  offer_scenarios(name);
  for (const ShippedFile& file : shipped_machines()) offer(name, std::array{file.name});
  on(show, [this](Context& context) { return run_sim_show(sim_show_, context); });
}

void CommandLine::add_repro() {
  CLI::App* const command = app_.add_subcommand("repro", "Published figures beside what iez simulates or computes");
  command->add_option("--out", repro_.out, "Also write index.html and reproduction.md into this folder")->type_name("DIR");
  command->add_option("--only", repro_.only, "One section")->type_name("SECTION");
  command->add_flag("--quick", repro_.quick, "Few rows and few seeds: shows that it works");
  command->add_flag("--json", repro_.json, "One JSON document");
  command->add_flag("--no-header", repro_.no_header, "Rows only");
  on(command, [this](Context& context) { return run_repro(repro_, context); });
}

}  // namespace iez::cli
