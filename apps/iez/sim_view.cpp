#include "sim_view.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/text.hpp"
#include "plot.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

using sim::RunResult;

constexpr unsigned kBarWidth = 40;
constexpr std::size_t kMostNotes = 8;

std::string rate_text(BytesPerSecond rate) { return rate.value == 0 ? "unlimited" : to_string(rate); }

std::string law_text(const sim::CongestionLaw& law) {
  if (const auto* const fixed = std::get_if<sim::FixedCredits>(&law)) {
    return fmt::format("{} for each client and target, for ever", counted(fixed->credits, "credit"));
  }
  if (const auto* const rcc = std::get_if<congestion::RccParameters>(&law)) {
    return fmt::format("{} to {} credits, adapted to a latency of at most {}", rcc->rcc_min, rcc->rcc_max, to_string(rcc->l_max));
  }
  const auto& goal = std::get<congestion::LatencyGoal>(law);
  return fmt::format("credits in bursts, at most {}, {}", goal.most_credits,
                     goal.goal ? fmt::format("for a 99 % latency of {}", to_string(*goal.goal)) : "as short a queue as is cheap");
}

ordered_json law_json(const sim::CongestionLaw& law) {
  if (const auto* const fixed = std::get_if<sim::FixedCredits>(&law)) return {{"law", "fixed"}, {"credits", fixed->credits}};
  if (const auto* const rcc = std::get_if<congestion::RccParameters>(&law)) {
    return {{"law", "rcc"}, {"credits", rcc->rcc_max}, {"latency_s", to_seconds(rcc->l_max)}};
  }
  const auto& goal = std::get<congestion::LatencyGoal>(law);
  return {{"law", "goal"},
          {"credits", goal.most_credits},
          {"latency_s", goal.goal ? ordered_json(to_seconds(*goal.goal)) : ordered_json(nullptr)}};
}

std::string pattern_text(const sim::Job& job) {
  const sim::Pattern& pattern = job.pattern;
  std::string out =
      fmt::format("{} process{}, {} {} in pieces of {}, {}, {} of {}", job.processes, job.processes == 1 ? "" : "es",
                  pattern.access == sim::Access::write ? "write" : "read", to_string(total_bytes(job)),
                  to_binary_string(pattern.transfer), pattern.mode == sim::FileMode::shared ? "shared file" : "file per process",
                  counted(job.striping.count, "stripe"), to_binary_string(job.striping.size));
  if (pattern.files > 1) out += fmt::format(", {} one after the other", counted(pattern.files, "file"));
  if (job.collective.writers > 0) out += fmt::format(", through {}", counted(job.collective.writers, "writer"));
  return out;
}

std::string replay_text(const sim::Job& job) {
  Bytes written;
  Bytes read;
  std::uint32_t fewest = job.files.front().striping.count;
  std::uint32_t most = fewest;
  for (const sim::ReplayedFile& file : job.files) {
    written += file.written.bytes;
    read += file.read.bytes;
    fewest = std::min(fewest, file.striping.count);
    most = std::max(most, file.striping.count);
  }
  const std::string from = fewest < most ? fmt::format("{} to ", fewest) : "";
  return fmt::format("{} process{}, {} as recorded: write {}, read {}, {}{}", job.processes, job.processes == 1 ? "" : "es",
                     counted(job.files.size(), "file"), to_string(written), to_string(read), from, counted(most, "stripe"));
}

std::string job_text(const sim::Job& job) {
  std::string out = is_replay(job) ? replay_text(job) : pattern_text(job);
  if (job.start > Duration::zero()) out += fmt::format(", from {} on", to_string(job.start));
  if (job.start_spread > Duration::zero()) out += fmt::format(", started over {}", to_string(job.start_spread));
  return out;
}

bool several(const SimReport& report) { return report.runs.size() > 1; }

// Number, swept values and seed, where they differ between runs.
void add_key_columns(const SimReport& report, Grid& grid) {
  if (several(report)) grid.columns.push_back({"RUN"});
  for (const config::Sweep& sweep : report.sweeps) grid.columns.push_back({sweep.key});
  if (report.seeds > 1) grid.columns.push_back({"SEED"});
}

