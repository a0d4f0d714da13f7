#include "tune.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/text.hpp"
#include "json.hpp"
#include "stripe_words.hpp"
#include "table.hpp"
#include "tune_metric.hpp"
#include "tune_runner.hpp"
#include "tune_session.hpp"
#include "tune_state.hpp"

namespace iez::cli {

namespace {

constexpr std::uint32_t kMaxStripesByDefault = 160;
constexpr Bytes kSmallestByDefault = Bytes::mib(1);
constexpr Bytes kLargestByDefault = Bytes::mib(256);
constexpr std::size_t kFailuresToStop = 3;
constexpr std::size_t kTailLines = 10;
constexpr std::size_t kTailBytes = 2000;
constexpr unsigned kBarWidth = 20;
constexpr Duration kSetstripeTimeout = std::chrono::minutes(1);

// Everything that the options say, checked.
struct Plan {
  contention::TuneSpace space;
  contention::TunerOptions tuner;
  TuneSession::Options session;
  std::optional<MetricPattern> metric;

  std::size_t sweep_runs() const { return space.points() * session.repeat; }
};

Result<Plan> make_plan(const TuneOptions& options) {
  Plan plan{.space = contention::doubling_space(kMaxStripesByDefault, kSmallestByDefault, kLargestByDefault)};
  if (!options.counts.empty()) {
    IEZ_TRY(plan.space.counts, parse_counts("--counts", options.counts));
  }
  if (!options.sizes.empty()) {
    IEZ_TRY(plan.space.sizes, parse_sizes("--sizes", options.sizes));
  }
  if (options.sweep) plan.tuner.strategy = contention::TuneStrategy::sweep;
  if (options.shuffle && !options.sweep) return fail(Errc::invalid_argument, "--shuffle is for --sweep");
  plan.tuner.shuffle = options.shuffle;
  if (!options.start.empty()) {
    IEZ_TRY(plan.tuner.standard, parse_setting("--start", options.start));
  }
  if (!options.noise.empty()) {
    if (options.sweep)
      return fail(Errc::invalid_argument, "--noise is for the search: a --sweep runs each setting --repeat times");
    IEZ_TRY(plan.tuner.noise, parse_share("--noise", options.noise));
  }
  if (options.budget == 0U) return fail(Errc::invalid_argument, "--budget is 0: expected 1 run or more");
  if (options.repeat == 0) return fail(Errc::invalid_argument, "--repeat is 0: expected 1 or more");
  plan.tuner.budget = options.budget.value_or(0);
  plan.session = {.repeat = options.repeat,
                  .budget = options.budget.value_or(0),
                  .goal = options.goal.value_or(options.time ? TuneGoal::min : TuneGoal::max)};
  if (options.time && !options.metric.empty()) {
    return fail(Errc::invalid_argument, "--time with --metric: one run has one result; leave one of them out");
  }
  if (options.time && plan.session.goal == TuneGoal::max) {
    return fail(Errc::invalid_argument, "--time with --goal max would look for the slowest setting; leave --goal out");
  }
  if (plan.session.goal == TuneGoal::min && !options.time && options.metric.empty()) {
    return fail(Errc::invalid_argument, "--goal min would look for the lowest rate; it needs --metric or --time");
  }
  if (!options.metric.empty()) {
    auto pattern = MetricPattern::make(options.metric);
    if (!pattern) return with_context(std::move(pattern).error(), "--metric");
    plan.metric = *std::move(pattern);
  }
  // What is wrong with the space is told before anything is run or written.
  auto tuner = contention::Tuner::make(plan.space, plan.tuner);
  if (!tuner) return with_context(std::move(tuner).error(), "--counts, --sizes or --start");
  return plan;
}

TuneHeader header_of(const TuneOptions& options, const Plan& plan) {
  std::string measure = "rate";
  if (options.time) measure = "time";
  if (!options.metric.empty()) measure = "metric " + options.metric;
  return {.space = plan.space,
          .measure = std::move(measure),
          .goal = plan.session.goal,
          .directory = options.directory,
          .command = options.command};
}

std::string setting_text(const contention::Setting& setting) {
  return fmt::format("{} stripe{} of {}", setting.stripes, setting.stripes == 1 ? "" : "s",
                     to_binary_string(setting.stripe_size));
}

std::vector<std::string> setstripe_arguments(const contention::Setting& setting, const std::string& directory) {
  return {"lfs", "setstripe", "-c", fmt::to_string(setting.stripes), "-S", fmt::to_string(setting.stripe_size.count), directory};
}

std::string setstripe_for(const contention::Setting& setting, const TuneOptions& options) {
  return setstripe_line(setting.stripes, setting.stripe_size, options.directory.empty() ? "DIR" : options.directory);
}

std::string command_line(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    line += shell_word(argument);
  }
  return line;
}

// The last lines, each marked.
std::string tail_of(const std::string& output) {
  std::string_view rest = text::trim(output);
  if (rest.empty()) return "  | (no output)\n";
  if (rest.size() > kTailBytes) rest.remove_prefix(rest.size() - kTailBytes);
  std::vector<std::string> lines;
  while (lines.size() < kTailLines) {
    const std::size_t begin = rest.rfind('\n');
    lines.push_back(fmt::format("  | {}\n", text::printable(rest.substr(begin == std::string_view::npos ? 0 : begin + 1))));
    if (begin == std::string_view::npos) break;
    rest = rest.substr(0, begin);
  }
  std::ranges::reverse(lines);
  return fmt::format("{}", fmt::join(lines, ""));
}

enum class Stop { done, interrupted, failures };

class Tune {
 public:
  Tune(const TuneOptions& options, Context& context, const Plan& plan, TuneSession session, CommandRunner runner)
      : options_(options), context_(context), plan_(plan), session_(std::move(session)), runner_(std::move(runner)) {}

