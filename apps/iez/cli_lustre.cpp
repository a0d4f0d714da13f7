#include "base/text.hpp"
#include "command_line.hpp"

namespace iez::cli {
namespace {
constexpr std::array<std::pair<std::string_view, TopPer>, 3> kPers{
    {{"job", TopPer::job}, {"ost", TopPer::ost}, {"server", TopPer::server}}};

}  // namespace

void CommandLine::add_sources(CLI::App& command, SourceOptions& options) {
  command
      .add_option(
          "-r,--root", options.roots,
          "Read parameters below DIR (a capture, the lab, another node's /proc and /sys), or from FILE with the text of 'lctl "
          "get_param' ('-': stdin); repeat for several servers (default: this node)")
      ->type_name("DIR|FILE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  offer(command.add_option("--fs", options.file_system, "Only this file system")->type_name("NAME"), Gathered::file_systems);
}

void CommandLine::add_watch(CLI::App& command, WatchOptions& options) {
  options.interval = std::chrono::seconds(2);
  CLI::Option* const watch = command.add_flag("-w,--watch", options.watch, "Show again every --every until stopped");
  add_duration(command, "--every", "Time between two pictures of --watch (default: 2s)", false, [&options](Duration every) {
    options.interval = every;
  })->needs(watch);
  command.add_option("--count", options.count, "Stop --watch after N pictures")
      ->type_name("N")
      ->check(whole_number())
      ->needs(watch);
}

void CommandLine::add_status() {
  CLI::App* const command = app_.add_subcommand("status", "OSSs and OSTs: size, use, balance, load");
  add_sources(*command, status_.source);
  add_watch(*command, status_.watch);
  command->add_flag("--json", status_.json, "One JSON document a picture");
  command->add_flag("--no-header", status_.no_header, "Rows only");
  on(command, [this](Context& context) { return run_status(status_, context); });
}

void CommandLine::add_top() {
  CLI::App* const command = app_.add_subcommand("top", "Jobs by bytes, rate, operations and bytes per call");
  add_sources(*command, top_.source);
  CLI::Option* const since =
      command
          ->add_option("--since", top_.since,
                       "An earlier capture of the same servers: rates are over the time between the two; repeat as --root")
          ->type_name("DIR|FILE")
          ->expected(1)
          ->take_all()
          ->allow_extra_args(false);
  add_duration(*command, "-i,--interval",
               "Time between the two samples a rate needs; 0: one sample (default: 1s live, 0 elsewhere)", true,
               [this](Duration interval) { top_.interval = interval; })
      ->excludes(since);
  add_watch(*command, top_.watch);
  since->excludes("--watch");
  add_choice(*command, "-s,--sort", top_.sort, kTopSorts,
             "Largest first by this column (default: rate over an interval, else bytes)");
  command->add_flag("--reverse", top_.reverse, "Smallest first");
  add_choice(*command, "--per", top_.per, kPers, "One row a job, or one for each OST or server of it (default: job)");
  command->add_option("-u,--user", top_.user, "Only jobs of this user")->type_name("NAME|UID");
  command
      ->add_option("-j,--job", top_.job,
                   "Only jobs whose id or scheduler number matches this pattern: * any text, ? any character")
      ->type_name("PATTERN");
  command->add_option("-n,--limit", top_.limit, "At most N jobs, 0 for all (default: 20, all with --json)")
      ->type_name("N")
      ->check(whole_number());
  command->add_flag("--json", top_.json, "One JSON document a picture");
  command->add_flag("--no-header", top_.no_header, "Rows only");
  on(command, [this](Context& context) { return run_top(top_, context); });
}

void CommandLine::add_layout() {
  CLI::App* const command = app_.add_subcommand("layout", "Show a file's layout, or create a file with one");
  command->require_subcommand(1);
  CLI::App* const show = command->add_subcommand("show", "How files are striped, or what a directory gives its new files");
  show->add_option("PATH", show_.paths, "Files or directories on Lustre")->required()->type_name("");
  show->add_flag("--raw", show_.raw, "PATH holds the bytes of a 'lustre.lov' attribute, e.g. from getfattr");
  show->add_flag("--json", show_.json, "One JSON document a path");
  on(show, [this](Context& context) { return run_layout_show(show_, context); });

  CLI::App* const set = command->add_subcommand("set", "Create a new, empty file with this layout");
  set->add_option("PATH", set_.path, "The file to create; an existing one is left alone")->required()->type_name("");
  set->add_option("-c,--count", set_.count, "Number of stripes, -1 for all OSTs")->type_name("N");
  set->add_option("-S,--size", set_.size, "Stripe size: a multiple of 64KiB below 4GiB")->type_name("SIZE");
  offer_osts(set->add_option("-o,--osts", set_.osts, "Exactly these OSTs, in this order: 3,1,2 or 0-5")->type_name("LIST"));
  set->add_option("-p,--pool", set_.pool, "OSTs of this pool")->type_name("NAME");
  set->add_flag("--overstripe", set_.overstripe, "An OST may hold several stripes");
  set->add_option(
         "-E,--component", set_.components,
         "A progressive layout, one component each: its end, then count=, size=, pool=, osts=3+1, first=, mdt, overstripe; "
         "e.g. -E 4M:count=1 -E eof:count=4,size=1M")
      ->type_name("SPEC")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->excludes("--count", "--size", "--osts", "--pool", "--overstripe");
  set->add_flag("--dry-run", set_.dry_run, "Check the layout and show it; create nothing");
  set->add_flag("--json", set_.json, "The layout the file got, as JSON");
  on(set, [this](Context& context) { return run_layout_set(set_, context); });
}

}  // namespace iez::cli
