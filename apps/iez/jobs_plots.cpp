#include "jobs_plots.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "jobs/synth.hpp"
#include "line_chart.hpp"
#include "page_charts.hpp"

namespace iez::cli {

namespace {

using jobs::ResultTable;

std::vector<std::string> clusters_of(const ResultTable& table) {
  std::set<std::string> names;
  for (std::size_t row = 0; row < table.rows.size(); ++row) names.insert(table.text(row, "cluster"));
  return {names.begin(), names.end()};
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
      cdf_plot(table, "duration_h", "Jobs up to a duration (%)", "duration",
               {{1.0 / 3600, "1 s"}, {10.0 / 3600, "10 s"}, {1.0 / 60, "1 min"}, {1.0 / 6, "10 min"}, {1, "1 h"}, {24, "24 h"}}),
      cdf_plot(table, "nodes", "Jobs up to a number of nodes (%)", "nodes",
               {{1, "1"}, {10, "10"}, {100, "100"}, {1000, "1,000"}, {10000, "10,000"}})};
}

std::vector<std::string> share_plots(const jobs::Answer& answer) {
  const Range bins = percent_bins();
  BarChart chart = by_category(answer["histogram"], "from_percent", "users", bins.keys, bins.labels);
  chart.title = "Users by their share of writing";
  chart.x_axis = "written bytes of all bytes of the user (%)";
  return {to_svg(chart)};
}

std::vector<std::string> efficiency_plots(const jobs::Answer& answer) {
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
    parts.categories.push_back(fmt::format("{}, {}", cluster, classes.text(row, "what")));
    inefficient.values.push_back(100 * classes.number(row, "inefficient") / heavy);
    efficient.values.push_back(100 * classes.number(row, "efficient") / heavy);
  }
  parts.series = {efficient, inefficient};
  Range sizes;
  for (std::int64_t power = 0; power <= 30; ++power) {
    sizes.keys.push_back(power);
    constexpr std::array<std::string_view, 4> kUnits{"", "K", "M", "G"};
    sizes.labels.push_back(
        power % 5 == 0 ? fmt::format("{}{}", std::int64_t{1} << (power % 10), kUnits[static_cast<std::size_t>(power) / 10])
                       : std::string{});
  }
  BarChart calls = by_category(answer["call_sizes"], "log2_call", "jobs", sizes.keys, sizes.labels);
  calls.title = "Jobs that write, by bytes a call";
  calls.x_axis = "bytes a call (powers of two)";
  return {to_svg(parts), to_svg(calls)};
}

// Jobs by powers of ten of bytes and of calls; darker is more, on a logarithmic scale.
std::string scatter(const ResultTable& table, const std::string& cluster) {
  constexpr int kColumns = 48;  // thirds of powers of ten: up to 10 PB
  constexpr int kRows = 18;     // halves of powers of ten: up to 10^9
  HeatMap map{.title = fmt::format("{}: jobs by bytes and metadata calls", cluster), .x_axis = "bytes written"};
  constexpr std::array<std::string_view, 16> kBytes{"1", "",     "", "1 kB", "",     "", "1 MB", "",
                                                    "",  "1 GB", "", "",     "1 TB", "", "",     "1 PB"};
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
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.text(row, "cluster") != cluster) continue;
    const auto column = static_cast<int>(std::lround(table.number(row, "log_bytes") * 3));
    const auto power = static_cast<int>(std::lround(table.number(row, "log_calls") * 2));
    if (column < 0 || column >= kColumns || power < 0 || power >= kRows) continue;
    const auto to = static_cast<std::size_t>(kRows - 1 - power);
    const double jobs = table.number(row, "jobs");
    map.cells[to][static_cast<std::size_t>(column)] = std::min(0.999, 0.17 + 0.83 * std::log1p(jobs) / std::log1p(most));
    map.notes[to][static_cast<std::size_t>(column)] =
        fmt::format("{} jobs: from {}, from {} calls", jobs::count_text(jobs), jobs::bytes_text(std::pow(10, column / 3.0)),
                    short_number(std::pow(10, power / 2.0)));
  }
  return to_svg(map);
}

std::vector<std::string> metadata_plots(const jobs::Answer& answer) {
  const ResultTable& table = answer["correlations"];
  const std::vector<std::string> operations{"open", "close", "create", "mkdir", "mknod", "rename", "rmdir", "unlink", "all"};
  BarChart chart{.title = "Correlation with bytes written (R)", .x_axis = "operation", .categories = operations};
  for (const std::string& cluster : clusters_of(table)) {
    BarSeries series{.name = cluster, .values = std::vector<double>(operations.size())};
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.text(row, "cluster") != cluster) continue;
      const auto found = std::ranges::find(operations, table.text(row, "operation"));
      if (found != operations.end()) series.values[static_cast<std::size_t>(found - operations.begin())] = table.number(row, "r");
    }
    chart.series.push_back(std::move(series));
  }
  std::vector<std::string> plots{to_svg(chart)};
  for (const std::string& cluster : clusters_of(answer["scatter"])) plots.push_back(scatter(answer["scatter"], cluster));
  return plots;
}