  Result<void> run() {
    std::optional<StateFile> state;
    if (!options_.state.empty()) {
      IEZ_TRY(StateFile file, StateFile::open(options_.state, header_of(options_, plan_)));
      state.emplace(std::move(file));
      for (const TuneRecord& record : state->records()) {
        (void)session_.next();  // the same questions as then, so that the search goes on where it was
        auto told = session_.tell(record);
        if (!told) return with_context(std::move(told).error(), options_.state);
      }
      if (session_.runs() > 0) fmt::print(stderr, "{}: {} runs known\n", text::printable(options_.state), session_.runs());
    }
    const std::size_t known = session_.runs();
    Stop stop = Stop::done;
    std::size_t failures = 0;
    while (const auto setting = session_.next()) {
      if (runner_.interrupted()) {
        stop = Stop::interrupted;
        break;
      }
      IEZ_TRY(const auto record, run_once(*setting));
      if (!record) {
        stop = Stop::interrupted;
        break;
      }
      IEZ_TRY(const TuneRecord taken, session_.tell(*record));
      report(taken);
      if (state) IEZ_CHECK(state->append(taken));
      failures = taken.result ? 0 : failures + 1;
      if (failures >= kFailuresToStop) {
        stop = Stop::failures;
        break;
      }
    }
    IEZ_CHECK(print(options_.json ? to_json(stop, known) : to_text()));
    return ending(stop);
  }

 private:
  // Nothing: interrupted.
  Result<std::optional<TuneRecord>> run_once(const contention::Setting& setting) {
    if (!options_.directory.empty()) {
      IEZ_TRY(const bool done, set_directory(setting));
      if (!done) return std::nullopt;
    }
    const RunRequest request{.arguments = substitute(options_.command, setting),
                             .environment = {{"IEZ_STRIPE_COUNT", fmt::to_string(setting.stripes)},
                                             {"IEZ_STRIPE_SIZE", fmt::to_string(setting.stripe_size.count)}},
                             .timeout = options_.timeout};
    IEZ_TRY(RunOutcome outcome, runner_.run(request));
    if (outcome.ending == RunEnding::interrupted) return std::nullopt;
    TuneRecord record{.setting = setting, .seconds = static_cast<double>(outcome.elapsed.count()) / 1e9};
    if (!outcome.ok()) {
      record.reason = to_string(outcome);
    } else {
      auto measured = measure(outcome);
      if (measured) {
        record.result = *measured;
      } else {
        record.reason = measured.error().message;
      }
    }
    output_ = std::move(outcome.output);
    return record;
  }

