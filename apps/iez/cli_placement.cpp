#include "base/text.hpp"
#include "command_line.hpp"
#include "placement/policy.hpp"

namespace iez::cli {
namespace {

constexpr std::array<std::pair<std::string_view, TuneGoal>, 2> kGoals{{{"max", TuneGoal::max}, {"min", TuneGoal::min}}};

}  // namespace

void CommandLine::add_place() {
  CLI::App* const command = app_.add_subcommand("place", "Plan which OSTs the files of a batch get, and compare policies");
  add_sources(*command, place_.source);
  command->add_option("-c,--cluster", place_.cluster, "A cluster described in TOML, instead of one that is read ('-': stdin)")
      ->type_name("FILE")
      ->excludes("--root", "--fs");
  command
      ->add_option("-q,--requests", place_.requests,
                   "The files to place, in CSV ('-': stdin); repeat for several, which are placed together, or with --compare "
                   "each by itself")
      ->required()
      ->type_name("FILE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  CLI::Option* const policy =
      command->add_option("-p,--policy", place_.policy, "Who chooses the OSTs (default: balanced)")->type_name("NAME");
  offer(policy, placement::policy_names());
  command->add_option("--seed", place_.seed, "Of the policies that draw (default: 1)")->type_name("N")->check(whole_number());
  offer_osts(command->add_option("-x,--exclude", place_.exclude, "OSTs that get nothing: 3,7 or 0-5")->type_name("LIST"));
  command->add_option("-n,--limit", place_.limit, "List at most N files, 0 for all (default: 20, all with --json)")
      ->type_name("N")
      ->check(whole_number());
  CLI::Option* const compare = command->add_flag("--compare", place_.compare, "All policies side by side")->excludes(policy);
  command
      ->add_flag("--phases", place_.phases,
                 "Plan by what is written together (column 'phase'), beside Lustre's default: iez place --phases -q steps.csv")
      ->excludes(policy)
      ->excludes(compare);
  command->add_option("--seeds", place_.seeds, "With --compare, runs of a policy that draws (default: 100)")
      ->type_name("N")
      ->check(whole_number());
  command->add_flag("--plot", place_.plot, "With --compare, bars below the table, also where there is no terminal");
  command->add_option("--svg", place_.svg, "Write a picture: use of the OSTs, or the comparison ('-': stdout)")
      ->type_name("FILE");
  command->add_option("--csv", place_.csv, "Write the plan as CSV ('-': stdout)")->type_name("FILE");
  command->add_flag("--json", place_.json, "One JSON document");
  command->add_flag("--no-header", place_.no_header, "Rows only");
  on(command, [this](Context& context) { return run_place(place_, context); });

  CLI::App* const explain = command->add_subcommand("explain", "Why a file gets what it gets");
  explain->add_option("NAME", explained_, "The file's name in the requests")->required()->type_name("");
  on(explain, [](Context&) { return Result<void>{}; });
  explain->footer("Takes the options of 'iez place' but --compare, --phases, --seeds, --plot, --limit, --svg and --csv.");
  // The callback of a command runs after that of its subcommand.
  command->callback([this, explain] {
    action_ = [this, explained = explain->parsed()](Context& context) {
      return explained ? run_place_explain(place_, explained_, context) : run_place(place_, context);
    };
  });
}

void CommandLine::add_contention() {
  CLI::App* const command = app_.add_subcommand("contention", "How many jobs share an OST: for jobs to come, or now");
  ContentionOptions& o = contention_;
  command->add_option("--osts", o.osts, "What if: the file system has N OSTs")->type_name("N")->check(whole_number());
  command->add_option("--stripes", o.stripes, "Stripes of each job; or one number a job: 160,64,64")->type_name("LIST");
  command->add_option("--jobs", o.jobs, "How many jobs, or ranks with --plfs (default: 10)")
      ->type_name("N")
      ->check(whole_number());
  command->add_flag("--plfs", o.plfs, "A log-structured run, or a file per process: 2 stripes a rank");
  command->add_option("--max-load", o.max_load, "When D_load passes X, and how many OSTs would keep it there")->type_name("X");
  command->add_flag("--plot", o.plot, "Draw D_load, also where there is no terminal");
  add_sources(*command, o.source);
  CLI::Option* const since = command->add_option("--since", o.since, "An earlier capture of the same servers; repeat as --root")
                                 ->type_name("DIR|FILE")
                                 ->expected(1)
                                 ->take_all()
                                 ->allow_extra_args(false);
  add_duration(*command, "-i,--interval", "Time between two samples; 0: one sample (default: 1s live, 0 elsewhere)", true,
               [&o](Duration interval) { o.interval = interval; })
      ->excludes(since);
  add_watch(*command, o.watch);
  since->excludes("--watch");
  add_quantity<Bytes>(*command, "--min-bytes", "Leave out jobs that wrote less (default: 1MiB)", "SIZE", parse_bytes,
                      [&o](Bytes size) { o.min_bytes = size; });
  command->add_option("-n,--top", o.top, "At most N rows in each table, 0 for all (default: 10, all with --json)")
      ->type_name("N")
      ->check(whole_number());
  command->add_flag("--json", o.json, "One JSON document a picture");
  command->add_flag("--no-header", o.no_header, "Rows only");
  on(command, [this](Context& context) { return run_contention(contention_, context); });
}

void CommandLine::add_advise() {
  CLI::App* const command = app_.add_subcommand("advise", "Stripe count and size for a job that shares the file system");
  AdviseOptions& o = advise_;
  command->add_option("--cluster", o.cluster, "The machine, described in TOML ('-': stdin)")->type_name("FILE");
  offer(command->add_option("--machine", o.machine, fmt::format("The machine by name: {}", kLscratchcName))->type_name("NAME"),
        std::array{kLscratchcName});
  add_sources(*command, o.source);
  add_quantity<BytesPerSecond>(*command, "--ost-rate", "Of one OST with one writer (default: 500MB/s)", "RATE", parse_rate,
                               [&o](BytesPerSecond rate) { o.ost_rate = rate; });
  add_quantity<BytesPerSecond>(*command, "--server-rate", "Of one server (default: as its OSTs)", "RATE", parse_rate,
                               [&o](BytesPerSecond rate) { o.server_rate = rate; });
  add_quantity<BytesPerSecond>(*command, "--node-rate", "Of one client node (default: 1GB/s)", "RATE", parse_rate,
                               [&o](BytesPerSecond rate) { o.node_rate = rate; });
  command->add_option("--max-stripes", o.max_stripes, "Of one file (default: 2000, lscratchc: 160)")
      ->type_name("N")
      ->check(whole_number());
  command->add_option("--ranks", o.ranks, "Processes that write")->type_name("N")->required()->check(whole_number());
  command->add_option("--ranks-per-node", o.ranks_per_node, "Of these, on one node (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  add_quantity<Bytes>(*command, "--bytes", "What all of them write together", "SIZE", parse_bytes, [&o](Bytes size) {
    o.bytes = size;
  })->required();
  CLI::Option* const shared = command->add_flag("--shared", o.shared, "All write one file (default)");
  command->add_flag("--per-process", o.per_process, "Each writes a file of its own")->excludes(shared);
  add_quantity<Bytes>(*command, "--transfer", "Of one write call (default: 1MiB)", "SIZE", parse_bytes,
                      [&o](Bytes size) { o.transfer = size; });
  add_quantity<Bytes>(*command, "--block", "Contiguous bytes of one rank", "SIZE", parse_bytes,
                      [&o](Bytes size) { o.block = size; });
  command->add_option("--accept", o.accept, "Share of the best speed to give up for the others' sake (default: 10%)")
      ->type_name("SHARE");
  command->add_option("--others", o.others, "Stripes of the other jobs, one number each: 160,160,160")->type_name("LIST");
  command->add_option("--others-follow", o.others_follow, "N other jobs like this one, which take the same advice")
      ->type_name("N")
      ->check(whole_number());
  add_quantity<Bytes>(*command, "--min-bytes", "With --root: leave out jobs that wrote less (default: 1MiB)", "SIZE", parse_bytes,
                      [&o](Bytes size) { o.min_bytes = size; });
  command->add_flag("--plot", o.plot, "Draw the trade-off, also where there is no terminal");
  command->add_flag("--json", o.json, "One JSON document");
  command->add_flag("--no-header", o.no_header, "Rows only");
  on(command, [this](Context& context) { return run_advise(advise_, context); });
}

void CommandLine::add_tune() {
  CLI::App* const command = app_.add_subcommand("tune", "Find the fastest stripe count and size by running a command");
  TuneOptions& o = tune_;
  command->add_option("--counts", o.counts, "Stripe counts to try: 1,2,4..160; '..' doubles (default: up to 160)")
      ->type_name("LIST");
  command->add_option("--sizes", o.sizes, "Stripe sizes to try (default: 1M..256M)")->type_name("LIST");
  command->add_flag("--sweep", o.sweep, "Try all of them, instead of searching");
  command->add_option("--shuffle", o.shuffle, "Sweep in an order drawn with this seed")->type_name("SEED")->check(whole_number());
  command->add_option("--start", o.start, "What is used today, e.g. 2x1M: run first, and compared with")->type_name("COUNTxSIZE");
  command->add_option("--budget", o.budget, "At most N runs")->type_name("N")->check(whole_number());
  command->add_option("--repeat", o.repeat, "Run each setting N times; the mean counts (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  command->add_option("--noise", o.noise, "Scatter of equal runs, e.g. 5%: the best are run again until told apart")
      ->type_name("SHARE");
  command->add_option("--dir", o.directory, "Set the default layout of DIR before each run, with 'lfs setstripe'")
      ->type_name("DIR");
  command->add_option("--metric", o.metric, "Where the result is in the output: a regular expression with a group")
      ->type_name("REGEX");
  add_choice(*command, "--goal", o.goal, kGoals, "Whether the largest or the smallest result is best (default: max)");
  command->add_flag("--time", o.time, "The result is the elapsed time; the shortest is best");
  add_duration(*command, "--timeout", "End a run that takes longer, and count it as failed", false,
               [&o](Duration limit) { o.timeout = limit; });
  command->add_option("--state", o.state, "Keep the runs in FILE, and continue from it")->type_name("FILE");
  command->add_flag("--dry-run", o.dry_run, "Show what would be tried; run nothing");
  command->add_flag("--json", o.json, "One JSON document");
  command->add_flag("--no-header", o.no_header, "Rows only");
  command
      ->add_option("COMMAND", o.command,
                   "Behind '--': what to run; {stripe_count}, {stripe_size} and {stripe_size_mib} are replaced in its words")
      ->required()
      ->type_name("");
  on(command, [this](Context& context) {
    // Word by word: CLI11 would take "[1,2]" apart.
    const auto dashes = std::ranges::find(given_, std::string_view("--"));
    if (dashes != given_.end()) tune_.command.assign(dashes + 1, given_.end());
    return run_tune(tune_, context);
  });
}

}  // namespace iez::cli
