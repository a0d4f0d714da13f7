#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_agent() {
  CLI::App* const command = app_.add_subcommand("agent", "Tell the coordinator how this node is, again and again");
  AgentOptions& o = agent_;
  command->add_option("-r,--root", o.roots, "Parameters below this folder (default: this node); may be repeated")
      ->type_name("DIR");
  command->add_option("--name", o.name, "Its name (default: that of the host)")->type_name("NAME");
  command->add_option("--samples", o.samples, "Where samples go (default: tcp://127.0.0.1:9851)")->type_name("ENDPOINT");
  command->add_option("--requests", o.requests, "Where requests come from (default: tcp://127.0.0.1:9852)")
      ->type_name("ENDPOINT");
  command->add_option("--keys", o.keys, "Folder of CURVE keys; needed unless both endpoints are on this machine")
      ->type_name("DIR");
  add_duration(*command, "--interval", "Between samples, at least 1s (default: 60s)", false,
               [&o](Duration given) { o.interval = given; });
  command->add_option("--jobs-spool", o.jobs_spool, "Also sample job_stats: rows of jobs go to this spool")->type_name("DIR");
  command->add_option("--jobs-cluster", o.jobs_cluster, "Of those rows")->type_name("NAME");
  add_duration(*command, "--jobs-interval", "Between samples of job_stats, at least 1s (default: 60s)", false,
               [&o](Duration given) { o.jobs_interval = given; });
  command->add_flag("--once", o.once, "One sample; fails if nobody takes it");
  command->add_flag("--print", o.print, "What it would send, as one JSON document; nothing is sent");
  on(command, [](Context&) { return Result<void>{}; });

  CLI::App* const watch = command->add_subcommand("watch", "Take samples as a coordinator would, and show what they say");
  add_duration(*watch, "--ask", "Ask agents for samples this often", false, [this](Duration given) { agent_watch_.ask = given; });
  add_duration(*watch, "--every", "Time between two pictures (default: 2s)", false,
               [this](Duration given) { agent_watch_.every = given; });
  watch->add_option("--count", agent_watch_.count, "Stop after N pictures")->type_name("N")->check(whole_number());
  watch->add_flag("--json", agent_watch_.json, "One JSON document a picture");
  watch->add_flag("--no-header", agent_watch_.no_header, "Rows only");
  on(watch, [](Context&) { return Result<void>{}; });
  watch->footer("Takes --samples, --requests and --keys of 'iez agent', to bind to; before 'watch'.");
  // The callback of a command runs after that of its subcommand.
  command->callback([this, watch] {
    action_ = [this, watching = watch->parsed()](Context& context) {
      return watching ? run_agent_watch(agent_, agent_watch_, context) : run_agent(agent_, context);
    };
  });
}

void CommandLine::add_keys() {
  CLI::App* const command = app_.add_subcommand("keys", "CURVE keys of the coordinator and of agents");
  command->require_subcommand(1);
  const auto common = [this](CLI::App& one) {
    one.add_option("--dir", keys_.dir, "Their folder (default: /etc/iez/keys for root, else ~/.config/iez/keys)")
        ->type_name("DIR");
    one.add_flag("--json", keys_.json, "One JSON document");
  };
  const auto headless = [this](CLI::App& one) { one.add_flag("--no-header", keys_.no_header, "Rows only"); };

  CLI::App* const init = command->add_subcommand("init", "Make the coordinator's keys, and one that agents share");
  common(*init);
  headless(*init);
  init->add_option("DIR", keys_.dir, "Their folder, as --dir")->type_name("");
  init->add_flag("--force", keys_.force, "Replace keys that are there");
  on(init, [this](Context& context) { return run_keys_init(keys_, context); });

  CLI::App* const add = command->add_subcommand("add", "A key for one agent, which then speaks for itself only");
  add->add_option("NAME", keys_.name, "The agent")->required()->type_name("");
  common(*add);
  headless(*add);
  add->add_option("--public", keys_.public_key, "It has made its own: this is the public half")->type_name("KEY");
  add->add_flag("--force", keys_.force, "Replace its key");
  on(add, [this](Context& context) { return run_keys_add(keys_, context); });

  CLI::App* const list = command->add_subcommand("list", "The keys of a folder");
  common(*list);
  headless(*list);
  on(list, [this](Context& context) { return run_keys_list(keys_, context); });

  CLI::App* const show = command->add_subcommand("show", "The public key of one: 'coordinator', 'agent', or an agent's name");
  show->add_option("NAME", keys_.name, "Whose")->required()->type_name("");
  common(*show);
  on(show, [this](Context& context) { return run_keys_show(keys_, context); });
}

}  // namespace iez::cli
