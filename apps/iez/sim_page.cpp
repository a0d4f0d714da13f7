#include "sim_page.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "markup.hpp"
#include "page.hpp"
#include "svg_chart.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

constexpr std::string_view kCommand = "iez sim";
constexpr std::string_view kLatency = "Latency is the time of a request at its server, from arrival to the reply.";
constexpr std::size_t kMostPoints = 800;  // of a line: more than there are pixels
constexpr std::size_t kMostRows = 500;    // of a table

struct SeriesText {
  std::string_view title;
  FigureUnit unit = FigureUnit::count;
  double (*of)(const sim::Sample& sample, Duration before) = nullptr;
};

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<SeriesText, RunTrace::kSeries> kSeries{{
    {"Requests queued or in service", FigureUnit::count,
     [](const sim::Sample& sample, Duration) { return static_cast<double>(sample.depth); }},
    {"Latency at the server, mean of each interval", FigureUnit::seconds,
     [](const sim::Sample& sample, Duration) { return sample.finished > 0 ? sample.latency : kNothing; }},
    {"Bandwidth", FigureUnit::rate, [](const sim::Sample& sample, Duration before) { return sample_bandwidth(sample, before); }},
    {"Requests served per second, as the policy measures them", FigureUnit::count,
     [](const sim::Sample& sample, Duration) { return sample.iops; }},
    {"Active clients C, as the policy counts them (busiest target)", FigureUnit::count,
     [](const sim::Sample& sample, Duration) { return static_cast<double>(sample.active_clients); }},
    {"Credits of a client, last given (mean over targets)", FigureUnit::count,
     [](const sim::Sample& sample, Duration) { return sample.credits; }},
}};

struct AxisUnit {
  double size = 1;
  std::string_view name;
};

// The largest unit that the largest value fills.
AxisUnit axis_unit(FigureUnit unit, double largest) {
  constexpr std::array<AxisUnit, 5> kRates{{{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}};
  constexpr std::array<AxisUnit, 3> kTimes{{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}};
  if (unit != FigureUnit::rate && unit != FigureUnit::seconds) return {};
  const std::span<const AxisUnit> units = unit == FigureUnit::rate ? std::span<const AxisUnit>(kRates) : kTimes;
  for (const AxisUnit& one : units) {
    if (largest >= one.size) return one;
  }
  return units.back();
}

// Values are bytes per second, seconds, or plain numbers before, and in the unit that the title tells then.
std::string drawn_in_its_unit(LineChart chart, FigureUnit unit) {
  double largest = 0;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      for (const double value : {point.y, point.high}) largest = std::isfinite(value) ? std::max(largest, value) : largest;
    }
    for (const ChartRange& range : line.band) largest = std::isfinite(range.high) ? std::max(largest, range.high) : largest;
  }
  const AxisUnit axis = axis_unit(unit, largest);
  if (!axis.name.empty()) chart.title += fmt::format(" ({})", axis.name);
  for (ChartLine& line : chart.lines) {
    for (ChartPoint& point : line.points) {
      for (double* const value : {&point.y, &point.low, &point.high}) *value /= axis.size;
    }
    for (ChartRange& range : line.band) {
      for (double* const value : {&range.low, &range.high}) *value /= axis.size;
    }
  }
  return to_svg(chart);
}

std::string html_table(const Grid& grid) {
  std::string out = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const Grid::Column& column : grid.columns) {
    out += fmt::format("<th{}>{}</th>", column.right ? " class=\"right\"" : "", markup_escaped(column.title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : std::span(grid.rows).first(std::min(kMostRows, grid.rows.size()))) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += fmt::format("<td{}>{}</td>", grid.columns[i].right ? " class=\"right\"" : "", markup_escaped(typeset(row[i])));
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table></div>\n";
  if (grid.rows.size() > kMostRows)
    out += fmt::format("<p class=\"quiet\">... and {} more rows</p>\n", grid.rows.size() - kMostRows);
  return out;
}

// Many rows are there for who asks for them.
std::string table_of_runs(const Grid& grid) {
  constexpr std::size_t kMostOpen = 12;
  if (grid.rows.size() <= kMostOpen) return html_table(grid);
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", counted(grid.rows.size(), "row"), html_table(grid));
}

std::string facts_table(const sim::Scenario& scenario) {
  constexpr std::size_t kMostFacts = 40;
  const auto facts = scenario_facts(scenario);
  std::string out = "<div class=\"wide\"><table class=\"facts\">\n<tbody>\n";
  for (const auto& [what, how] : std::span(facts).first(std::min(kMostFacts, facts.size()))) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", markup_escaped(what), markup_escaped(typeset(how)));
  }
  out += "</tbody>\n</table></div>\n";
  if (facts.size() > kMostFacts) out += fmt::format("<p class=\"quiet\">... and {} more</p>\n", facts.size() - kMostFacts);
  return out;
}