std::vector<std::string> server_plots(const jobs::Answer& answer) {
  std::vector<std::string> plots;
  const ResultTable& mdts = answer["mdts"];
  for (const std::string& cluster : clusters_of(mdts)) {
    BarChart chart{.title = fmt::format("{}: opens and closes", cluster), .x_axis = "metadata target"};
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
  const ResultTable& unclosed = answer["unclosed"];
  BarChart chart{.title = "Opened files that were never closed (%)", .x_axis = "cluster", .series = {BarSeries{}}};
  for (std::size_t row = 0; row < unclosed.rows.size(); ++row) {
    chart.categories.push_back(unclosed.text(row, "cluster"));
    chart.series[0].values.push_back(100 * unclosed.number(row, "unclosed") / std::max(1.0, unclosed.number(row, "opens")));
  }
  if (!chart.categories.empty()) plots.push_back(to_svg(chart));
  return plots;
}

// A column a week, a row a weekday; of a long time, the last year.
std::string calendar(const ResultTable& days, const std::string& cluster) {
  constexpr std::size_t kWeeks = 53;
  HeatMap map{.title = fmt::format("{}: bytes of each day", cluster), .x_axis = "weeks"};
  map.rows = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  std::vector<std::size_t> rows;
  double most = 1;
  for (std::size_t row = 0; row < days.rows.size(); ++row) {
    if (days.text(row, "cluster") == cluster) rows.push_back(row);
  }
  if (rows.size() > kWeeks * 7) rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(kWeeks * 7));
  for (const std::size_t row : rows) most = std::max(most, days.number(row, "bytes"));
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

std::vector<std::string> day_plots(const jobs::Answer& answer) {
  std::vector<std::string> plots;
  for (const std::string& cluster : clusters_of(answer["days"])) plots.push_back(calendar(answer["days"], cluster));
  const std::vector<std::string> names{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  BarChart bytes = by_category(answer["weekdays"], "weekday", "bytes", {1, 2, 3, 4, 5, 6, 7}, names);
  bytes.title = "Bytes by weekday";
  bytes.x_axis = "day of the start";
  plots.push_back(to_svg(bytes));
  // How large the shares of one user and one job in a day are: days sorted.
  LineChart shares{.title = "Share of one user, of one job, in a day (%)", .x_axis = "days, from the largest share (%)"};
  for (const std::string& cluster : clusters_of(answer["days"])) {
    for (const auto& [column, name] :
         {std::pair{"heaviest_user_share", "heaviest user"}, std::pair{"longest_job_share", "longest job"}}) {
      std::vector<double> values;
      for (std::size_t row = 0; row < answer["days"].rows.size(); ++row) {
        if (answer["days"].text(row, "cluster") == cluster) values.push_back(100 * answer["days"].number(row, column));
      }
      std::ranges::sort(values, std::greater{});
      ChartLine line{.name = fmt::format("{}, {}", cluster, name)};
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

std::vector<std::string> io_share_plots(const jobs::Answer& answer) {
  const Range bins = percent_bins();
  std::vector<std::string> plots;
  for (const auto& [column, title] : {std::pair{"jobs", "Jobs that read or write"}, std::pair{"writers", "Jobs that write"}}) {
    BarChart chart = by_category(answer["histogram"], "from_percent", column, bins.keys, bins.labels);
    chart.title = title;
    chart.x_axis = "minutes with any I/O, of all minutes of the job (%)";
    plots.push_back(to_svg(chart));
  }
  return plots;
}

std::vector<std::string> burst_plots(const jobs::Answer& answer) {
  BarChart memory = by_category(answer["memory_classes"], "class", "share_of_io_time", {1, 2, 3, 4, 5, 6},
                                {"<1 %", "1-5 %", "5-10 %", "10-50 %", "50-100 %", ">100 %"}, 100);
  memory.title = "I/O time by size of bursts (%)";
  memory.x_axis = "burst, of the memory of the job";
  BarChart sizes = by_category(answer["size_classes"], "class", "jobs_mostly", {1, 2, 3, 4, 5, 6},
                               {"0", "<1 kB", "1 kB-1 MB", "1 MB-1 GB", "1 GB-1 TB", ">1 TB"});
  sizes.title = "Jobs, by where they spend over half of their I/O time";
  sizes.x_axis = "burst, bytes";
  return {to_svg(memory), to_svg(sizes)};
}

std::vector<std::string> contention_plots(const jobs::Answer& answer) {
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
  if (!by_jobs) return {to_svg(bytes)};
  BarChart time = by_category(answer["hours"], "hour", "io_time", hours.keys, hours.labels, 100);
  time.title = "I/O time of similar runs (% of the longest)";
  time.x_axis = "hour of the start";
  return {to_svg(bytes), to_svg(time)};
}

std::vector<std::string> advice_plots(const jobs::Answer& answer) {
  const ResultTable& users = answer["users"];
  BarChart chart{
      .title = "Share of all bytes of their cluster, the heaviest users (%)", .x_axis = "user", .series = {BarSeries{}}};
  constexpr std::size_t kMost = 15;
  for (std::size_t row = 0; row < std::min(kMost, users.rows.size()); ++row) {
    chart.categories.push_back(users.text(row, "uid").substr(0, 8));
    chart.series[0].values.push_back(100 * users.number(row, "share_of_bytes"));
  }
  return {to_svg(chart)};
}

}  // namespace

std::vector<std::string> plots_of(const jobs::Section& section) {
  const jobs::Answer& answer = section.answer;
  const bool empty = std::ranges::all_of(answer.tables, [](const auto& table) { return table.table.rows.empty(); });
  if (empty) return {};
  if (section.name == "duration-and-nodes") return duration_plots(answer);
  if (section.name == "read-and-write-shares") return share_plots(answer);
  if (section.name == "write-efficiency") return efficiency_plots(answer);
  if (section.name == "metadata-and-writes") return metadata_plots(answer);
  if (section.name == "metadata-servers") return server_plots(answer);
  if (section.name == "days") return day_plots(answer);
  if (section.name == "io-share") return io_share_plots(answer);
  if (section.name == "bursts") return burst_plots(answer);
  if (section.name == "contention") return contention_plots(answer);
  return advice_plots(answer);
}

}  // namespace iez::cli
