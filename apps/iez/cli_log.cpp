#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_log() {
  CLI::App* const command = app_.add_subcommand("log", "Logs beside shared files: what ranks wrote that is not in the file yet");
  command->require_subcommand(1);

  CLI::App* const show = command->add_subcommand("show", "What is in the log of a file, rank by rank");
  show->add_option("FILE", log_show_.paths, "The file, or its log, FILE.iezlog")->required()->type_name("");
  show->add_option("-n,--limit", log_show_.limit, "At most N ranks, 0 for all (default: 20, all with --json)")
      ->type_name("N")
      ->check(whole_number());
  show->add_flag("--json", log_show_.json, "One JSON document a log");
  show->add_flag("--no-header", log_show_.no_header, "Rows only");
  on(show, [this](Context& context) { return run_log_show(log_show_, context); });

  CLI::App* const check = command->add_subcommand("check", "Is a log whole? Compares every byte with its checksum");
  check->add_option("FILE", log_check_.paths, "The file, or its log, FILE.iezlog")->required()->type_name("");
  check->add_flag("--quick", log_check_.quick, "Indexes only, not the data");
  check->add_flag("--json", log_check_.json, "One JSON document a log");
  on(check, [this](Context& context) { return run_log_check(log_check_, context); });

  CLI::App* const flatten = command->add_subcommand("flatten", "Brings a log into its file, and removes it");
  flatten->add_option("FILE", log_flatten_.paths, "The file, or its log, FILE.iezlog")->required()->type_name("");
  flatten->add_option("-j,--jobs", log_flatten_.jobs, "Parts of the file written at once (default: 1)")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  add_quantity<Bytes>(*flatten, "--memory", "For the records of each part (default: 256 MiB)", "SIZE", parse_bytes,
                      [this](Bytes size) { log_flatten_.memory = size; });
  add_quantity<Bytes>(*flatten, "--window", "Bytes of the file at a time, 4 KiB to 1 GiB (default: 8 MiB)", "SIZE", parse_window,
                      [this](Bytes size) { log_flatten_.window = size; });
  flatten->add_flag("--verify", log_flatten_.verify, "Compare all data with its checksums before");
  flatten->add_flag("--force", log_flatten_.force,
                    "Also what is whole of a damaged log, and a log of an earlier file of this name");
  flatten->add_flag("--keep", log_flatten_.keep, "Do not remove the log");
  flatten->add_flag("--json", log_flatten_.json, "One JSON document a file");
  on(flatten, [this](Context& context) { return run_log_flatten(log_flatten_, context); });
}

Result<Bytes> CommandLine::parse_window(std::string_view text) {
  IEZ_TRY(const Bytes size, parse_bytes(text));
  if (size < Bytes::kib(4) || size > Bytes::gib(1)) {
    return fail(Errc::invalid_argument, fmt::format("'{}': expected 4 KiB to 1 GiB", text));
  }
  return size;
}

}  // namespace iez::cli