std::string notes_text(const SimReport& report) {
  std::string out;
  for (const std::string& note : run_notes(report))
    out += fmt::format("<p class=\"note\">{}</p>\n", markup_escaped(typeset(note)));
  return out;
}

// compared: the first is what the second is compared with, and has its colour.
std::string time_charts(std::span<const RunTrace> traces, bool compared) {
  const std::uint64_t seeds = traces.empty() ? 0 : traces.front().seeds;
  std::string out;
  if (seeds > 1) {
    out += fmt::format(
        "<p class=\"quiet\">Lines are runs with the first seed. What is shaded lies between the lowest and the highest of all {} "
        "seeds.</p>\n",
        seeds);
  }
  out += "<div class=\"charts\">\n";
  for (std::size_t i = 0; i < kSeries.size(); ++i) {
    LineChart chart{.title = std::string(kSeries[i].title),
                    .x_axis = "simulated time (s)",
                    .band_name = fmt::format("{} seeds, lowest to highest", seeds)};
    for (const RunTrace& trace : traces) {
      chart.lines.push_back({.name = trace.name, .points = trace.series[i], .band = trace.bands[i]});
      if (compared) chart.lines.back().colour = chart.lines.size() == 1 ? kChartGrey : chart.lines.size() - 2;
    }
    out += drawn_in_its_unit(std::move(chart), kSeries[i].unit);
  }
  return out + "</div>\n";
}

std::string cards(const SimReport& report) {
  constexpr std::size_t kShown = 4;  // of the figures, the first
  std::string out = "<div class=\"cards\">\n";
  for (const Figure& figure : run_figures().first(kShown)) {
    std::vector<double> values;
    for (const SimRun& run : report.runs) {
      if (const auto value = figure.of(run.result)) values.push_back(*value);
    }
    if (values.empty()) continue;
    const Spread spread = spread_of(values);
    const std::string band = spread.band ? ", ± " + typeset(figure_text(figure.unit, *spread.band)) : "";
    out += page_card(typeset(figure_text(figure.unit, spread.mean)), std::string(figure.name) + band);
  }
  return out + "</div>\n";
}

// How far B is from A, figure by figure: both in parts of A's mean.
std::string compare_chart(const SimReport& a, const SimReport& b, const std::vector<Compared>& figures) {
  constexpr std::array<std::string_view, 6> kKeys{"bandwidth", "time", "latency_mean", "latency_p99", "latency_max", "deepest"};
  SvgChart chart{.title = "A and B, in parts of A's mean",
                 .subtitle = a.seeds > 1 ? "Whiskers: where the true mean is with a probability of 95 %" : "One run of each",
                 .axis = "of A's mean",
                 .series = {{.name = "A: " + a.scenario.name}, {.name = "B: " + b.scenario.name}}};
  for (const Compared& figure : figures) {
    if (!figure.job.empty() || std::ranges::find(kKeys, figure.key) == kKeys.end()) continue;
    if (!figure.a || !figure.b || figure.a->mean <= 0) continue;
    const double whole = figure.a->mean;
    const auto bar = [whole](const Spread& spread) {
      const double band = spread.band.value_or(0);
      return SvgBar{
          .value = spread.mean / whole, .low = std::max(0.0, spread.mean - band) / whole, .high = (spread.mean + band) / whole};
    };
    chart.categories.push_back(figure.name);
    chart.series[0].bars.emplace_back(bar(*figure.a));
    chart.series[1].bars.emplace_back(bar(*figure.b));
  }
  return chart.categories.empty() ? "" : "<div class=\"charts alone\">\n" + to_svg(chart, SvgUse::page) + "</div>\n";
}