std::vector<std::string> key_cells(const SimReport& report, std::size_t run) {
  std::vector<std::string> cells;
  if (several(report)) cells.push_back(fmt::to_string(run + 1));
  for (const config::Override& one : report.runs[run].set) cells.push_back(one.value);
  if (report.seeds > 1) cells.push_back(fmt::to_string(report.runs[run].result.seed));
  return cells;
}

void add_columns(Grid& grid, std::initializer_list<std::string_view> titles) {
  for (const std::string_view title : titles) grid.columns.push_back({std::string(title)});
}

void append(std::vector<std::string>& cells, std::initializer_list<std::string> more) {
  cells.insert(cells.end(), more.begin(), more.end());
}

ordered_json latency_json(const sim::LatencyStats& latency) {
  return {{"count", latency.count}, {"mean_s", latency.mean}, {"deviation_s", latency.deviation},
          {"p50_s", latency.p50},   {"p99_s", latency.p99},   {"max_s", latency.max}};
}

ordered_json targets_json(const RunResult& run) {
  std::uint64_t requests = 0;
  std::uint64_t positionings = 0;
  std::uint64_t deepest = 0;
  Bytes bytes;
  for (const sim::TargetResult& target : run.targets) {
    requests += target.requests;
    positionings += target.positionings;
    deepest = std::max(deepest, target.deepest);
    bytes += target.bytes;
  }
  return {{"count", run.targets.size()},  {"bytes", bytes.count}, {"requests", requests},
          {"positionings", positionings}, {"deepest", deepest},   {"busy_mean", mean_busy(run)},
          {"busy_max", highest_busy(run)}};
}

ordered_json samples_json(std::span<const sim::Sample> samples) {
  ordered_json json = ordered_json::array();
  Duration before{};
  for (const sim::Sample& sample : samples) {
    json.push_back({{"time_s", to_seconds(sample.at)},
                    {"depth", sample.depth},
                    {"finished", sample.finished},
                    {"bytes", sample.bytes.count},
                    {"bandwidth", sample_bandwidth(sample, before)},
                    {"latency_s", sample.latency},
                    {"latency_max_s", sample.latency_max},
                    {"iops", sample.iops},
                    {"active_clients", sample.active_clients},
                    {"credits", sample.credits}});
    before = sample.at;
  }
  return json;
}

ordered_json set_json(std::span<const config::Override> set) {
  ordered_json json = ordered_json::array();
  for (const config::Override& one : set) json.push_back({{"key", one.key}, {"value", one.value}});
  return json;
}

ordered_json run_json(const SimRun& run, std::size_t number, bool samples) {
  const RunResult& result = run.result;
  ordered_json json{{"run", number},
                    {"set", set_json(run.set)},
                    {"seed", result.seed},
                    {"time_s", to_seconds(result.end)},
                    {"bytes", result.bytes.count},
                    {"bandwidth", result.bandwidth.value},
                    {"latency", latency_json(result.latency)},
                    {"requests", result.requests},
                    {"timeouts", result.timeouts},
                    {"useless", result.useless},
                    {"deepest", result.deepest},
                    {"events", result.events},
                    {"stable", nullptr},
                    {"jobs", ordered_json::array()},
                    {"targets", targets_json(result)}};
  if (result.stable) {
    json["stable"] = {{"from_s", to_seconds(result.stable->from)},
                      {"to_s", to_seconds(result.stable->to)},
                      {"bandwidth", result.stable->bandwidth.value},
                      {"latency", latency_json(result.stable->latency)}};
  }
  for (const sim::JobResult& job : result.jobs) {
    json["jobs"].push_back({{"name", job.name},
                            {"bytes", job.bytes.count},
                            {"started_s", to_seconds(job.started)},
                            {"finished_s", job.finished ? ordered_json(to_seconds(*job.finished)) : ordered_json(nullptr)},
                            {"bandwidth", job.bandwidth.value},
                            {"latency", latency_json(job.latency)},
                            {"refused_files", job.refused_files}});
    if (job.replayed_files > 0) {
      json["jobs"].back()["replayed_files"] = job.replayed_files;
      json["jobs"].back()["read_bytes"] = job.read.count;
    }
  }
  if (samples) json["samples"] = samples_json(result.samples);
  return json;
}

