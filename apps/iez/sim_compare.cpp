#include "sim_compare.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sim_input.hpp"
#include "sim_page.hpp"
#include "sim_pool.hpp"
#include "sim_run.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::uint64_t kMaxSeeds = 5'000;

template <typename Of>
std::optional<Spread> spread_over(const SimReport& report, Of of) {
  std::vector<double> values;
  values.reserve(report.runs.size());
  for (const SimRun& run : report.runs) {
    if (const std::optional<double> value = of(run.result)) values.push_back(*value);
  }
  return values.empty() ? std::nullopt : std::optional(spread_of(values));
}

const sim::JobResult* job_named(const sim::RunResult& run, std::string_view name) {
  const auto found = std::ranges::find(run.jobs, name, &sim::JobResult::name);
  return found == run.jobs.end() ? nullptr : &*found;
}

std::optional<double> job_bandwidth(const sim::JobResult& job) { return job.bandwidth.value; }
std::optional<double> job_latency(const sim::JobResult& job) { return job.latency.p99; }
std::optional<double> job_time(const sim::JobResult& job) {
  return job.finished ? std::optional(to_seconds(*job.finished - job.started)) : std::nullopt;
}

struct JobFigure {
  std::string_view name;
  std::string_view key;
  FigureUnit unit;
  std::optional<double> (*of)(const sim::JobResult&);
};

constexpr std::array<JobFigure, 3> kJobFigures{{{"bandwidth", "bandwidth", FigureUnit::rate, job_bandwidth},
                                                {"time", "time", FigureUnit::seconds, job_time},
                                                {"latency, 99 %", "latency_p99", FigureUnit::seconds, job_latency}}};

void compare_jobs(const SimReport& a, const SimReport& b, std::vector<Compared>& out) {
  const auto& jobs = a.scenario.jobs;
  if (jobs.size() < 2 && b.scenario.jobs.size() < 2) return;  // the run is the job
  std::vector<std::string_view> seen;
  for (const sim::Job& job : jobs) {
    const std::string& name = job.name;
    const bool both = std::ranges::find(b.scenario.jobs, name, &sim::Job::name) != b.scenario.jobs.end();
    if (!both || std::ranges::find(seen, name) != seen.end()) continue;
    seen.push_back(name);
    for (const JobFigure& figure : kJobFigures) {
      const auto of = [&name, &figure](const sim::RunResult& run) {
        const sim::JobResult* const found = job_named(run, name);
        return found == nullptr ? std::nullopt : figure.of(*found);
      };
      out.push_back({.name = fmt::format("job {}: {}", name, figure.name),
                     .key = std::string(figure.key),
                     .job = name,
                     .unit = figure.unit,
                     .a = spread_over(a, of),
                     .b = spread_over(b, of)});
    }
  }
}

ordered_json spread_json(const std::optional<Spread>& spread) {
  return {{"mean", spread ? ordered_json(spread->mean) : ordered_json(nullptr)},
          {"band", spread ? or_null(spread->band) : ordered_json(nullptr)}};
}

std::string to_json(const SimReport& a, const SimReport& b, const std::vector<Compared>& figures) {
  ordered_json json{{"a", scenario_json(a.file, a.scenario)},
                    {"b", scenario_json(b.file, b.scenario)},
                    {"seeds", a.seeds},
                    {"figures", ordered_json::array()}};
  for (const Compared& figure : figures) {
    json["figures"].push_back({{"figure", figure.key},
                               {"job", figure.job.empty() ? ordered_json(nullptr) : ordered_json(figure.job)},
                               {"unit", unit_name(figure.unit)},
                               {"a", spread_json(figure.a)},
                               {"b", spread_json(figure.b)},
                               {"change", or_null(change_of(figure))}});
  }
  return to_line(json);
}

std::string to_text(const SimReport& a, const SimReport& b, const std::vector<Compared>& figures, bool header,
                    const Terminal& terminal) {
  std::string out;
  if (header) {
    out = fmt::format("A: {}\nB: {}\n", text::printable(a.scenario.name), text::printable(b.scenario.name));
    if (a.seeds > 1) {
      out += fmt::format("Means of {} each, and where the true ones are with a probability of 95 %\n", counted(a.seeds, "run"));
    }
    out += '\n';
  }
  out += cli::to_text(compare_grid(figures), header, terminal);
  if (!header) return out;
  const auto notes_a = run_notes(a);
  const auto notes_b = run_notes(b);
  if (!notes_a.empty() || !notes_b.empty()) out += '\n';
  for (const std::string& note : notes_a) out += fmt::format("note on A: {}\n", text::printable(note));
  for (const std::string& note : notes_b) out += fmt::format("note on B: {}\n", text::printable(note));
  return out;
}

