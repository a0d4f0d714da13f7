#include "jobs_plots.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "jobs/synth.hpp"
#include "line_chart.hpp"
#include "page_charts.hpp"

namespace iez::cli {

namespace {

using jobs::ResultTable;

constexpr std::size_t kMostUsers = 12;  // of a picture
constexpr std::size_t kUserWidth = 8;   // letters of a name that have room

std::vector<std::string> clusters_of(const ResultTable& table) {
  std::set<std::string> names;
  for (std::size_t row = 0; row < table.rows.size(); ++row) names.insert(table.text(row, "cluster"));
  return {names.begin(), names.end()};
}

// What a picture is of, where the page is of several clusters.
std::string of_cluster(std::string_view title, const std::string& cluster, bool several) {
  return several ? fmt::format("{}: {}", cluster, title) : std::string(title);
}

// Where there are several clusters, but bars of one alone, the title says which.
std::string drawn(BarChart chart, bool several) {
  if (several && chart.series.size() == 1) chart.title = of_cluster(chart.title, chart.series[0].name, true);
  return to_svg(chart);
}

// Bytes of a chart in the unit of the largest, which the title names: no axis says "1.5P".
void in_bytes(BarChart& chart, std::string_view title) {
  constexpr std::array<std::pair<double, std::string_view>, 6> kUnits{
      {{1e18, "EB"}, {1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
  double most = 0;
  for (const BarSeries& series : chart.series) {
    for (const double value : series.values) most = std::max(most, value);
  }
  const auto unit = std::ranges::find_if(kUnits, [&](const auto& some) { return most >= some.first; });
  chart.title = fmt::format("{} ({})", title, unit == kUnits.end() ? "bytes" : unit->second);
  if (unit == kUnits.end()) return;
  for (BarSeries& series : chart.series) {
    for (double& value : series.values) value /= unit->first;
  }
}

// What the colours of a heat map begin with. `value` is the inverse of the heat of a value.
std::vector<HeatKey> colour_steps(const std::function<double(double)>& value,
                                  const std::function<std::string(double)>& shown_as) {
  std::vector<HeatKey> steps;
  for (int colour = 0; colour < kHeatColours; ++colour) {
    const double heat = static_cast<double>(colour) / kHeatColours;
    // In the middle of the colour, so that no rounding shows the one below.
    HeatKey step{.heat = heat + 0.5 / kHeatColours, .label = shown_as(value(heat))};
    if (!steps.empty() && steps.back().label == step.label) steps.pop_back();  // no value has it
    steps.push_back(std::move(step));
  }
  return steps;
}

// A bar for each category and cluster: the value of a column where another has the category's number.
BarChart by_category(const ResultTable& table, std::string_view key, std::string_view value,
                     const std::vector<std::int64_t>& keys, const std::vector<std::string>& labels, double scale = 1) {
  BarChart chart{.categories = labels};
  for (const std::string& cluster : clusters_of(table)) {
    BarSeries series{.name = cluster, .values = std::vector<double>(keys.size())};
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.text(row, "cluster") != cluster) continue;
      const auto found = std::ranges::find(keys, table.integer(row, key));
      if (found != keys.end()) series.values[static_cast<std::size_t>(found - keys.begin())] = table.number(row, value) * scale;
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

struct Range {
  std::vector<std::int64_t> keys;
  std::vector<std::string> labels;
};

Range percent_bins() {
  Range bins;
  for (std::int64_t from = 0; from < 100; from += 10) {
    bins.keys.push_back(from);
    bins.labels.push_back(fmt::format("{}-{}", from, from + 10));
  }
  return bins;
}

std::string cdf_plot(const ResultTable& table, std::string_view metric, std::string title, std::string x_axis,
                     const std::vector<std::pair<double, std::string>>& ticks) {
  LineChart chart{.title = std::move(title), .x_axis = std::move(x_axis)};
  for (const auto& [value, label] : ticks) chart.ticks.emplace_back(std::log10(value), label);
  for (const std::string& cluster : clusters_of(table)) {
    ChartLine line{.name = cluster};
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.text(row, "cluster") != cluster || table.text(row, "metric") != metric) continue;
      const double x = std::clamp(std::log10(table.number(row, "up_to")), chart.ticks.front().first, chart.ticks.back().first);
      line.points.push_back({.x = x, .y = 100 * table.number(row, "share")});
    }
    chart.lines.push_back(std::move(line));
  }
  return to_svg(chart);
}

std::vector<std::string> duration_plots(const jobs::Answer& answer) {
  const ResultTable& table = answer["cdf"];
  return {
      cdf_plot(table, "duration_h", "Jobs up to a duration (%)", "duration of the job",
               {{1.0 / 3600, "1 s"}, {10.0 / 3600, "10 s"}, {1.0 / 60, "1 min"}, {1.0 / 6, "10 min"}, {1, "1 h"}, {24, "24 h"}}),
      cdf_plot(table, "nodes", "Jobs up to a number of nodes (%)", "nodes of the job",
               {{1, "1"}, {10, "10"}, {100, "100"}, {1000, "1,000"}, {10000, "10,000"}})};
}

std::vector<std::string> share_plots(const jobs::Answer& answer, bool several) {
  const Range bins = percent_bins();
  BarChart chart = by_category(answer["histogram"], "from_percent", "users", bins.keys, bins.labels);
  chart.title = "Users by their share of writing";
  chart.x_axis = "written bytes of all bytes of the user (%)";
  return {drawn(chart, several)};
}

std::vector<std::string> efficiency_plots(const jobs::Answer& answer, bool several) {
  const ResultTable& classes = answer["classes"];
  BarChart parts{.title = "Heavy writers (%)", .x_axis = "jobs and users above the mean of bytes written", .stacked = true};
  BarSeries inefficient{.name = "inefficient: small calls"};
  BarSeries efficient{.name = "efficient: large calls"};
  std::vector<std::string> clusters;
  clusters.reserve(classes.rows.size());
  for (std::size_t row = 0; row < classes.rows.size(); ++row) {
    clusters.push_back(classes.text(row, "cluster"));
    const double heavy = std::max(1.0, classes.number(row, "heavy"));
    std::string_view cluster = clusters[row];
    if (cluster.starts_with(jobs::kSyntheticPrefix)) cluster.remove_prefix(jobs::kSyntheticPrefix.size());
    parts.categories.push_back(several ? fmt::format("{}, {}", cluster, classes.text(row, "what")) : classes.text(row, "what"));
    inefficient.values.push_back(100 * classes.number(row, "inefficient") / heavy);
    efficient.values.push_back(100 * classes.number(row, "efficient") / heavy);
  }
  parts.series = {efficient, inefficient};
  Range sizes;
  for (std::int64_t power = 0; power <= 30; ++power) {
    sizes.keys.push_back(power);
    constexpr std::array<std::string_view, 4> kUnits{"B", "KiB", "MiB", "GiB"};
    sizes.labels.push_back(
        power % 5 == 0 ? fmt::format("{} {}", std::int64_t{1} << (power % 10), kUnits[static_cast<std::size_t>(power) / 10])
                       : std::string{});
  }
  BarChart calls = by_category(answer["call_sizes"], "log2_call", "jobs", sizes.keys, sizes.labels);
  calls.title = "Jobs that write, by their mean write call";
  calls.x_axis = "mean write call of the job";
  return {to_svg(parts), drawn(calls, several)};
}

// Jobs by powers of ten of bytes and of calls; colours on a logarithmic scale.
std::string scatter(const ResultTable& table, const std::string& cluster, bool several) {
  constexpr int kColumns = 48;  // thirds of powers of ten: up to 10 PB
  constexpr int kRows = 18;     // halves of powers of ten: up to 10^9
  HeatMap map{.title = of_cluster("Jobs by their metadata calls (upwards)", cluster, several),
              .x_axis = "bytes written by the job"};
  constexpr std::array<std::string_view, 16> kBytes{"1 B", "",     "", "1 kB", "",     "", "1 MB", "",
                                                    "",    "1 GB", "", "",     "1 TB", "", "",     "1 PB"};
  for (int column = 0; column < kColumns; ++column) {
    map.columns.emplace_back(column % 3 == 0 ? kBytes[static_cast<std::size_t>(column) / 3] : "");
  }
  map.cells.assign(kRows, std::vector<std::optional<double>>(kColumns));
  map.notes.assign(kRows, std::vector<std::string>(kColumns));
  for (int row = 0; row < kRows; ++row) {
    const int power = kRows - 1 - row;
    map.rows.push_back(power % 4 == 0 ? short_number(std::pow(10.0, 0.5 * power)) : "");
  }
  double most = 1;
  for (std::size_t row = 0; row < table.rows.size(); ++row) most = std::max(most, table.number(row, "jobs"));
  // One job is seen: the first colour is left to what is nearly nothing.
  constexpr double kLeast = 0.17;
  const auto heat_of = [&](double jobs) { return kLeast + (0.999 - kLeast) * std::log1p(jobs) / std::log1p(most); };
  const auto jobs_of = [&](double heat) { return std::expm1((heat - kLeast) / (0.999 - kLeast) * std::log1p(most)); };
  map.legend_title = "jobs, from:";
  map.legend = colour_steps([&](double heat) { return std::max(1.0, std::ceil(jobs_of(heat))); }, jobs::count_text);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.text(row, "cluster") != cluster) continue;
    const auto column = static_cast<int>(std::lround(table.number(row, "log_bytes") * 3));
    const auto power = static_cast<int>(std::lround(table.number(row, "log_calls") * 2));
    if (column < 0 || column >= kColumns || power < 0 || power >= kRows) continue;
    const auto to = static_cast<std::size_t>(kRows - 1 - power);
    const double jobs = table.number(row, "jobs");
    map.cells[to][static_cast<std::size_t>(column)] = heat_of(jobs);
    map.notes[to][static_cast<std::size_t>(column)] =
        fmt::format("{} jobs: from {}, from {} calls", jobs::count_text(jobs), jobs::bytes_text(std::pow(10, column / 3.0)),
                    short_number(std::pow(10, power / 2.0)));
  }
  return to_svg(map);
}

std::vector<std::string> metadata_plots(const jobs::Answer& answer, bool several) {
  const ResultTable& table = answer["correlations"];
  const std::vector<std::string> operations{"open", "close", "create", "mkdir", "mknod", "rename", "rmdir", "unlink", "all"};
  BarChart chart{
      .title = "Correlation with bytes written (1: in step)", .x_axis = "metadata operation", .categories = operations};
  for (const std::string& cluster : clusters_of(table)) {
    BarSeries series{.name = cluster, .values = std::vector<double>(operations.size())};
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.text(row, "cluster") != cluster) continue;
      const auto found = std::ranges::find(operations, table.text(row, "operation"));
      if (found != operations.end()) series.values[static_cast<std::size_t>(found - operations.begin())] = table.number(row, "r");
    }
    chart.series.push_back(std::move(series));
  }
  std::vector<std::string> plots{drawn(chart, several)};
  for (const std::string& cluster : clusters_of(answer["scatter"])) {
    plots.push_back(scatter(answer["scatter"], cluster, several));
  }
  return plots;
}

