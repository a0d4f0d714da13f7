#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_doctor() {
  CLI::App* const command = app_.add_subcommand("doctor", "Whether iez can do its work here, and what to do where it cannot");
  command->add_flag("--json", doctor_.json, "One JSON document");
  on(command, [this](Context& context) { return run_doctor(doctor_, context); });
}

void CommandLine::add_inject() {
  CLI::App* const command = app_.add_subcommand("inject", "What libiez.so will and will not see of a program, and why");
  command->add_option("PROGRAM", inject_.program, "A path, or a name to look for in PATH")->required()->type_name("");
  command->add_flag("--json", inject_.json, "One JSON document");
  on(command, [this](Context& context) { return run_inject(inject_, context); });
}

}  // namespace iez::cli
