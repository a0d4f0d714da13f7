#include "cli.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "advise.hpp"
#include "base/text.hpp"
#include "bench.hpp"
#include "bench_command.hpp"
#include "build_info.hpp"
#include "command.hpp"
#include "completion.hpp"
#include "contention.hpp"
#include "forecast_run.hpp"
#include "forecast_series.hpp"
#include "layout.hpp"
#include "place.hpp"
#include "placement/policy.hpp"
#include "status.hpp"
#include "top.hpp"
#include "trace_command.hpp"
#include "tune.hpp"

namespace iez::cli {

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr std::array<std::pair<std::string_view, TopSort>, 7> kSorts{{{"bytes", TopSort::bytes},
                                                                      {"rate", TopSort::rate},
                                                                      {"read", TopSort::read},
                                                                      {"write", TopSort::write},
                                                                      {"ops", TopSort::operations},
                                                                      {"size", TopSort::size},
                                                                      {"job", TopSort::job}}};
constexpr std::array<std::pair<std::string_view, TopPer>, 3> kPers{
    {{"job", TopPer::job}, {"ost", TopPer::ost}, {"server", TopPer::server}}};
constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevels{{{"debug", LogLevel::debug},
                                                                        {"info", LogLevel::info},
                                                                        {"warning", LogLevel::warning},
                                                                        {"error", LogLevel::error},
                                                                        {"off", LogLevel::off}}};
constexpr std::array<std::pair<std::string_view, LogFormat>, 2> kFormats{{{"text", LogFormat::text}, {"json", LogFormat::json}}};
constexpr std::array<std::pair<std::string_view, TraceForm>, 5> kTraceForms{{{"auto", TraceForm::automatic},
                                                                             {"segments", TraceForm::segments},
                                                                             {"csv", TraceForm::csv},
                                                                             {"darshan", TraceForm::darshan},
                                                                             {"recorder", TraceForm::recorder}}};
constexpr std::array<std::pair<std::string_view, TraceSort>, 4> kTraceSorts{
    {{"written", TraceSort::written}, {"read", TraceSort::read}, {"name", TraceSort::name}, {"time", TraceSort::time}}};
constexpr std::array<std::pair<std::string_view, TuneGoal>, 2> kGoals{{{"max", TuneGoal::max}, {"min", TuneGoal::min}}};

// Help without CLI11's lists of what excludes or needs what: the text says it where it matters, and the error always does.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const bool many = option->get_positional() && option->get_expected_max() > 1;
    return (option->get_type_name().empty() ? "" : ' ' + option->get_type_name()) + (many ? " ..." : "");
  }
};

class CommandLine {
 public:
  CommandLine() : app_("iez: an end-to-end I/O control plane for Lustre", "iez") {
    app_.formatter(std::make_shared<HelpFormatter>());
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_version_flag("--version", fmt::format("iez {} ({})", build::kVersion, build::kCommit));
    app_.set_help_flag("-h,--help", "Print this help and exit");
    app_.footer("'iez COMMAND --help' tells more; so do the man pages iez(1), iez-status(1), ...");
    add_choice(app_, "--log-level", log_.level, kLevels, "Least severe message to write on stderr (default: warning)");
    add_choice(app_, "--log-format", log_.format, kFormats, "text for people, json for collectors: one object a line");
    add_status();
    add_top();
    add_layout();
    add_place();
    add_contention();
    add_advise();
    add_tune();
    add_trace();
    add_forecast();
    add_bench();
    add_completion();
    add_help();
  }