Result<void> check(const SimCompareOptions& options) {
  if (options.seeds == 0 || options.seeds > kMaxSeeds) {
    return fail(Errc::invalid_argument, fmt::format("--seeds: found {}, expected 1 to {}", options.seeds, kMaxSeeds));
  }
  if (options.json && options.html == kStandardStream) {
    return fail(Errc::invalid_argument, "of --json and --html - only one can have standard output");
  }
  if (options.a == kStandardStream && options.b == kStandardStream) {
    return fail(Errc::invalid_argument, "'-' is given twice: standard input can be read once");
  }
  return {};
}

}  // namespace

std::vector<Compared> compare_runs(const SimReport& a, const SimReport& b) {
  std::vector<Compared> figures;
  for (const Figure& figure : run_figures()) {
    Compared one{.name = std::string(figure.name), .key = std::string(figure.key), .unit = figure.unit};
    one.a = spread_over(a, figure.of);
    one.b = spread_over(b, figure.of);
    if (one.a || one.b) figures.push_back(std::move(one));
  }
  compare_jobs(a, b, figures);
  return figures;
}

std::optional<double> change_of(const Compared& figure) {
  if (!figure.a || !figure.b) return std::nullopt;
  if (figure.a->mean == figure.b->mean) return 0;
  if (figure.a->mean == 0) return std::nullopt;
  return (figure.b->mean - figure.a->mean) / figure.a->mean;
}

Grid compare_grid(const std::vector<Compared>& figures) {
  Grid grid{.columns = {{"FIGURE", false}, {"A"}, {"B"}, {"CHANGE"}}};
  for (const Compared& figure : figures) {
    const auto cell = [&figure](const std::optional<Spread>& spread) { return spread ? spread_text(figure.unit, *spread) : "-"; };
    const auto change = change_of(figure);
    grid.rows.push_back({figure.name, cell(figure.a), cell(figure.b), change ? fmt::format("{:+.1f} %", 100 * *change) : "-"});
  }
  return grid;
}

Result<void> run_sim_compare(const SimCompareOptions& options, Context& context) {
  IEZ_CHECK(check(options));
  IEZ_TRY(const unsigned threads, sim_threads(options.threads));
  IEZ_TRY(const auto overrides, parse_overrides(options.set));
  std::vector<SimReport> reports;
  std::vector<sim::Scenario> scenarios;
  for (const std::string& given : {options.a, options.b}) {
    IEZ_TRY(const ScenarioText source, open_scenario(given));
    IEZ_TRY(sim::Scenario scenario, read_scenario(source, overrides));
    reports.push_back({.file = source.file, .scenario = scenario, .seeds = options.seeds});
    for (std::uint64_t seed = 0; seed < options.seeds; ++seed) {
      scenarios.push_back(scenario);
      ++scenario.seed;
    }
  }
  std::optional<TextOutput> html;
  if (!options.html.empty()) {
    IEZ_TRY(TextOutput created, TextOutput::create(options.html));
    html.emplace(std::move(created));
  }
  std::vector<SeedTraces> traces;
  const TakeRun take = [&](std::size_t index, sim::RunResult result) -> Result<void> {
    SimReport& report = reports[index < options.seeds ? 0 : 1];
    if (html) {
      const std::string_view letter = index < options.seeds ? "A" : "B";
      if (report.runs.empty()) traces.emplace_back(fmt::format("{}: {}", letter, report.scenario.name));
      traces.back().add(result.samples);
    }
    result.samples = {};
    report.runs.push_back({.result = std::move(result)});
    return {};
  };
  Progress progress(context.clock);
  IEZ_CHECK(simulate_all(scenarios, threads, progress, take));
  const auto figures = compare_runs(reports[0], reports[1]);
  if (html) {
    IEZ_CHECK(html->write(compare_page(reports[0], reports[1], figures, finished(traces))));
    IEZ_CHECK(html->finish());
    if (options.html == kStandardStream) return {};
  }
  return print(options.json ? to_json(reports[0], reports[1], figures)
                            : to_text(reports[0], reports[1], figures, !options.no_header, context.terminal));
}

}  // namespace iez::cli
