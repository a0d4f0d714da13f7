#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_jobs() {
  CLI::App* const jobs = app_.add_subcommand("jobs", "What jobs did to the file system: collect and import");
  jobs->require_subcommand(1);
  add_jobs_collect(*jobs);
}

}  // namespace iez::cli