  int run(int argc, const char* const* argv) {
    given_ = {argv, static_cast<std::size_t>(argc)};
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
      return usage(problem);
    }
    auto log = Logger::make(log_);
    if (!log) return failed(log.error());
    SystemClock clock;
    Context context{.clock = clock, .log = *log, .terminal = detect_terminal()};
    const auto result = action_(context);
    if (!result) return failed(result.error());
    return kDone;
  }

 private:
  using Action = std::function<Result<void>(Context&)>;

  // value: a T, or an optional one.
  template <typename V, typename T, std::size_t N>
  void add_choice(CLI::App& command, const std::string& name, V& value,
                  const std::array<std::pair<std::string_view, T>, N>& choices, const std::string& text) {
    std::vector<std::string> names;
    names.reserve(choices.size());
    for (const auto& choice : choices) names.emplace_back(choice.first);
    CLI::Option* const option = command.add_option_function<std::string>(
        name,
        [&value, &choices](const std::string& given) {
          for (const auto& [word, meaning] : choices) {
            if (word == given) value = meaning;
          }
        },
        text);
    option->check(CLI::IsMember(names).description(""))->type_name(fmt::format("{}", fmt::join(names, "|")));
    choices_[option] = std::move(names);
  }

  // A duration of more than nothing, or of nothing where that has a meaning.
  static CLI::Option* add_duration(CLI::App& command, const std::string& name, const std::string& text, bool may_be_zero,
                                   const std::function<void(Duration)>& take) {
    return command
        .add_option_function<std::string>(
            name,
            [name, may_be_zero, take](const std::string& given) {
              const auto duration = parse_duration(given);
              if (!duration) throw CLI::ValidationError(name, duration.error().message);
              if (*duration == Duration::zero() && !may_be_zero) throw CLI::ValidationError(name, "must be more than 0");
              take(*duration);
            },
            text)
        ->type_name("TIME");
  }

  // An unsigned number: "-1" would wrap around.
  static CLI::Validator whole_number() {
    return {[](const std::string& given) {
              return text::parse_u64(given) ? std::string{} : fmt::format("'{}': expected a whole number", given);
            },
            ""};
  }

  static void add_sources(CLI::App& command, SourceOptions& options) {
    command
        .add_option(
            "-r,--root", options.roots,
            "Read parameters below DIR (a capture, the lab, another node's /proc and /sys), or from FILE with the text of 'lctl "
            "get_param' ('-': stdin); repeat for several servers (default: this node)")
        ->type_name("DIR|FILE")
        ->take_all()
        ->expected(1)
        ->allow_extra_args(false);
    command.add_option("--fs", options.file_system, "Only this file system")->type_name("NAME");
  }

  static void add_watch(CLI::App& command, WatchOptions& options) {
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

  void add_status() {
    CLI::App* const command = app_.add_subcommand("status", "OSSs and OSTs: size, use, balance, load");
    add_sources(*command, status_.source);
    add_watch(*command, status_.watch);
    command->add_flag("--json", status_.json, "One JSON document a picture");
    command->add_flag("--no-header", status_.no_header, "Rows only");
    on(command, [this](Context& context) { return run_status(status_, context); });
  }

  void add_top() {
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
    add_choice(*command, "-s,--sort", top_.sort, kSorts, "Largest first by this column (default: bytes)");
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

  void add_layout() {
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
    set->add_option("-o,--osts", set_.osts, "Exactly these OSTs, in this order: 3,1,2 or 0-5")->type_name("LIST");
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

  // A size or a rate, as people write it.
  template <typename T>
  static CLI::Option* add_quantity(CLI::App& command, const std::string& name, const std::string& text, const char* type,
                                   Result<T> (*parse)(std::string_view), const std::function<void(T)>& take) {
    return command
        .add_option_function<std::string>(
            name,
            [name, parse, take](const std::string& given) {
              const auto value = parse(given);
              if (!value) throw CLI::ValidationError(name, value.error().message);
              take(*value);
            },
            text)
        ->type_name(type);
  }

  void add_contention() {
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

  void add_advise() {
    CLI::App* const command = app_.add_subcommand("advise", "Stripe count and size for a job that shares the file system");
    AdviseOptions& o = advise_;
    command->add_option("--cluster", o.cluster, "The machine, described in TOML ('-': stdin)")->type_name("FILE");
    command->add_option("--machine", o.machine, "The machine by name: lscratchc")->type_name("NAME");
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
    add_quantity<Bytes>(*command, "--min-bytes", "With --root: leave out jobs that wrote less (default: 1MiB)", "SIZE",
                        parse_bytes, [&o](Bytes size) { o.min_bytes = size; });
    command->add_flag("--plot", o.plot, "Draw the trade-off, also where there is no terminal");
    command->add_flag("--json", o.json, "One JSON document");
    command->add_flag("--no-header", o.no_header, "Rows only");
    on(command, [this](Context& context) { return run_advise(advise_, context); });
  }

  void add_tune() {
    CLI::App* const command = app_.add_subcommand("tune", "Find the fastest stripe count and size by running a command");
    TuneOptions& o = tune_;
    command->add_option("--counts", o.counts, "Stripe counts to try: 1,2,4..160; '..' doubles (default: up to 160)")
        ->type_name("LIST");
    command->add_option("--sizes", o.sizes, "Stripe sizes to try (default: 1M..256M)")->type_name("LIST");
    command->add_flag("--sweep", o.sweep, "Try all of them, instead of searching");
    command->add_option("--shuffle", o.shuffle, "Sweep in an order drawn with this seed")
        ->type_name("SEED")
        ->check(whole_number());
    command->add_option("--start", o.start, "What is used today, e.g. 2x1M: run first, and compared with")
        ->type_name("COUNTxSIZE");
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

  void add_place() {
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
    for (const std::string_view name : placement::policy_names()) choices_[policy].emplace_back(name);
    command->add_option("--seed", place_.seed, "Of the policies that draw (default: 1)")->type_name("N")->check(whole_number());
    command->add_option("-x,--exclude", place_.exclude, "OSTs that get nothing: 3,7 or 0-5")->type_name("LIST");
    command->add_option("-n,--limit", place_.limit, "List at most N files, 0 for all (default: 20, all with --json)")
        ->type_name("N")
        ->check(whole_number());
    command->add_flag("--compare", place_.compare, "All policies side by side")->excludes(policy);
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
    explain->footer("Takes the options of 'iez place' but --compare, --seeds, --plot, --limit, --svg and --csv.");
    // The callback of a command runs after that of its subcommand.
    command->callback([this, explain] {
      action_ = [this, explained = explain->parsed()](Context& context) {
        return explained ? run_place_explain(place_, explained_, context) : run_place(place_, context);
      };
    });
  }

  void add_merge_limits(CLI::App& command, std::optional<Bytes>& memory, std::string& temporary, bool& drop_unused) {
    add_quantity<Bytes>(command, "--memory", "For the rows of segments; more are sorted on disk (default: 512MiB)", "SIZE",
                        parse_bytes, [&memory](Bytes size) { memory = size; });
    command.add_option("--tmp", temporary, "Folder for what does not fit (default: TMPDIR, or /tmp)")->type_name("DIR");
    command.add_flag("--drop-unused", drop_unused, "Leave out files that were neither created, written nor read");
  }

  void add_trace_form(CLI::App& command, TraceForm& form) {
    add_choice(command, "--from", form, kTraceForms, "What the input is (default: auto, by its content)");
  }

  void add_trace() {
    CLI::App* const command = app_.add_subcommand("trace", "What runs did to their files: show, merge, export, import");
    command->require_subcommand(1);
    const char* const input = "A segment, a merged run, a folder of segments, CSV, text of Darshan or a folder of Recorder";

    CLI::App* const show = command->add_subcommand("show", "Files of a run, by bytes");
    show->add_option("TRACE", trace_show_.paths, input)->required()->type_name("");
    add_trace_form(*show, trace_show_.form);
    add_choice(*show, "-s,--sort", trace_show_.sort, kTraceSorts, "Order of the files (default: written)");
    show->add_option("-n,--limit", trace_show_.limit, "At most N files, 0 for all (default: 20, all with --json)")
        ->type_name("N")
        ->check(whole_number());
    show->add_flag("--calls", trace_show_.calls, "Also the single calls that a segment kept");
    show->add_flag("--json", trace_show_.json, "One JSON document a trace");
    show->add_flag("--no-header", trace_show_.no_header, "Rows only");
    on(show, [this](Context& context) { return run_trace_show(trace_show_, context); });

    CLI::App* const merge = command->add_subcommand("merge", "Segments of many processes to one row a file");
    merge->add_option("INPUT", trace_merge_.inputs, "Segments, merged runs, or folders of them")->required()->type_name("");
    merge->add_option("-o,--output", trace_merge_.output, "The merged run to write, RUN.ieztrace")->required()->type_name("FILE");
    add_merge_limits(*merge, trace_merge_.memory, trace_merge_.temporary, trace_merge_.drop_unused);
    merge->add_flag("--json", trace_merge_.json, "What was merged, as one JSON document");
    on(merge, [this](Context& context) { return run_trace_merge(trace_merge_, context); });

    CLI::App* const exported = command->add_subcommand("export", "A run as CSV, one line a file");
    exported->add_option("TRACE", trace_export_.input, input)->required()->type_name("");
    exported->add_option("-o,--output", trace_export_.output, "The CSV file to write (default: '-', stdout)")->type_name("FILE");
    add_trace_form(*exported, trace_export_.form);
    add_merge_limits(*exported, trace_export_.memory, trace_export_.temporary, trace_export_.drop_unused);
    on(exported, [this](Context& context) { return run_trace_export(trace_export_, context); });

    CLI::App* const imported = command->add_subcommand("import", "Logs of other tracers as a run of ours");
    imported->add_option("LOG", trace_import_.input, "What darshan-parser prints, a folder of recorder2text, or CSV")
        ->required()
        ->type_name("");
    imported
        ->add_option("-o,--output", trace_import_.output,
                     "A merged run if it ends in .ieztrace, else CSV (default: '-', CSV on stdout)")
        ->type_name("FILE");
    add_trace_form(*imported, trace_import_.form);
    on(imported, [this](Context& context) { return run_trace_import(trace_import_, context); });
  }

  void add_forecast() {
    CLI::App* const command =
        app_.add_subcommand("forecast", "The next values of a series; the files of an application's next run");
    command->require_subcommand(1);
    CLI::App* const series = command->add_subcommand("series", "The next values of a numeric series");
    ForecastSeriesOptions& o = forecast_series_;
    series->add_option("FILE", o.file, "CSV with a header, or one number a line ('-': stdin)")->required()->type_name("");
    series
        ->add_option("-c,--column", o.column,
                     "Title of the column, or its number without a header (default: value, or the first)")
        ->type_name("NAME");
    series->add_option("-n,--horizon", o.horizon, "How many values ahead (default: one period, or 12)")
        ->type_name("N")
        ->check(whole_number());
    CLI::Option* const order =
        series->add_option("--order", o.order, "This ARIMA and no search: p,d,q or p,d,q,P,D,Q,period")->type_name("LIST");
    series->add_flag("--grid", o.grid, "All 216 ARIMA(p,d,q) up to 5, the least error in the sample")->excludes(order);
    series->add_option("--period", o.period, "The period is N; 0: there is none (default: looked for)")
        ->type_name("N")
        ->check(whole_number());
    series->add_option("-q,--quantile", o.high, "Show what is not exceeded with this probability (default: 0.9)")->type_name("P");
    series->add_flag("--negative", o.negative, "Values may be below zero: not sizes");
    series->add_option("--test", o.test, "Forecast each of the last N values, too, and tell how good that was")
        ->type_name("N")
        ->check(whole_number());
    CLI::Option* const plot = series->add_flag("--plot", o.plot, "Draw it, also where there is no terminal");
    series->add_flag("--no-plot", o.no_plot, "Draw nothing")->excludes(plot);
    series->add_flag("--json", o.json, "One JSON document");
    series->add_flag("--no-header", o.no_header, "Rows only");
    on(series, [this](Context& context) { return run_forecast_series(forecast_series_, context); });

    CLI::App* const run = command->add_subcommand("run", "The files of the next run, from traces of earlier ones");
    ForecastRunOptions& r = forecast_run_;
    run->add_option("TRACE", r.traces, "One trace a run, the oldest first")->required()->type_name("");
    add_trace_form(*run, r.form);
    run->add_option("--ranks", r.ranks, "Processes of the next run (default: as the last)")
        ->type_name("N")
        ->check(whole_number());
    run->add_option("--scale", r.scale, "The problem is X times as large (default: 1)")->type_name("X");
    run->add_option("-q,--quantile", r.reserve, "Probability that a file is at most its HIGH (default: 0.9)")->type_name("P");
    run->add_option("--under", r.under, "Only files below this folder")->type_name("DIR");
    run->add_option("-n,--limit", r.limit, "List at most N files, 0 for all (default: 20, all with --json)")
        ->type_name("N")
        ->check(whole_number());
    run->add_option("--requests", r.requests, "Also write the files as requests of 'iez place' ('-': stdout, and nothing else)")
        ->type_name("FILE");
    run->add_option("--score", r.score, "A trace of the run that followed: how good was the forecast?")->type_name("TRACE");
    run->add_flag("--json", r.json, "One JSON document");
    run->add_flag("--no-header", r.no_header, "Rows only");
    on(run, [this](Context& context) { return run_forecast_run(forecast_run_, context); });
  }

  void add_bench() {
    CLI::App* const command = app_.add_subcommand("bench", "Run a benchmark; without a name, list them");
    CLI::Option* const names = command->add_option("NAME", bench_.names, "Which ones")->type_name("");
    for (const bench::Bench& known : bench::benches()) arguments_[command].emplace_back(known.name);
    command->add_flag("--all", bench_.all, "All of them")->excludes(names);
    command->add_flag("--json", bench_.json, "One JSON document a benchmark");
    command->add_flag("--quick", bench_.quick, "Small input: shows that it works, compares nothing");
    command
        ->add_option("--measure", bench_.measure,
                     "Parse this job_stats dump and report its cost, as lustre-parse does in a process of its own")
        ->type_name("FILE")
        ->excludes("--all");
    on(command, [this](Context& context) { return run_bench(bench_, context); });
  }

  void add_completion() {
    CLI::App* const command = app_.add_subcommand("completion", "Print a completion script: source <(iez completion bash)");
    arguments_[command] = {"bash"};
    command->add_option("SHELL", shell_, "bash")->required()->check(CLI::IsMember({"bash"}).description(""))->type_name("");
    on(command, [this](Context&) { return print(bash_completion(words())); });
  }

  void add_help() {
    CLI::App* const command = app_.add_subcommand("help", "Print the help of a command");
    command->add_option("COMMAND", topic_, "Its name, e.g. 'layout set'")->type_name("");
    for (const CLI::App* other : app_.get_subcommands(nullptr)) arguments_[command].push_back(other->get_name());
    on(command, [this](Context&) { return help(); });
  }

  Result<void> help() const {
    const CLI::App* command = &app_;
    std::string path = "iez";
    for (const std::string& word : topic_) {
      const auto subcommands = command->get_subcommands([](const CLI::App*) { return true; });
      const auto found =
          std::find_if(subcommands.begin(), subcommands.end(), [&](const CLI::App* app) { return app->get_name() == word; });
      if (found == subcommands.end()) return fail(Errc::invalid_argument, fmt::format("{} has no command '{}'", path, word));
      command = *found;
      path += ' ' + word;
    }
    // App::help() would speak of the command that was given, which is this one.
    return print(command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal));
  }

  void on(CLI::App* command, Action action) {
    command->footer("");
    command->callback([this, action = std::move(action)] { action_ = action; });
  }

  int usage(const CLI::ParseError& problem) const {
    if (problem.get_exit_code() == 0) {  // --help and --version are answers
      std::ostringstream answer;
      app_.exit(problem, answer, answer);
      const auto printed = print(answer.str());
      return printed ? kDone : failed(printed.error());
    }
    const CLI::App& command = innermost(app_);
    fmt::print(stderr, "iez: {}{}\nTry '{} --help'.\n", problem.what(), suggestion(problem, command), path_of(command));
    return kUsage;
  }

  static const CLI::App& innermost(const CLI::App& app) {
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? app : innermost(*parsed.front());
  }

  static std::string path_of(const CLI::App& command) {
    if (command.get_parent() == nullptr) return "iez";
    return path_of(*command.get_parent()) + ' ' + command.get_name();
  }

  // For a word that nobody knows: the one that was perhaps meant.
  std::string suggestion(const CLI::ParseError& problem, const CLI::App& command) const {
    const auto code = static_cast<CLI::ExitCodes>(problem.get_exit_code());  // its name is the command's
    if (code != CLI::ExitCodes::ExtrasError && code != CLI::ExitCodes::RequiredError) return "";
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options()) known.push_back(option->get_name());
    for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) known.push_back(sub->get_name());
    const std::vector<std::string_view> views(known.begin(), known.end());
    for (const std::string& word : app_.remaining(true)) {
      const auto meant = text::nearest(word.substr(0, word.find('=')), views);
      if (meant) return fmt::format("; did you mean {}?", *meant);
    }
    return "";
  }

  int failed(const Error& error) const {
    fmt::print(stderr, "{}: {}\n", path_of(innermost(app_)), text::printable(error.message));
    // What the user asked for makes no sense, as opposed to what the system says to it.
    return error.code == Errc::invalid_argument && error.os_errno == 0 ? kUsage : kFailed;
  }

  std::vector<CommandWords> words() const {
    std::vector<CommandWords> all;
    collect(app_, "", all);
    return all;
  }

  void collect(const CLI::App& app, const std::string& path, std::vector<CommandWords>& all) const {
    CommandWords entry{.path = path};
    // Options of iez itself may stand behind any command.
    for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) add_options(*level, entry.options);
    if (const auto found = arguments_.find(&app); found != arguments_.end()) entry.arguments = found->second;
    const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* sub : subcommands) entry.subcommands.push_back(sub->get_name());
    all.push_back(std::move(entry));
    for (const CLI::App* sub : subcommands) collect(*sub, path.empty() ? sub->get_name() : path + ' ' + sub->get_name(), all);
  }

  void add_options(const CLI::App& app, std::vector<OptionWords>& options) const {
    for (const CLI::Option* option : app.get_options()) {
      std::vector<std::string> names;
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      for (const std::string& name : option->get_snames()) names.push_back("-" + name);
      const auto choices = choices_.find(option);
      for (const std::string& name : names) {
        if (std::any_of(options.begin(), options.end(), [&](const OptionWords& known) { return known.name == name; })) continue;
        options.push_back({.name = name,
                           .takes_value = option->get_items_expected_max() > 0,
                           .choices = choices == choices_.end() ? std::vector<std::string>{} : choices->second});
      }
    }
  }

  CLI::App app_;
  Action action_;
  std::span<const char* const> given_;
  std::map<const CLI::Option*, std::vector<std::string>> choices_;
  std::map<const CLI::App*, std::vector<std::string>> arguments_;
  Logger::Options log_;
  StatusOptions status_;
  TopOptions top_;
  LayoutShowOptions show_;
  LayoutSetOptions set_;
  PlaceOptions place_;
  std::string explained_;
  ContentionOptions contention_;
  AdviseOptions advise_;
  TuneOptions tune_;
  TraceShowOptions trace_show_;
  TraceMergeOptions trace_merge_;
  TraceExportOptions trace_export_;
  TraceExportOptions trace_import_;
  ForecastSeriesOptions forecast_series_;
  ForecastRunOptions forecast_run_;
  BenchOptions bench_;
  std::string shell_;
  std::vector<std::string> topic_;
};

}  // namespace

int run(int argc, const char* const* argv) { return CommandLine().run(argc, argv); }

}  // namespace iez::cli