// Of several clusters, how many files stay open; of one, whose they are.
std::string never_closed_plot(const jobs::Answer& answer, bool several) {
  const ResultTable& unclosed = answer["unclosed"];
  BarChart chart{.title = "Opened files that were never closed (%)", .x_axis = "cluster", .series = {BarSeries{}}};
  if (several) {
    for (std::size_t row = 0; row < unclosed.rows.size(); ++row) {
      chart.categories.push_back(unclosed.text(row, "cluster"));
      chart.series[0].values.push_back(100 * unclosed.number(row, "unclosed") / std::max(1.0, unclosed.number(row, "opens")));
    }
    return to_svg(chart);
  }
  const ResultTable& users = answer["forgetful"];
  if (users.rows.empty()) return {};
  chart.title = "Files that were never closed";
  chart.x_axis = "user";
  for (std::size_t row = 0; row < std::min(kMostUsers, users.rows.size()); ++row) {
    chart.categories.push_back(users.text(row, "uid").substr(0, kUserWidth));
    chart.series[0].values.push_back(users.number(row, "unclosed"));
  }
  return to_svg(chart);
}

std::vector<std::string> server_plots(const jobs::Answer& answer, bool several) {
  std::vector<std::string> plots;
  const ResultTable& mdts = answer["mdts"];
  for (const std::string& cluster : clusters_of(mdts)) {
    BarChart chart{.title = of_cluster("Opens and closes", cluster, several), .x_axis = "metadata target"};
    BarSeries opens{.name = "opens"};
    BarSeries closes{.name = "closes"};
    for (std::size_t row = 0; row < mdts.rows.size(); ++row) {
      if (mdts.text(row, "cluster") != cluster) continue;
      const std::string name = mdts.text(row, "mdt");
      chart.categories.push_back(name.substr(name.find("-MDT") + 4));
      opens.values.push_back(mdts.number(row, "opens"));
      closes.values.push_back(mdts.number(row, "closes"));
    }
    chart.series = {opens, closes};
    plots.push_back(to_svg(chart));
  }
  const std::string never_closed = never_closed_plot(answer, several);
  if (!never_closed.empty()) plots.push_back(never_closed);
  return plots;
}