// x: the values of the last sweep. A line for each combination of the others, or for each of the figures of one.
class SweepCharts {
 public:
  explicit SweepCharts(const SimReport& report) : report_(report), last_(report.sweeps.back()) {
    const std::size_t points = report.runs.size() / report.seeds;
    groups_ = points / last_.values.size();
  }

  std::string draw() const {
    std::string out = "<div class=\"charts\">\n";
    out += chart("Bandwidth", FigureUnit::rate, {{"", "bandwidth"}});
    if (groups_ == 1) {
      out += chart("Latency at the server", FigureUnit::seconds,
                   {{"mean", "latency_mean"}, {"99 %", "latency_p99"}, {"longest", "latency_max"}});
    } else {
      out += chart("Latency at the server, 99 %", FigureUnit::seconds, {{"", "latency_p99"}});
    }
    return out + "</div>\n";
  }

 private:
  struct Part {
    std::string_view name;
    std::string_view figure;
  };

  std::string chart(std::string_view title, FigureUnit unit, std::initializer_list<Part> parts) const {
    LineChart drawn{.title = std::string(title),
                    .x_axis = last_.key,
                    .categories = last_.values,
                    .marks = true,
                    .whisker_name = "where the true mean is, 95 %"};
    for (std::size_t group = 0; group < std::min(groups_, kMostTraces); ++group) {
      const auto& set = report_.runs[group * last_.values.size() * report_.seeds].set;
      const std::string others = set_text(std::span(set).first(set.size() - 1));
      for (const Part& part : parts) {
        drawn.lines.push_back(
            {.name = part.name.empty() ? others : std::string(part.name), .points = points(group, part.figure)});
      }
    }
    return drawn_in_its_unit(std::move(drawn), unit);
  }

  std::vector<ChartPoint> points(std::size_t group, std::string_view key) const {
    const auto figure = std::ranges::find(run_figures(), key, &Figure::key);
    std::vector<ChartPoint> made;
    made.reserve(last_.values.size());
    for (std::size_t i = 0; i < last_.values.size(); ++i) {
      std::vector<double> values;
      for (std::size_t seed = 0; seed < report_.seeds; ++seed) {
        const SimRun& run = report_.runs[(group * last_.values.size() + i) * report_.seeds + seed];
        values.push_back(figure->of(run.result).value_or(0));
      }
      const Spread spread = spread_of(values);
      const double band = spread.band.value_or(0);
      made.push_back(
          {.x = static_cast<double>(i), .y = spread.mean, .low = std::max(0.0, spread.mean - band), .high = spread.mean + band});
    }
    return made;
  }

  const SimReport& report_;
  const config::Sweep& last_;
  std::size_t groups_ = 1;
};

}  // namespace

void SeedTraces::add(std::span<const sim::Sample> samples) {
  std::vector<Moment> merged;
  merged.reserve(std::max(moments_.size(), samples.size()));
  auto known = moments_.begin();
  Duration before{};
  for (const sim::Sample& sample : samples) {
    while (known != moments_.end() && known->at < sample.at) merged.push_back(*known++);
    Moment moment{.at = sample.at};
    if (known != moments_.end() && known->at == sample.at) moment = *known++;
    ++moment.runs;
    for (std::size_t i = 0; i < kSeries.size(); ++i) {
      const double value = kSeries[i].of(sample, before);
      if (seeds_ == 0) first_[i].push_back({.x = to_seconds(sample.at), .y = value});
      if (!std::isfinite(value)) continue;
      const bool first = moment.values[i]++ == 0;
      moment.low[i] = first ? value : std::min(moment.low[i], value);
      moment.high[i] = first ? value : std::max(moment.high[i], value);
    }
    merged.push_back(moment);
    before = sample.at;
  }
  merged.insert(merged.end(), known, moments_.end());
  moments_ = std::move(merged);
  ++seeds_;
}