  // False: interrupted.
  Result<bool> set_directory(const contention::Setting& setting) {
    IEZ_TRY(const RunOutcome outcome, runner_.run({.arguments = setstripe_arguments(setting, options_.directory),
                                                   .environment = {},
                                                   .timeout = kSetstripeTimeout}));
    if (outcome.ending == RunEnding::interrupted) return false;
    if (outcome.ok()) return true;
    fmt::print(stderr, "{}", tail_of(outcome.output));
    return fail(Errc::io, fmt::format("--dir: '{}': {}", setstripe_for(setting, options_), to_string(outcome)));
  }

  Result<Measured> measure(const RunOutcome& outcome) const {
    if (options_.time) return Measured{.value = static_cast<double>(outcome.elapsed.count()) / 1e9, .unit = MetricUnit::seconds};
    if (plan_.metric) return find_metric(*plan_.metric, outcome.output);
    const auto rate = find_rate(outcome.output);
    if (rate) return *rate;
    return fail(Errc::not_found, "no rate in its output: tell where it is with --metric, or use --time");
  }

  void report(const TuneRecord& record) const {
    std::string total;
    if (options_.budget) total = fmt::format(" of at most {}", *options_.budget);
    if (options_.sweep) total = fmt::format(" of {}", std::min(plan_.sweep_runs(), options_.budget.value_or(plan_.sweep_runs())));
    fmt::print(stderr, "run {}{}: {}: {} ({:.1f} s)\n", session_.runs(), total, setting_text(record.setting),
               record.result ? to_string(*record.result) : "failed: " + text::printable(record.reason), record.seconds);
    if (!record.result) fmt::print(stderr, "{}", tail_of(output_));
  }

  Result<void> ending(Stop stop) const {
    const std::string resume = options_.state.empty() ? "" : "; the same command goes on from here";
    switch (stop) {
      case Stop::interrupted:
        return fail(Errc::io, fmt::format("interrupted after {} runs{}", session_.runs(), resume));
      case Stop::failures:
        return fail(Errc::io, fmt::format("stopped: {} runs in a row failed; try the command alone: {}", kFailuresToStop,
                                          command_line(options_.command)));
      case Stop::done:
        break;
    }
    if (!session_.result().best) return fail(Errc::io, "no setting without a failed run");
    return {};
  }

  std::string value_text(const contention::Trial& trial) const {
    return to_string(shown_value(trial.mean, plan_.session.goal, session_.unit()));
  }

  std::string to_text() const {
    const contention::TuneResult result = session_.result();
    Table table({{"STRIPES", Align::right},
                 {"SIZE", Align::right},
                 {"RUNS", Align::right},
                 {"RESULT", Align::right},
                 {"OF BEST", Align::right},
                 {""}});
    for (const contention::Trial& trial : result.trials) {
      std::vector<Cell> row{
          {fmt::to_string(trial.setting.stripes)}, {size_word(trial.setting.stripe_size)}, {fmt::to_string(trial.runs)}};
      if (trial.failed) {
        row.insert(row.end(), {{"failed", Colour::red}, {"-"}, {""}});
      } else {
        const double share = result.best && result.best->mean.value > 0 ? trial.mean.value / result.best->mean.value : 0;
        row.insert(row.end(), {{value_text(trial)}, {percent(share)}, {bar(share, kBarWidth, context_.terminal)}});
      }
      table.add(std::move(row));
    }
    std::string out = table.render(context_.terminal, !options_.no_header);
    if (options_.no_header || !result.best) return out;
    const std::string_view compared = options_.start.empty() ? "the first that ran" : "--start";
    out += fmt::format("\nbest: {}: {}, {:.2f} times {}; {} runs, a sweep takes {}{}\n\n  {}\n",
                       setting_text(result.best->setting), value_text(*result.best), result.gain, compared, session_.runs(),
                       plan_.sweep_runs(), session_.result().out_of_budget ? "; stopped by --budget" : "",
                       setstripe_for(result.best->setting, options_));
    return out;
  }