// A column a week, a row a weekday; of a long time, the last year.
std::string calendar(const ResultTable& days, const std::string& cluster, bool several) {
  constexpr std::size_t kWeeks = 53;
  HeatMap map{.title = of_cluster("Bytes of each day", cluster, several), .x_axis = "weeks"};
  map.rows = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  std::vector<std::size_t> rows;
  double most = 1;
  for (std::size_t row = 0; row < days.rows.size(); ++row) {
    if (days.text(row, "cluster") == cluster) rows.push_back(row);
  }
  if (rows.size() > kWeeks * 7) rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(kWeeks * 7));
  for (const std::size_t row : rows) most = std::max(most, days.number(row, "bytes"));
  map.legend_title = "bytes of a day, from:";
  map.legend = colour_steps([&](double heat) { return heat * heat * most; }, jobs::bytes_text);
  map.cells.resize(7);
  map.notes.resize(7);
  std::int64_t before = 8;
  std::string month;
  for (const std::size_t row : rows) {
    const std::int64_t weekday = days.integer(row, "weekday");
    const std::string day = days.text(row, "day");
    if (weekday <= before) {
      map.columns.push_back(day.substr(0, 7) == month ? "" : day.substr(0, 7));
      month = day.substr(0, 7);
      for (auto& cells : map.cells) cells.emplace_back();
      for (auto& notes : map.notes) notes.emplace_back();
    }
    before = weekday;
    const auto to = static_cast<std::size_t>(weekday - 1);
    map.cells[to].back() = std::sqrt(days.number(row, "bytes") / most);
    map.notes[to].back() = fmt::format("{}: {} in {} jobs", day, jobs::bytes_text(days.number(row, "bytes")),
                                       jobs::count_text(days.number(row, "jobs")));
  }
  return to_svg(map);
}

