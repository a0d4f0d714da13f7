#include "sim_page.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "markup.hpp"
#include "page.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

constexpr std::string_view kCommand = "iez sim";
constexpr std::string_view kLatency = "Latency is the time of a request at its server, from arrival to the reply.";
constexpr std::size_t kMostPoints = 800;  // of a line: more than there are pixels
constexpr std::size_t kMostRows = 500;    // of a table

struct SeriesText {
  std::string_view title;
  double (*of)(const sim::Sample& sample, Duration before);
};

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<SeriesText, RunTrace::kSeries> kSeries{{
    {"Requests queued or in service", [](const sim::Sample& sample, Duration) { return static_cast<double>(sample.depth); }},
    {"Latency at the server, mean of each interval (s)",
     [](const sim::Sample& sample, Duration) { return sample.finished > 0 ? sample.latency : kNothing; }},
    {"Bandwidth (B/s)", [](const sim::Sample& sample, Duration before) { return sample_bandwidth(sample, before); }},
    {"Requests served a second, as the law measures them", [](const sim::Sample& sample, Duration) { return sample.iops; }},
    {"Active clients C, as the law counts them (busiest target)",
     [](const sim::Sample& sample, Duration) { return static_cast<double>(sample.active_clients); }},
    {"Credits of a client, last given (mean over targets)", [](const sim::Sample& sample, Duration) { return sample.credits; }},
}};

std::string html_table(const Grid& grid) {
  std::string out = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const Grid::Column& column : grid.columns) {
    out += fmt::format("<th{}>{}</th>", column.right ? " class=\"right\"" : "", markup_escaped(column.title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : std::span(grid.rows).first(std::min(kMostRows, grid.rows.size()))) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += fmt::format("<td{}>{}</td>", grid.columns[i].right ? " class=\"right\"" : "", markup_escaped(row[i]));
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table></div>\n";
  if (grid.rows.size() > kMostRows)
    out += fmt::format("<p class=\"quiet\">... and {} more rows</p>\n", grid.rows.size() - kMostRows);
  return out;
}

std::string facts_table(const sim::Scenario& scenario) {
  constexpr std::size_t kMostFacts = 40;
  const auto facts = scenario_facts(scenario);
  std::string out = "<table class=\"facts\">\n<tbody>\n";
  for (const auto& [what, how] : std::span(facts).first(std::min(kMostFacts, facts.size()))) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", markup_escaped(what), markup_escaped(how));
  }
  out += "</tbody>\n</table>\n";
  if (facts.size() > kMostFacts) out += fmt::format("<p class=\"quiet\">... and {} more</p>\n", facts.size() - kMostFacts);
  return out;
}

std::string notes_text(const SimReport& report) {
  std::string out;
  for (const std::string& note : run_notes(report)) out += fmt::format("<p class=\"note\">{}</p>\n", markup_escaped(note));
  return out;
}

std::string time_charts(std::span<const RunTrace> traces) {
  std::string out = "<div class=\"charts\">\n";
  for (std::size_t i = 0; i < kSeries.size(); ++i) {
    LineChart chart{.title = std::string(kSeries[i].title), .x_axis = "simulated time (s)"};
    for (const RunTrace& trace : traces) chart.lines.push_back({.name = trace.name, .points = trace.series[i]});
    out += to_svg(chart);
  }
  return out + "</div>\n";
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
    out += chart("Bandwidth (B/s)", {{"", "bandwidth"}});
    if (groups_ == 1) {
      out += chart("Latency at the server (s)", {{"mean", "latency_mean"}, {"99 %", "latency_p99"}, {"longest", "latency_max"}});
    } else {
      out += chart("Latency at the server, 99 % (s)", {{"", "latency_p99"}});
    }
    return out + "</div>\n";
  }

 private:
  struct Part {
    std::string_view name;
    std::string_view figure;
  };

  std::string chart(std::string_view title, std::initializer_list<Part> parts) const {
    LineChart drawn{.title = std::string(title), .x_axis = last_.key, .categories = last_.values, .marks = true};
    for (std::size_t group = 0; group < std::min(groups_, kMostTraces); ++group) {
      const auto& set = report_.runs[group * last_.values.size() * report_.seeds].set;
      const std::string others = set_text(std::span(set).first(set.size() - 1));
      for (const Part& part : parts) {
        drawn.lines.push_back(
            {.name = part.name.empty() ? others : std::string(part.name), .points = points(group, part.figure)});
      }
    }
    return to_svg(drawn);
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

RunTrace trace_of(std::string name, std::span<const sim::Sample> samples) {
  RunTrace trace{.name = std::move(name)};
  for (std::size_t i = 0; i < kSeries.size(); ++i) {
    std::vector<ChartPoint> points;
    points.reserve(samples.size());
    Duration before{};
    for (const sim::Sample& sample : samples) {
      points.push_back({.x = to_seconds(sample.at), .y = kSeries[i].of(sample, before)});
      before = sample.at;
    }
    trace.series[i] = thinned(points, kMostPoints);
  }
  return trace;
}

std::string report_page(const SimReport& report, std::span<const RunTrace> traces) {
  const bool many = report.runs.size() > 1;
  std::string body = page_head({.command = kCommand,
                                .title = report.scenario.name,
                                .about = fmt::format("{}: {}", report.file, counted(report.runs.size(), "run"))});
  body += notes_text(report);
  body += "<h2>Result</h2>\n" + html_table(run_grid(report));
  if (report.seeds > 1) {
    body += "<h2>Means, and where the true ones are with a probability of 95 %</h2>\n" + html_table(spread_grid(report));
  }
  if (!report.sweeps.empty()) {
    body += fmt::format("<h2>Against {}</h2>\n", markup_escaped(report.sweeps.back().key)) + SweepCharts(report).draw();
  }
  if (const Grid stable = stable_grid(report); !stable.rows.empty()) {
    body += "<h2>While all processes were at work</h2>\n" + html_table(stable);
  }
  if (std::ranges::any_of(report.runs, [](const SimRun& run) { return run.result.jobs.size() > 1; })) {
    body += "<h2>Jobs</h2>\n" + html_table(job_grid(report));
  }
  if (!traces.empty()) {
    body += "<h2>Over time</h2>\n";
    const std::size_t points = report.runs.size() / report.seeds;
    if (traces.size() < points) body += fmt::format("<p class=\"quiet\">The first {} of {}.</p>\n", traces.size(), points);
    if (report.seeds > 1) body += "<p class=\"quiet\">With the first seed.</p>\n";
    body += time_charts(traces);
  }
  body +=
      fmt::format("<h2>{}</h2>\n", many ? "What was simulated (first run)" : "What was simulated") + facts_table(report.scenario);
  return body + page_foot(kCommand, kLatency);
}

std::string compare_page(const SimReport& a, const SimReport& b, const Grid& figures, std::span<const RunTrace> traces) {
  std::string body =
      page_head({.command = kCommand,
                 .title = fmt::format("{} and {}", a.scenario.name, b.scenario.name),
                 .about = fmt::format("A is {}, B is {}; {} each.", a.file, b.file, counted(a.runs.size(), "run"))});
  body += notes_text(a) + notes_text(b);
  body += "<h2>Figures</h2>\n" + html_table(figures);
  if (!traces.empty()) body += "<h2>Over time</h2>\n" + time_charts(traces);
  body += "<h2>What was simulated: A</h2>\n" + facts_table(a.scenario);
  body += "<h2>What was simulated: B</h2>\n" + facts_table(b.scenario);
  return body + page_foot(kCommand, kLatency);
}

}  // namespace iez::cli