// The runs of one combination: they stand side by side.
std::span<const SimRun> point_runs(const SimReport& report, std::size_t point) {
  return std::span(report.runs).subspan(point * report.seeds, report.seeds);
}

std::optional<Spread> figure_spread(std::span<const SimRun> runs, const Figure& figure) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const SimRun& run : runs) {
    if (const auto value = figure.of(run.result)) values.push_back(*value);
  }
  return values.empty() ? std::nullopt : std::optional(spread_of(values));
}

ordered_json points_json(const SimReport& report) {
  ordered_json json = ordered_json::array();
  for (std::size_t point = 0; point < report.runs.size() / report.seeds; ++point) {
    const auto runs = point_runs(report, point);
    ordered_json figures = ordered_json::array();
    for (const Figure& figure : run_figures()) {
      const auto spread = figure_spread(runs, figure);
      figures.push_back({{"figure", figure.key},
                         {"unit", unit_name(figure.unit)},
                         {"mean", spread ? ordered_json(spread->mean) : ordered_json(nullptr)},
                         {"band", spread ? or_null(spread->band) : ordered_json(nullptr)}});
    }
    json.push_back({{"set", set_json(runs.front().set)}, {"figures", std::move(figures)}});
  }
  return json;
}

std::string bandwidth_bars(const SimReport& report, const Terminal& terminal) {
  std::vector<Bar> bars;
  for (std::size_t point = 0; point < report.runs.size() / report.seeds; ++point) {
    const auto runs = point_runs(report, point);
    const auto spread = figure_spread(runs, run_figures().front());
    if (!spread) continue;
    bars.push_back({.label = set_text(runs.front().set), .value = spread->mean, .note = to_string(BytesPerSecond{spread->mean})});
  }
  return bar_chart(bars, kBarWidth, terminal);
}

}  // namespace

std::string to_text(const Grid& grid, bool header, const Terminal& terminal) {
  std::vector<Table::Column> columns;
  columns.reserve(grid.columns.size());
  for (const Grid::Column& column : grid.columns) columns.push_back({column.title, column.right ? Align::right : Align::left});
  Table table(std::move(columns));
  for (const auto& row : grid.rows) {
    std::vector<Cell> cells;
    cells.reserve(row.size());
    for (const std::string& text : row) cells.push_back({text});
    table.add(std::move(cells));
  }
  return table.render(terminal, header);
}

std::string set_text(std::span<const config::Override> set) {
  std::string out;
  for (const config::Override& one : set) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{}={}", one.key, one.value);
  }
  return out;
}

