#include "command_line.hpp"

namespace iez::cli {
namespace {

constexpr std::array<std::string_view, 3> kLaws{"none", "cc", "goal"};
constexpr std::array<std::string_view, 6> kFaults{"slow", "full", "off", "drop", "kill", "none"};

}  // namespace

void CommandLine::add_lab_choice(CLI::App& command, LabChoice& choice) {
  CLI::Option* const name =
      command.add_option("--name", choice.name, "Which lab, by its name (default: that of $IEZ_LAB, or iez)")->type_name("NAME");
  offer(name, Gathered::labs);
  command.add_option("--dir", choice.dir, "Which lab, by its folder")->type_name("DIR")->excludes(name);
}

// The name of the file system and the folder of the lab are two things for `up`: a folder of one's own needs a name too.
void CommandLine::add_lab() {
  CLI::App* const command = app_.add_subcommand("lab", "A small Lustre-like cluster of real processes on this machine");
  command->require_subcommand(1);
  add_lab_up(*command);

  CLI::App* const down = command->add_subcommand("down", "Unmount it, end its processes, remove its files");
  add_lab_choice(*down, lab_down_.lab);
  down->add_flag("--json", lab_down_.json, "One JSON document");
  on(down, [this](Context& context) { return run_lab_down(lab_down_, context); });

  CLI::App* const status = command->add_subcommand("status", "Its processes and mounts");
  add_lab_choice(*status, lab_status_.lab);
  status->add_flag("--json", lab_status_.json, "One JSON document");
  status->add_flag("--no-header", lab_status_.no_header, "Rows only");
  on(status, [this](Context& context) { return run_lab_status(lab_status_, context); });

  CLI::App* const exec = command->add_subcommand("exec", "Run a command in the mount: iez lab exec -- dd if=/dev/zero of=x");
  add_lab_choice(*exec, lab_exec_.lab);
  exec->add_option("--client", lab_exec_.client, "In the mount of this client (default: 0)")
      ->type_name("N")
      ->check(whole_number());
  exec->add_option("COMMAND", lab_exec_.command, "What to run, behind --")->required()->type_name("");
  on(exec, [this](Context& context) { return run_lab_exec(lab_exec_, context); });

  CLI::App* const df = command->add_subcommand("df", "How full its OSTs are");
  add_lab_choice(*df, lab_df_.lab);
  df->add_flag("--json", lab_df_.json, "One JSON document");
  df->add_flag("--no-header", lab_df_.no_header, "Rows only");
  on(df, [this](Context& context) { return run_lab_df(lab_df_, context); });

  CLI::App* const fault = command->add_subcommand("fault", "Make a part of it behave badly, or well again");
  add_lab_choice(*fault, lab_fault_.lab);
  const std::vector<std::string> faults(kFaults.begin(), kFaults.end());
  offer(fault
            ->add_option("KIND", lab_fault_.kind,
                         "slow, full, off: an OST; drop: a server loses requests; kill: a process; none: all well")
            ->required()
            ->check(one_of(faults))
            ->type_name(""),
        faults);
  offer(fault->add_option("TARGET", lab_fault_.target, "ost3, oss0, mds, client0; nothing with none: everything")->type_name(""),
        Gathered::lab_parts);
  fault->add_option("VALUE", lab_fault_.value, "slow: share of its speed; drop: share of requests; 0 to 1")->type_name("");
  fault->add_flag("--json", lab_fault_.json, "One JSON document");
  on(fault, [this](Context& context) { return run_lab_fault(lab_fault_, context); });

  CLI::App* const serve = command->add_subcommand("serve", "Be a process of a lab; 'up' starts them")->group("");
  serve->add_option("NODE", lab_serve_.node, "mds, oss0, client0, ...")->required()->type_name("");
  serve->add_option("--dir", lab_serve_.dir, "The lab's folder")->required()->type_name("DIR");
  on(serve, [this](Context& context) { return run_lab_serve(lab_serve_, context); });
}

void CommandLine::add_lab_up(CLI::App& command) {
  CLI::App* const up = command.add_subcommand("up", "Start it, or what is missing of it, and mount its clients");
  LabUpOptions& o = lab_up_;
  const auto count = [up](const std::string& name, auto& value, const std::string& text) {
    up->add_option(name, value, text)->type_name("N")->check(whole_number());
  };
  const auto size = [up](const std::string& name, std::optional<Bytes>& value, const std::string& text) {
    add_quantity<Bytes>(*up, name, text, "SIZE", parse_bytes, [&value](Bytes given) { value = given; });
  };
  up->add_option("--name", o.lab.name, "Its name, at most 8 letters or digits (default: iez)")->type_name("NAME");
  up->add_option("--dir", o.lab.dir, "Its folder (default: ~/.local/state/iez/lab/NAME)")->type_name("DIR");
  count("--oss", o.oss, "Object servers (default: 3)");
  count("--osts", o.osts, "OSTs of each (default: 5)");
  count("--clients", o.clients, "Mounts (default: 1)");
  size("--ost-size", o.ost_size, "Of one OST (default: 1 GiB)");
  add_quantity<BytesPerSecond>(*up, "--rate", "Of one OST's disk (default: as fast as this machine)", "RATE", parse_rate,
                               [&o](BytesPerSecond given) { o.rate = given; });
  add_duration(*up, "--seek", "Between two requests that are not neighbours (default: 0)", true,
               [&o](Duration given) { o.seek = given; });
  count("--threads", o.threads, "Requests in service at once, of one OST (default: 16)");
  size("--rpc-size", o.rpc_size, "Of one request to a disk (default: 1 MiB)");
  count("--rpcs", o.rpcs, "Requests of a client in flight to one OST (default: 8)");
  size("--dirty", o.dirty, "Bytes of a client on the way to one OST before it waits (default: 8 MiB)");
  count("--stripe-count", o.stripe_count, "Of a file whose folder says nothing (default: 1)");
  size("--stripe-size", o.stripe_size, "Of such a file (default: 1 MiB)");
  const std::vector<std::string> laws(kLaws.begin(), kLaws.end());
  CLI::Option* const law = up->add_option("--law", o.law, "That gives clients their requests in flight (default: none)")
                               ->check(one_of(laws))
                               ->type_name("none|cc|goal");
  offer(law, laws);
  add_duration(*up, "--goal", "Latency that the law steers to", false, [&o](Duration given) { o.goal = given; });
  up->add_option("--job-variable", o.job_variable, "Environment variable with a process's job (default: program and user)")
      ->type_name("NAME");
  up->add_option("--seed", o.seed, "Of the allocator's draws (default: 0)")->type_name("N")->check(whole_number());
  up->add_flag("--json", o.json, "One JSON document");
  on(up, [this](Context& context) { return run_lab_up(lab_up_, context); });
}

}  // namespace iez::cli