std::vector<std::string> day_plots(const jobs::Answer& answer, bool several) {
  std::vector<std::string> plots;
  for (const std::string& cluster : clusters_of(answer["days"])) plots.push_back(calendar(answer["days"], cluster, several));
  const std::vector<std::string> names{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  BarChart bytes = by_category(answer["weekdays"], "weekday", "bytes", {1, 2, 3, 4, 5, 6, 7}, names);
  in_bytes(bytes, "Moved, by weekday");
  bytes.x_axis = "weekday on which the job started";
  plots.push_back(drawn(bytes, several));
  // How large the shares of one user and one job in a day are: days sorted.
  LineChart shares{.title = "Share of one user, and of one job, in the bytes of a day (%)",
                   .x_axis = "days with so large a share, of all days (%)"};
  for (const std::string& cluster : clusters_of(answer["days"])) {
    for (const auto& [column, name] :
         {std::pair{"heaviest_user_share", "heaviest user"}, std::pair{"longest_job_share", "longest job"}}) {
      std::vector<double> values;
      for (std::size_t row = 0; row < answer["days"].rows.size(); ++row) {
        if (answer["days"].text(row, "cluster") == cluster) values.push_back(100 * answer["days"].number(row, column));
      }
      std::ranges::sort(values, std::greater{});
      ChartLine line{.name = several ? fmt::format("{}, {}", cluster, name) : std::string(name)};
      for (std::size_t i = 0; i < values.size(); ++i) {
        line.points.push_back({.x = 100 * static_cast<double>(i) / static_cast<double>(values.size()), .y = values[i]});
      }
      line.points = thinned(line.points, 200);
      shares.lines.push_back(std::move(line));
    }
  }
  plots.push_back(to_svg(shares));
  return plots;
}

std::vector<std::string> io_share_plots(const jobs::Answer& answer, bool several) {
  const Range bins = percent_bins();
  std::vector<std::string> plots;
  for (const auto& [column, title] : {std::pair{"jobs", "Jobs that read or write"}, std::pair{"writers", "Jobs that write"}}) {
    BarChart chart = by_category(answer["histogram"], "from_percent", column, bins.keys, bins.labels);
    chart.title = title;
    chart.x_axis = "minutes with any I/O, of all minutes of the job (%)";
    plots.push_back(drawn(chart, several));
  }
  return plots;
}

std::vector<std::string> burst_plots(const jobs::Answer& answer, bool several) {
  BarChart memory = by_category(answer["memory_classes"], "class", "share_of_io_time", {1, 2, 3, 4, 5, 6},
                                {"<1 %", "1-5 %", "5-10 %", "10-50 %", "50-100 %", ">100 %"}, 100);
  memory.title = "I/O time by size of bursts (%)";
  memory.x_axis = "size of the burst, of the memory of the job";
  BarChart sizes = by_category(answer["size_classes"], "class", "jobs_mostly", {1, 2, 3, 4, 5, 6},
                               {"0", "<1 kB", "1 kB-1 MB", "1 MB-1 GB", "1 GB-1 TB", ">1 TB"});
  sizes.title = "Jobs by the bursts of most of their I/O time";
  sizes.x_axis = "size of the burst";
  return {drawn(memory, several), drawn(sizes, several)};
}

std::vector<std::string> contention_plots(const jobs::Answer& answer, bool several) {
  Range hours;
  for (std::int64_t hour = 0; hour < 24; ++hour) {
    hours.keys.push_back(hour);
    hours.labels.push_back(fmt::format("{:02}", hour));
  }
  const bool by_jobs = !answer["hours"].rows.empty();
  BarChart bytes =
      by_category(answer[by_jobs ? "hours" : "server_hours"], "hour", "share_of_bytes", hours.keys, hours.labels, 100);
  bytes.title = by_jobs ? "Bytes by the hour of the start (% of all)" : "Bytes by the hour (% of all)";
  bytes.x_axis = "hour of the day";
  if (!by_jobs) return {drawn(bytes, several)};
  BarChart time = by_category(answer["hours"], "hour", "io_time", hours.keys, hours.labels, 100);
  time.title = "I/O time of similar runs (% of the longest)";
  time.x_axis = "hour of the start";
  return {drawn(bytes, several), drawn(time, several)};
}

std::vector<std::string> advice_plots(const jobs::Answer& answer, bool several) {
  const ResultTable& users = answer["users"];
  BarChart chart{.title = several ? "The heaviest users: share of the bytes of their cluster (%)"
                                  : "The heaviest users: share of all bytes (%)",
                 .x_axis = "user",
                 .series = {BarSeries{}}};
  for (std::size_t row = 0; row < std::min(kMostUsers, users.rows.size()); ++row) {
    chart.categories.push_back(users.text(row, "uid").substr(0, kUserWidth));
    chart.series[0].values.push_back(100 * users.number(row, "share_of_bytes"));
  }
  return {to_svg(chart)};
}

}  // namespace

std::vector<std::string> plots_of(const jobs::Section& section, bool several_clusters) {
  const jobs::Answer& answer = section.answer;
  const bool empty = std::ranges::all_of(answer.tables, [](const auto& table) { return table.table.rows.empty(); });
  if (empty) return {};
  if (section.name == "duration-and-nodes") return duration_plots(answer);
  if (section.name == "read-and-write-shares") return share_plots(answer, several_clusters);
  if (section.name == "write-efficiency") return efficiency_plots(answer, several_clusters);
  if (section.name == "metadata-and-writes") return metadata_plots(answer, several_clusters);
  if (section.name == "metadata-servers") return server_plots(answer, several_clusters);
  if (section.name == "days") return day_plots(answer, several_clusters);
  if (section.name == "io-share") return io_share_plots(answer, several_clusters);
  if (section.name == "bursts") return burst_plots(answer, several_clusters);
  if (section.name == "contention") return contention_plots(answer, several_clusters);
  return advice_plots(answer, several_clusters);
}

}  // namespace iez::cli