RunTrace SeedTraces::trace() const {
  RunTrace trace{.name = name_, .seeds = seeds_};
  for (std::size_t i = 0; i < kSeries.size(); ++i) {
    trace.series[i] = thinned(first_[i], kMostPoints);
    if (seeds_ < 2) continue;
    std::vector<ChartRange> band;
    for (const Moment& moment : moments_) {
      if (moment.runs < 2) continue;  // the end of one
      const bool known = moment.values[i] > 1;
      band.push_back(
          {.x = to_seconds(moment.at), .low = known ? moment.low[i] : kNothing, .high = known ? moment.high[i] : kNothing});
    }
    trace.bands[i] = thinned_band(band, kMostPoints);
  }
  return trace;
}

std::vector<RunTrace> finished(std::span<const SeedTraces> traces) {
  std::vector<RunTrace> made;
  made.reserve(traces.size());
  for (const SeedTraces& one : traces) made.push_back(one.trace());
  return made;
}

std::string report_page(const SimReport& report, std::span<const RunTrace> traces) {
  const bool many = report.runs.size() > 1;
  std::string body = page_head({.command = kCommand,
                                .title = report.scenario.name,
                                .about = fmt::format("{}: {}", report.file, counted(report.runs.size(), "run"))});
  body += notes_text(report);
  if (report.sweeps.empty()) {
    body += cards(report);
    if (many) body += "<p class=\"quiet\">Means, and where the true ones are with a probability of 95 %.</p>\n";
  } else {
    body += fmt::format("<h2>Against {}</h2>\n", markup_escaped(report.sweeps.back().key)) + SweepCharts(report).draw();
    if (report.seeds > 1) {
      body += "<h2>Means, and where the true ones are with a probability of 95 %</h2>\n" + html_table(spread_grid(report));
    }
  }
  if (!traces.empty()) {
    body += "<h2>Over time</h2>\n";
    const std::size_t points = report.runs.size() / report.seeds;
    if (traces.size() < points) body += fmt::format("<p class=\"quiet\">The first {} of {}.</p>\n", traces.size(), points);
    body += time_charts(traces, false);
  }
  body += fmt::format("<h2>{}</h2>\n", many ? "Each run" : "The run") + table_of_runs(run_grid(report));
  if (const Grid stable = stable_grid(report); !stable.rows.empty()) {
    body += "<h2>While all processes were at work</h2>\n" + table_of_runs(stable);
  }
  if (std::ranges::any_of(report.runs, [](const SimRun& run) { return run.result.jobs.size() > 1; })) {
    body += "<h2>Jobs</h2>\n" + table_of_runs(job_grid(report));
  }
  body +=
      fmt::format("<h2>{}</h2>\n", many ? "What was simulated (first run)" : "What was simulated") + facts_table(report.scenario);
  return body + page_foot(kCommand, kLatency);
}

std::string compare_page(const SimReport& a, const SimReport& b, const std::vector<Compared>& figures,
                         std::span<const RunTrace> traces) {
  std::string body =
      page_head({.command = kCommand,
                 .title = fmt::format("{} and {}", a.scenario.name, b.scenario.name),
                 .about = fmt::format("A is {}, B is {}; {} each.", a.file, b.file, counted(a.runs.size(), "run"))});
  body += notes_text(a) + notes_text(b);
  body += "<h2>Figures</h2>\n" + compare_chart(a, b, figures);
  if (a.seeds > 1) {
    body += fmt::format("<p class=\"quiet\">Means of {} each, and where the true ones are with a probability of 95 %.</p>\n",
                        counted(a.runs.size(), "run"));
  }
  body += html_table(compare_grid(figures));
  if (!traces.empty()) body += "<h2>Over time</h2>\n" + time_charts(traces, true);
  body += "<h2>What was simulated: A</h2>\n" + facts_table(a.scenario);
  body += "<h2>What was simulated: B</h2>\n" + facts_table(b.scenario);
  return body + page_foot(kCommand, kLatency);
}

}  // namespace iez::cli
