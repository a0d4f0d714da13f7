#include "sim_run.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "config/scenario_override.hpp"
#include "sim_input.hpp"
#include "sim_page.hpp"
#include "sim_pool.hpp"
#include "sim_view.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::uint64_t kMaxRuns = config::kMaxCombinations;
constexpr unsigned kMaxThreads = 1024;

Result<void> check(const SimRunOptions& options) {
  if (options.seeds == 0) return fail(Errc::invalid_argument, "--seeds: found 0, expected 1 or more");
  if (options.samples && !options.json)
    return fail(Errc::invalid_argument, "--samples without --json: they are part of the JSON");
  const int writers =
      (options.csv == kStandardStream ? 1 : 0) + (options.html == kStandardStream ? 1 : 0) + (options.json ? 1 : 0);
  if (writers > 1) return fail(Errc::invalid_argument, "of --json, --csv - and --html - only one can have standard output");
  if (!options.csv.empty() && options.csv == options.html) {
    return fail(Errc::invalid_argument, fmt::format("--csv and --html: found {} twice, expected two files", options.csv));
  }
  return {};
}

struct Plan {
  std::vector<config::Sweep> sweeps;
  std::vector<std::vector<config::Override>> sets;  // of the sweeps, for each scenario
  std::vector<sim::Scenario> scenarios;             // in the order of the runs
};

Result<Plan> make_plan(const SimRunOptions& options, const ScenarioText& source) {
  Plan plan;
  IEZ_TRY(const auto fixed, parse_overrides(options.set));
  IEZ_TRY(plan.sweeps, config::parse_sweeps(options.sweeps));
  const auto combinations = config::combinations(plan.sweeps);
  if (options.seeds > kMaxRuns / combinations.size()) {
    return fail(Errc::limit,
                fmt::format("--sweep and --seeds: found {} combinations with {} seeds each, expected at most {} runs",
                            combinations.size(), options.seeds, kMaxRuns));
  }
  plan.sets.reserve(combinations.size() * options.seeds);
  plan.scenarios.reserve(combinations.size() * options.seeds);
  for (const auto& combination : combinations) {
    auto overrides = fixed;
    overrides.insert(overrides.end(), combination.begin(), combination.end());
    auto read = read_scenario(source, overrides);
    if (!read) {
      // What is wrong with one value is said with it; what is wrong with several together is not.
      const bool told = combination.empty() || read.error().message.starts_with("override ");
      return told ? std::unexpected(std::move(read).error()) : with_context(std::move(read).error(), set_text(combination));
    }
    sim::Scenario scenario = *std::move(read);
    for (std::uint64_t seed = 0; seed < options.seeds; ++seed) {
      plan.sets.push_back(combination);
      plan.scenarios.push_back(scenario);
      ++scenario.seed;
    }
  }
  return plan;
}

std::string trace_name(const SimReport& report, const SimRun& run) {
  return run.set.empty() ? report.scenario.name : set_text(run.set);
}

// A file that appears when it is whole; none if no name is given.
Result<std::optional<TextOutput>> output(const std::string& path) {
  std::optional<TextOutput> made;
  if (path.empty()) return made;
  IEZ_TRY(TextOutput created, TextOutput::create(path));
  made.emplace(std::move(created));
  return made;
}

}  // namespace

Result<unsigned> sim_threads(const std::optional<std::uint64_t>& given) {
  if (!given) return std::max(1U, std::thread::hardware_concurrency());
  if (*given >= 1 && *given <= kMaxThreads) return static_cast<unsigned>(*given);
  return fail(Errc::invalid_argument, fmt::format("--jobs: found {}, expected 1 to {}", *given, kMaxThreads));
}

Result<void> run_sim_run(const SimRunOptions& options, Context& context) {
  IEZ_CHECK(check(options));
  IEZ_TRY(const unsigned threads, sim_threads(options.threads));
  IEZ_TRY(const ScenarioText source, open_scenario(options.scenario));
  IEZ_TRY(Plan plan, make_plan(options, source));
  // Whoever waits for hours should not learn then that a folder is missing.
  IEZ_TRY(auto csv, output(options.csv));
  IEZ_TRY(auto html, output(options.html));

  SimReport report{.file = source.file, .scenario = plan.scenarios.front(), .sweeps = plan.sweeps, .seeds = options.seeds};
  report.runs.reserve(plan.scenarios.size());
  std::vector<SeedTraces> traces;
  if (csv) IEZ_CHECK(csv->write(csv_title()));
  const TakeRun take = [&](std::size_t index, sim::RunResult result) -> Result<void> {
    if (csv) IEZ_CHECK(csv->write(csv_rows(index + 1, result.samples)));
    SimRun run{.set = plan.sets[index], .result = std::move(result)};
    if (const std::size_t combination = index / options.seeds; html && combination < kMostTraces) {
      if (combination == traces.size()) traces.emplace_back(trace_name(report, run));
      traces[combination].add(run.result.samples);
    }
    if (!options.samples) run.result.samples = {};
    report.runs.push_back(std::move(run));
    return {};
  };
  const bool rows_to_terminal = options.csv == kStandardStream && context.terminal.interactive;
  Progress progress(context.clock, rows_to_terminal ? Progress::Rows::to_terminal : Progress::Rows::elsewhere);
  IEZ_CHECK(simulate_all(plan.scenarios, threads, progress, take));
  if (html) IEZ_CHECK(html->write(report_page(report, finished(traces))));
  if (csv) IEZ_CHECK(csv->finish());
  if (html) IEZ_CHECK(html->finish());
  if (options.csv == kStandardStream || options.html == kStandardStream) return {};
  const bool plot = options.plot || (context.terminal.interactive && !options.no_plot);
  return print(options.json ? report_json(report, options.samples)
                            : report_text(report, !options.no_header, plot, context.terminal));
}

}  // namespace iez::cli