  ordered_json trial_json(const contention::Trial& trial) const {
    ordered_json json{
        {"stripe_count", trial.setting.stripes}, {"stripe_size", trial.setting.stripe_size.count}, {"runs", trial.runs}};
    json["failed"] = trial.failed;
    json["value"] =
        trial.failed ? ordered_json(nullptr) : ordered_json(shown_value(trial.mean, plan_.session.goal, session_.unit()).value);
    return json;
  }

  std::string to_json(Stop stop, std::size_t known) const {
    const contention::TuneResult result = session_.result();
    ordered_json json{{"strategy", options_.sweep ? "sweep" : "search"}, {"goal", to_string(plan_.session.goal)}};
    json["unit"] = to_string(session_.unit());
    json["trials"] = ordered_json::array();
    for (const contention::Trial& trial : result.trials) json["trials"].push_back(trial_json(trial));
    json["best"] = result.best ? trial_json(*result.best) : ordered_json(nullptr);
    json["gain"] = result.best ? ordered_json(result.gain) : ordered_json(nullptr);
    json["total_runs"] = session_.runs();
    json["known_runs"] = known;
    json["sweep_runs"] = plan_.sweep_runs();
    json["finished"] = stop == Stop::done && !result.out_of_budget;
    json["out_of_budget"] = result.out_of_budget;
    json["interrupted"] = stop == Stop::interrupted;
    json["setstripe"] = result.best ? ordered_json(setstripe_for(result.best->setting, options_)) : ordered_json(nullptr);
    return to_line(json);
  }

  const TuneOptions& options_;
  Context& context_;
  const Plan& plan_;
  TuneSession session_;
  CommandRunner runner_;
  std::string output_;  // of the last run
};

Result<void> dry_run(const TuneOptions& options, const Plan& plan, TuneSession& session) {
  const auto first = session.next();
  IEZ_ASSERT(first.has_value());
  const std::vector<std::string> command = substitute(options.command, *first);
  if (options.json) {
    ordered_json json{{"counts", plan.space.counts}, {"sizes", ordered_json::array()}};
    for (const Bytes size : plan.space.sizes) json["sizes"].push_back(size.count);
    json["sweep_runs"] = plan.sweep_runs();
    json["first"] = {{"stripe_count", first->stripes}, {"stripe_size", first->stripe_size.count}, {"command", command}};
    json["first"]["setstripe"] = options.directory.empty() ? ordered_json(nullptr) : ordered_json(setstripe_for(*first, options));
    return print(to_line(json));
  }
  std::vector<std::string> sizes;
  sizes.reserve(plan.space.sizes.size());
  for (const Bytes size : plan.space.sizes) sizes.push_back(size_word(size));
  std::string out = fmt::format("counts: {}\nsizes: {}\n", fmt::join(plan.space.counts, " "), fmt::join(sizes, " "));
  out +=
      fmt::format("{} settings, {} runs for a sweep\nfirst: {}\n", plan.space.points(), plan.sweep_runs(), setting_text(*first));
  if (!options.directory.empty()) out += fmt::format("  {}\n", setstripe_for(*first, options));
  out += fmt::format("  IEZ_STRIPE_COUNT={} IEZ_STRIPE_SIZE={} {}\n", first->stripes, first->stripe_size.count,
                     text::printable(command_line(command)));
  return print(out);
}

}  // namespace

Result<void> run_tune(const TuneOptions& options, Context& context) {
  IEZ_TRY(const Plan plan, make_plan(options));
  IEZ_TRY(auto tuner, contention::Tuner::make(plan.space, plan.tuner));
  TuneSession session(std::move(tuner), plan.session);
  if (options.dry_run) return dry_run(options, plan, session);
  if (!options.directory.empty() && !find_program("lfs")) {
    return fail(Errc::not_found,
                "--dir: 'lfs' is not installed here; run where Lustre is mounted, or leave --dir out and use "
                "{stripe_count} and {stripe_size} in the command");
  }
  IEZ_TRY(auto runner, CommandRunner::make(context.clock));
  return Tune(options, context, plan, std::move(session), std::move(runner)).run();
}

}  // namespace iez::cli