Grid run_grid(const SimReport& report) {
  Grid grid;
  add_key_columns(report, grid);
  add_columns(grid, {"BANDWIDTH", "TIME", "LATENCY", "P99", "MAX", "DEEPEST", "TIME-OUTS", "BUSY", "SEEKS"});
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const RunResult& result = report.runs[i].result;
    auto cells = key_cells(report, i);
    append(cells, {to_string(result.bandwidth), seconds_text(to_seconds(result.end)), seconds_text(result.latency.mean),
                   seconds_text(result.latency.p99), seconds_text(result.latency.max), fmt::to_string(result.deepest),
                   fmt::to_string(result.timeouts), percent(mean_busy(result)), percent(seek_share(result))});
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

Grid spread_grid(const SimReport& report) {
  Grid grid;
  for (const config::Sweep& sweep : report.sweeps) grid.columns.push_back({sweep.key});
  add_columns(grid, {"SEEDS", "BANDWIDTH", "TIME", "LATENCY", "P99"});
  constexpr std::size_t kShown = 4;  // of the figures, the first
  for (std::size_t point = 0; point < report.runs.size() / report.seeds; ++point) {
    const auto runs = point_runs(report, point);
    std::vector<std::string> cells;
    for (const config::Override& one : runs.front().set) cells.push_back(one.value);
    cells.push_back(fmt::to_string(report.seeds));
    for (const Figure& figure : run_figures().first(kShown)) {
      const auto spread = figure_spread(runs, figure);
      cells.push_back(spread ? spread_text(figure.unit, *spread) : "-");
    }
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

Grid job_grid(const SimReport& report) {
  Grid grid;
  add_key_columns(report, grid);
  grid.columns.push_back({"JOB", false});
  add_columns(grid, {"BYTES", "STARTED", "FINISHED", "BANDWIDTH", "LATENCY", "P99", "MAX"});
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    for (const sim::JobResult& job : report.runs[i].result.jobs) {
      auto cells = key_cells(report, i);
      append(cells, {job.name, to_string(job.bytes), seconds_text(to_seconds(job.started)),
                     job.finished ? seconds_text(to_seconds(*job.finished)) : "-", to_string(job.bandwidth),
                     seconds_text(job.latency.mean), seconds_text(job.latency.p99), seconds_text(job.latency.max)});
      grid.rows.push_back(std::move(cells));
    }
  }
  return grid;
}

Grid stable_grid(const SimReport& report) {
  Grid grid;
  add_key_columns(report, grid);
  add_columns(grid, {"FROM", "TO", "BANDWIDTH", "LATENCY", "DEVIATION", "P99", "MAX"});
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const auto& stable = report.runs[i].result.stable;
    if (!stable) continue;
    auto cells = key_cells(report, i);
    append(cells, {seconds_text(to_seconds(stable->from)), seconds_text(to_seconds(stable->to)), to_string(stable->bandwidth),
                   seconds_text(stable->latency.mean), seconds_text(stable->latency.deviation), seconds_text(stable->latency.p99),
                   seconds_text(stable->latency.max)});
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

std::vector<std::pair<std::string, std::string>> scenario_facts(const sim::Scenario& scenario) {
  const sim::Machine& machine = scenario.machine;
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("machine", fmt::format("{}: {}, {}, {}", machine.name, counted(machine.nodes, "node"),
                                            counted(server_count(machine), "server"), counted(target_count(machine), "target")));
  for (const sim::ServerGroup& group : machine.servers) {
    facts.emplace_back("server", fmt::format("{} with {} and {} each; a target writes {}, positioning takes {}", group.count,
                                             counted(group.targets, "target"), counted(group.server.threads, "thread"),
                                             rate_text(group.target.write_rate), to_string(group.target.positioning)));
  }
  for (const sim::Job& job : scenario.jobs) facts.emplace_back(fmt::format("job {}", job.name), job_text(job));
  facts.emplace_back("congestion", law_text(scenario.congestion));
  facts.emplace_back("placement", scenario.placement);
  if (machine.timeout) facts.emplace_back("time-out", to_string(*machine.timeout));
  for (const sim::Incident& incident : scenario.incidents) {
    facts.emplace_back(
        "incident", fmt::format("{} {} at {}: speed x {}", incident.where == sim::Incident::Where::target ? "target" : "server",
                                incident.index, to_string(incident.at), incident.speed));
  }
  if (scenario.background.requests_per_second > 0) {
    facts.emplace_back("background",
                       fmt::format("{} requests of {} a second on each target", scenario.background.requests_per_second,
                                   to_binary_string(scenario.background.size)));
  }
  if (scenario.until) facts.emplace_back("until", to_string(*scenario.until));
  facts.emplace_back("seed", fmt::to_string(scenario.seed));
  return facts;
}

std::vector<std::string> run_notes(const SimReport& report) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const RunResult& result = report.runs[i].result;
    const std::string run = several(report) ? fmt::format("run {}: ", i + 1) : "";
    for (const sim::JobResult& job : result.jobs) {
      if (!job.finished) notes.push_back(fmt::format("{}job {} was not done after {}", run, job.name, to_string(result.end)));
      if (job.refused_files > 0) {
        notes.push_back(fmt::format("{}job {}: no space for {}", run, job.name, counted(job.refused_files, "file")));
      }
    }
    if (result.useless > 0) {
      notes.push_back(fmt::format(
          "{}{} of the requests served were for clients that had given up", run,
          percent(static_cast<double>(result.useless) / static_cast<double>(std::max<std::uint64_t>(1, result.requests)))));
    }
  }
  if (notes.size() > kMostNotes) {
    const std::size_t more = notes.size() - kMostNotes;
    notes.resize(kMostNotes);
    notes.push_back(fmt::format("... and {} more of this kind", more));
  }
  return notes;
}

std::string report_text(const SimReport& report, bool header, bool plot, const Terminal& terminal) {
  if (!header) return to_text(run_grid(report), false, terminal);
  const sim::Scenario& scenario = report.scenario;
  Bytes bytes;
  for (const sim::Job& job : scenario.jobs) bytes += total_bytes(job);
  std::string out =
      fmt::format("{} on {} ({}, {}): {}, {}\n\n", text::printable(scenario.name), text::printable(scenario.machine.name),
                  counted(scenario.machine.nodes, "node"), counted(target_count(scenario.machine), "target"),
                  counted(scenario.jobs.size(), "job"), to_string(bytes));
  out += to_text(run_grid(report), true, terminal);
  if (report.seeds > 1) {
    out += "\nMeans, and where the true ones are with a probability of 95 %:\n" + to_text(spread_grid(report), true, terminal);
  }
  if (std::ranges::any_of(report.runs, [](const SimRun& run) { return run.result.jobs.size() > 1; })) {
    out += "\nJobs:\n" + to_text(job_grid(report), true, terminal);
  }
  if (const Grid stable = stable_grid(report); !stable.rows.empty()) {
    out += "\nWhile all processes were at work:\n" + to_text(stable, true, terminal);
  }
  const auto notes = run_notes(report);
  if (!notes.empty()) out += '\n';
  for (const std::string& note : notes) out += fmt::format("note: {}\n", text::printable(note));
  if (plot && !report.sweeps.empty()) out += "\nBandwidth:\n" + bandwidth_bars(report, terminal);
  return out;
}

ordered_json scenario_json(const std::string& file, const sim::Scenario& scenario) {
  return {{"file", file},
          {"name", scenario.name},
          {"machine",
           {{"name", scenario.machine.name},
            {"nodes", scenario.machine.nodes},
            {"servers", server_count(scenario.machine)},
            {"targets", target_count(scenario.machine)}}},
          {"congestion", law_json(scenario.congestion)},
          {"placement", scenario.placement},
          {"timeout_s", scenario.machine.timeout ? ordered_json(to_seconds(*scenario.machine.timeout)) : ordered_json(nullptr)},
          {"interval_s", to_seconds(scenario.interval)}};
}

std::string report_json(const SimReport& report, bool samples) {
  ordered_json json{{"scenario", scenario_json(report.file, report.scenario)},
                    {"sweeps", ordered_json::array()},
                    {"seeds", report.seeds},
                    {"points", points_json(report)},
                    {"runs", ordered_json::array()}};
  for (const config::Sweep& sweep : report.sweeps) json["sweeps"].push_back({{"key", sweep.key}, {"values", sweep.values}});
  for (std::size_t i = 0; i < report.runs.size(); ++i) json["runs"].push_back(run_json(report.runs[i], i + 1, samples));
  return to_line(json);
}

std::string csv_title() {
  return "run,time_s,depth,requests,bytes,bandwidth,latency_s,latency_max_s,iops,active_clients,credits\n";
}

std::string csv_rows(std::size_t run, std::span<const sim::Sample> samples) {
  std::string out;
  Duration before{};
  for (const sim::Sample& sample : samples) {
    fmt::format_to(std::back_inserter(out), "{},{:.10g},{},{},{},{:.10g},{:.10g},{:.10g},{:.10g},{},{:.10g}\n", run,
                   to_seconds(sample.at), sample.depth, sample.finished, sample.bytes.count, sample_bandwidth(sample, before),
                   sample.latency, sample.latency_max, sample.iops, sample.active_clients, sample.credits);
    before = sample.at;
  }
  return out;
}

double sample_bandwidth(const sim::Sample& sample, Duration before) { return rate_of(sample.bytes, sample.at - before).value; }

}  // namespace iez::cli
