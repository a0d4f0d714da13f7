#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_serve() {
  CLI::App* const command = app_.add_subcommand("serve", "The coordinator: plans files of all applications; until it is ended");
  command->add_option("--listen", serve_.listen, "Address for HTTP (default: 127.0.0.1:9850)")->type_name("HOST:PORT");
  command->add_option("--samples", serve_.samples, "Where agents publish to (default: tcp://127.0.0.1:9851)")
      ->type_name("ENDPOINT");
  command->add_option("--requests", serve_.requests, "Where agents hear from (default: tcp://127.0.0.1:9852)")
      ->type_name("ENDPOINT");
  command->add_option("--state", serve_.state, "Folder of its ledger (default: /var/lib/iez for root, else the user's)")
      ->type_name("DIR");
  command->add_option("--keys", serve_.keys, "Folder of `iez keys init`: agents need a key")->type_name("DIR");
  command->add_option("--tokens", serve_.tokens, "Who may ask, made by `iez token`; needed outside of loopback")
      ->type_name("FILE");
  command->add_option("--certificate", serve_.certificate, "Chain in PEM: serves HTTPS")->type_name("FILE");
  command->add_option("--certificate-key", serve_.certificate_key, "Its key")->type_name("FILE");
  command->add_option("--cpu-limit", serve_.cpu_limit, "Share of this node's CPU above which requests wait (default: 0.7)")
      ->type_name("SHARE")
      ->check(number(0.0, 1.0));
  command->add_option("--memory-limit", serve_.memory_limit, "Likewise of its memory (default: 0.5)")
      ->type_name("SHARE")
      ->check(number(0.0, 1.0));
  command->add_option("--rate-limit", serve_.rate_limit, "Requests of one user a second, 0 for any number (default: 100)")
      ->type_name("N")
      ->check(number(0.0, 1e9));
  command->add_option("--pull", serve_.pull, "Fetch predictions from a database of `iez db serve`; repeat for more")
      ->type_name("URL")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--pull-token-file", serve_.pull_token, "Holds the token for them")->type_name("FILE");
  command->add_option("--pull-ca-file", serve_.pull_ca, "Of their certificates (default: those of the system)")
      ->type_name("FILE");
  command->add_option("--pull-interval", serve_.pull_interval, "Seconds between questions to a database (default: 5)")
      ->type_name("S")
      ->check(number(0.01, 86400.0));
  command->add_option("--root", serve_.roots, "Read parameters below DIR, or a dump, without an agent; repeat for more")
      ->type_name("DIR|FILE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--no-agents", serve_.no_agents, "Listen to no agents");
  command->add_flag("--fast", serve_.fast, "What is acknowledged outlives the process, but not the machine");
  command->add_flag("--json", serve_.json, "Where it listens, as one JSON document");
  on(command, [](Context&) { return Result<void>{}; });

  CLI::App* const status = command->add_subcommand("status", "How a coordinator is: agents, OSTs, plans, queue");
  status->add_option("URL", serve_status_.url, "Which (default: coordinator.url, or this node's own)")->type_name("");
  status->add_option("--token-file", serve_status_.token_file, "Holds the token (default: coordinator.token_file)")
      ->type_name("FILE");
  status->add_option("--ca-file", serve_status_.ca_file, "Of its certificate (default: coordinator.ca_file)")->type_name("FILE");
  status->add_flag("--json", serve_status_.json, "One JSON document");
  on(status, [](Context&) { return Result<void>{}; });
  // The callback of a command runs after that of its subcommand.
  command->callback([this, status] {
    action_ = [this, asking = status->parsed()](Context& context) {
      return asking ? run_serve_status(serve_status_, context) : run_serve(serve_, context);
    };
  });
}

void CommandLine::add_token() {
  CLI::App* const command = app_.add_subcommand("token", "Make a token for the coordinator; it is printed once");
  command->add_option("USER", token_.user, "Whose: a user name of the coordinator's node, or a uid")->required()->type_name("");
  command->add_option("--tokens", token_.tokens, "The coordinator's tokens file (default: serve.tokens_file)")->type_name("FILE");
  command->add_option("-o,--output", token_.output, "Write the token to this new file, of mode 0600, and not to stdout")
      ->type_name("FILE");
  command->add_flag("--admin", token_.admin, "May see and end all plans, and plan anywhere");
  command->add_option("--below", token_.below, "May plan below this directory only; {user} is the user; repeat for more")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  on(command, [this](Context& context) { return run_token(token_, context); });
}

}  // namespace iez::cli
