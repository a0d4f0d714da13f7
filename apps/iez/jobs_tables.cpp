#include "jobs_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <span>

#include <fmt/format.h>

namespace iez::cli {

namespace {

using jobs::ResultTable;

// How a value is written.
enum class Form : std::uint8_t {
  text,
  count,
  bytes,
  share,
  decimal,      // "1.2"
  correlation,  // "0.90"
  minutes,
  hour,     // of the day: "05:00"
  weekday,  // 1: "Monday"
  tenth,    // 20: "20 to 30 %"
  power,    // 9: "512 B to 1 KiB"
  metric,   // of durations, or of numbers of nodes: the row says it
  kind,     // which of both: "Duration"
  below,    // a share below a mark that the row says
  io,       // which jobs
};

struct Column {
  std::string_view name;
  std::string_view title;
  Form form = Form::count;
};

struct Layout {
  std::string_view sql;
  std::string_view table;
  std::string_view caption;
  std::size_t most = 0;  // rows of each cluster that are shown
  std::span<const Column> columns;
  std::string_view sorted_by;  // if any: rows with the largest of it first
};

constexpr std::size_t kFew = 12;
constexpr std::size_t kHours = 24;
constexpr std::size_t kPowers = 64;

constexpr std::array kStatistics{Column{"metric", "", Form::kind},
                                 Column{"jobs", "Jobs"},
                                 Column{"least", "Least", Form::metric},
                                 Column{"most", "Most", Form::metric},
                                 Column{"mean", "Mean", Form::metric},
                                 Column{"median", "Median", Form::metric},
                                 Column{"below", "Short, or few", Form::below}};
constexpr std::array kShareBins{Column{"from_percent", "Written, of all bytes", Form::tenth}, Column{"users", "Users"},
                                Column{"read_bytes", "Read", Form::bytes}, Column{"write_bytes", "Written", Form::bytes}};
constexpr std::array kUsersByBytes{Column{"uid", "User", Form::text}, Column{"jobs", "Jobs"},
                                   Column{"read_bytes", "Read", Form::bytes}, Column{"write_bytes", "Written", Form::bytes},
                                   Column{"write_share", "Written, of all bytes", Form::share}};
constexpr std::array kClasses{Column{"what", "", Form::kind},
                              Column{"counted", "That move data"},
                              Column{"writers", "That write"},
                              Column{"mean_bytes", "Mean written", Form::bytes},
                              Column{"most_bytes", "Most written", Form::bytes},
                              Column{"mean_call", "Mean write call", Form::bytes},
                              Column{"heavy", "Heavy writers"},
                              Column{"inefficient", "Inefficient"},
                              Column{"efficient", "Efficient"},
                              Column{"inefficient_bytes_share", "Written by inefficient ones", Form::share}};
constexpr std::array kCallSizes{Column{"log2_call", "Mean write call", Form::power}, Column{"jobs", "Jobs"},
                                Column{"bytes", "Written", Form::bytes}};
constexpr std::array kCorrelations{Column{"operation", "Operation", Form::text}, Column{"r", "Correlation", Form::correlation},
                                   Column{"r_log", "Of their logarithms", Form::correlation}, Column{"calls", "Calls"}};
constexpr std::array kMdts{Column{"mdt", "Metadata target", Form::text},
                           Column{"jobs", "Jobs"},
                           Column{"opens", "Opens"},
                           Column{"closes", "Closes"},
                           Column{"unclosed", "Never closed"},
                           Column{"share_of_opens", "Of all opens", Form::share}};
constexpr std::array kUnclosed{Column{"opens", "Opens"}, Column{"closes", "Closes"}, Column{"unclosed", "Never closed"},
                               Column{"jobs", "By jobs"}, Column{"users", "By users"}};
constexpr std::array kForgetful{Column{"uid", "User", Form::text}, Column{"jobs", "Jobs with such files"},
                                Column{"opens", "Opens"}, Column{"unclosed", "Never closed"},
                                Column{"unclosed_share", "Of all opens", Form::share}};
constexpr std::array kDays{Column{"day", "Day", Form::text},
                           Column{"weekday", "Weekday", Form::weekday},
                           Column{"jobs", "Jobs"},
                           Column{"bytes", "Moved", Form::bytes},
                           Column{"longest_job_share", "By the longest job", Form::share},
                           Column{"heaviest_user", "Heaviest user", Form::text},
                           Column{"heaviest_user_share", "By that user", Form::share}};
constexpr std::array kWeekdays{Column{"weekday", "Weekday", Form::weekday},
                               Column{"jobs", "Jobs"},
                               Column{"bytes", "Moved", Form::bytes},
                               Column{"longest_job_share", "By the longest job", Form::share},
                               Column{"heaviest_user", "Heaviest user", Form::text},
                               Column{"heaviest_user_share", "By that user", Form::share}};
constexpr std::array kIoShares{Column{"jobs_that", "Jobs that", Form::io}, Column{"jobs", "Jobs"},
                               Column{"mean_share", "Minutes with I/O, mean", Form::share},
                               Column{"median_share", "Minutes with I/O, median", Form::share}};
constexpr std::array kIoBins{Column{"from_percent", "Minutes with I/O", Form::tenth}, Column{"jobs", "Jobs"},
                             Column{"writers", "Of them write"}};
constexpr std::array kMemoryClasses{Column{"of_memory", "Burst, of the job's memory", Form::text},
                                    Column{"minutes", "I/O time", Form::minutes},
                                    Column{"share_of_io_time", "Of all I/O time", Form::share},
                                    Column{"jobs", "Jobs with such bursts"},
                                    Column{"jobs_mostly", "Most of their I/O time"},
                                    Column{"jobs_only", "All of it"}};
constexpr std::array kSizeClasses{Column{"size", "Burst", Form::text},
                                  Column{"minutes", "I/O time", Form::minutes},
                                  Column{"share_of_io_time", "Of all I/O time", Form::share},
                                  Column{"jobs", "Jobs with such bursts"},
                                  Column{"jobs_mostly", "Most of their I/O time"},
                                  Column{"jobs_only", "All of it"}};
constexpr std::array kLargest{Column{"jobs", "Jobs"}, Column{"above_50_percent", "Above 50 % of memory"},
                              Column{"below_15_percent", "Below 15 %"}, Column{"below_5_percent", "Below 5 %"},
                              Column{"below_1_percent", "Below 1 %"}};
constexpr std::array kStartHours{
    Column{"hour", "Start, from", Form::hour}, Column{"jobs", "Jobs"},
    Column{"bytes", "Moved", Form::bytes},     Column{"share_of_bytes", "Of all bytes", Form::share},
    Column{"similar_runs", "Similar runs"},    Column{"io_time", "Their I/O time, of the longest", Form::share}};
constexpr std::array kServerHours{Column{"hour", "From", Form::hour}, Column{"read_bytes", "Read", Form::bytes},
                                  Column{"write_bytes", "Written", Form::bytes},
                                  Column{"share_of_bytes", "Of all bytes", Form::share}};
constexpr std::array kHeaviest{Column{"uid", "User", Form::text},
                               Column{"jobs", "Jobs"},
                               Column{"read_bytes", "Read", Form::bytes},
                               Column{"write_bytes", "Written", Form::bytes},
                               Column{"share_of_bytes", "Of all bytes", Form::share},
                               Column{"largest_job_bytes", "Written by the largest job", Form::bytes},
                               Column{"bytes_a_call", "Mean write call", Form::bytes},
                               Column{"opens", "Opens"},
                               Column{"unclosed_share", "Never closed", Form::share},
                               Column{"metadata_calls", "Metadata calls"},
                               Column{"metadata_calls_mb", "For each MB", Form::decimal},
                               Column{"busy_hour_share", "Moved at busy hours", Form::share}};
constexpr std::array kLoad{Column{"io_jobs", "Jobs that move data"}, Column{"bytes", "Moved", Form::bytes},
                           Column{"jobs_of_half", "Jobs that move half of it"},
                           Column{"largest_job_share", "By the largest job", Form::share}};
constexpr std::array kBusyHours{Column{"hour", "Start, from", Form::hour}, Column{"bytes", "Moved", Form::bytes},
                                Column{"times_average", "Times an average hour", Form::decimal}};

// What is not here is in a picture: shares up to a value, and jobs by bytes and calls.
constexpr std::array kLayouts{
    Layout{"01_duration_and_nodes", "statistics", "Duration and nodes of jobs", kFew, kStatistics, {}},
    Layout{"02_read_and_write_shares", "histogram", "Users by the share of writing in their bytes", kFew, kShareBins, {}},
    Layout{"02_read_and_write_shares", "users", "Users by bytes", kFew, kUsersByBytes, {}},
    Layout{"03_write_efficiency", "classes", "Heavy writers by the size of their calls", kFew, kClasses, {}},
    Layout{"03_write_efficiency", "call_sizes", "Jobs that write, by their mean write call", kPowers, kCallSizes, {}},
    Layout{"04_metadata_and_writes", "correlations", "Correlation of each operation with bytes written", kFew, kCorrelations, {}},
    Layout{"05_metadata_servers", "mdts", "Opens and closes by metadata target", kPowers, kMdts, {}},
    Layout{"05_metadata_servers", "unclosed", "Files that were opened and never closed", kFew, kUnclosed, {}},
    Layout{"05_metadata_servers", "forgetful", "Users with the most files that were never closed", kFew, kForgetful, {}},
    Layout{"06_days", "days", "The busiest days", kFew, kDays, "bytes"},
    Layout{"06_days", "weekdays", "Days of the week", kFew, kWeekdays, {}},
    Layout{"07_io_share", "statistics", "Minutes with any I/O, of all minutes of a job", kFew, kIoShares, {}},
    Layout{"07_io_share", "histogram", "Jobs by the share of their minutes with any I/O", kFew, kIoBins, {}},
    Layout{"08_bursts", "memory_classes", "I/O time by bursts against the memory of the job", kFew, kMemoryClasses, {}},
    Layout{"08_bursts", "size_classes", "I/O time by the size of bursts", kFew, kSizeClasses, {}},
    Layout{"08_bursts", "largest", "Jobs by their largest burst against their memory", kFew, kLargest, {}},
    Layout{"09_contention", "hours", "Jobs by the hour of their start", kHours, kStartHours, {}},
    Layout{"09_contention", "server_hours", "What servers moved, by the hour of the day", kHours, kServerHours, {}},
    Layout{"10_advice", "users", "What the users who move the most do", kFew, kHeaviest, {}},
    Layout{"10_advice", "load", "How few jobs move half of all bytes", kFew, kLoad, {}},
    Layout{"10_advice", "hours", "Busy hours, with more than {} times the bytes of an average hour", kHours, kBusyHours, {}}};

bool is_text(Form form) {
  return form == Form::text || form == Form::weekday || form == Form::tenth || form == Form::power || form == Form::kind ||
         form == Form::io || form == Form::hour;
}

// Up to three digits after the point, none of which is a closing zero: "0.032", "1.2", "12".
std::string decimal_text(double value) {
  if (std::abs(value) >= 100) return jobs::count_text(value);
  std::string out = fmt::format("{:.{}f}", value, std::abs(value) < 0.1 ? 3 : std::abs(value) < 10 ? 2 : 1);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out == "-0" ? "0" : out;
}

std::string minutes_text(double minutes) {
  constexpr double kMinutesOfADay = 1440;
  return minutes < 2 * kMinutesOfADay ? jobs::hours_text(minutes / 60)
                                      : fmt::format("{} days", jobs::count_text(minutes / kMinutesOfADay));
}

// A power of two bytes: "512 B", "64 KiB".
std::string power_text(std::int64_t power) {
  constexpr std::array<std::string_view, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const auto unit = static_cast<std::size_t>(std::clamp<std::int64_t>(power / 10, 0, 6));
  return fmt::format("{} {}", std::int64_t{1} << (power - static_cast<std::int64_t>(unit) * 10), kUnits[unit]);
}

bool is_duration(const ResultTable& table, std::size_t row) { return table.text(row, "metric") == "duration_h"; }

std::string nodes_text(double nodes) { return nodes == std::floor(nodes) ? jobs::count_text(nodes) : decimal_text(nodes); }

std::string kind_text(const std::string& which) {
  if (which == "duration_h") return "Duration";
  if (which == "nodes") return "Nodes";
  return which == "users" ? "Users" : "Jobs";
}

std::string io_text(const std::string& which) {
  if (which == "all") return "read or write";
  if (which == "seen") return "servers saw";
  return which;
}

std::string cell_text(const ResultTable& table, std::size_t row, const Column& column) {
  if (table.absent(row, column.name)) return "-";
  constexpr std::array<std::string_view, 7> kWeekdayNames{"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                          "Friday", "Saturday", "Sunday"};
  const auto number = [&] { return table.number(row, column.name); };
  switch (column.form) {
    case Form::text:
      return table.text(row, column.name);
    case Form::count:
      return jobs::count_text(number());
    case Form::bytes:
      return jobs::bytes_text(number());
    case Form::share:
      return jobs::percent_text(number());
    case Form::decimal:
      return decimal_text(number());
    case Form::correlation:
      return fmt::format("{:.2f}", number());
    case Form::minutes:
      return minutes_text(number());
    case Form::hour:
      return jobs::hour_of_day_text(table.integer(row, column.name));
    case Form::weekday:
      return std::string(kWeekdayNames[static_cast<std::size_t>(table.integer(row, column.name) - 1) % kWeekdayNames.size()]);
    case Form::tenth: {
      const std::int64_t from = table.integer(row, column.name);
      return fmt::format("{} to {} %", from, from + 10);
    }
    case Form::power: {
      const std::int64_t from = std::clamp<std::int64_t>(table.integer(row, column.name), 0, 61);
      return fmt::format("{} to {}", power_text(from), power_text(from + 1));
    }
    case Form::metric:
      return is_duration(table, row) ? jobs::hours_text(number()) : nodes_text(number());
    case Form::kind:
      return kind_text(table.text(row, column.name));
    case Form::below: {
      const double mark = table.number(row, "below_what");
      return fmt::format("{} below {}", jobs::percent_text(number()),
                         is_duration(table, row) ? fmt::format("{:g} h", mark) : fmt::format("{:g} nodes", mark));
    }
    case Form::io:
      return io_text(table.text(row, column.name));
  }
  return {};
}

// Rows of one cluster follow one another.
bool by_cluster(const ResultTable& table, const std::vector<std::size_t>& order) {
  std::vector<std::string> seen;
  for (const std::size_t row : order) {
    const std::string cluster = table.text(row, "cluster");
    if (!seen.empty() && seen.back() == cluster) continue;
    if (std::ranges::find(seen, cluster) != seen.end()) return false;
    seen.push_back(cluster);
  }
  return true;
}

}  // namespace

std::optional<PageTable> page_table(std::string_view sql, const jobs::AnswerTable& table, const jobs::AnalysisOptions& options,
                                    bool several_clusters) {
  const auto layout =
      std::ranges::find_if(kLayouts, [&](const Layout& some) { return some.sql == sql && some.table == table.name; });
  const ResultTable& from = table.table;
  if (layout == kLayouts.end() || from.rows.empty()) return std::nullopt;
  PageTable made{.caption = fmt::format(fmt::runtime(layout->caption), fmt::format("{:g}", options.busy_hour))};
  std::vector<std::size_t> order(from.rows.size());
  std::iota(order.begin(), order.end(), 0);
  if (!layout->sorted_by.empty()) {
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t row) { return from.number(row, layout->sorted_by); });
  }
  std::map<std::string, std::size_t> of_cluster;
  made.left_out = std::erase_if(order, [&](std::size_t row) { return ++of_cluster[from.text(row, "cluster")] > layout->most; });
  const bool named_once = several_clusters && by_cluster(from, order);
  if (several_clusters) {
    made.titles.emplace_back("Cluster");
    made.right.push_back(false);
  }
  for (const Column& column : layout->columns) {
    made.titles.emplace_back(column.title);
    made.right.push_back(!is_text(column.form));
  }
  std::string before;
  for (const std::size_t row : order) {
    std::vector<std::string> cells;
    if (several_clusters) {
      const std::string cluster = from.text(row, "cluster");
      cells.push_back(named_once && !made.rows.empty() && cluster == before ? "" : cluster);
      before = cluster;
    }
    for (const Column& column : layout->columns) cells.push_back(cell_text(from, row, column));
    made.rows.push_back(std::move(cells));
  }
  return made;
}

std::vector<Threshold> thresholds(const jobs::AnalysisOptions& options) {
  return {{"Jobs that count in section 1 run less than", fmt::format("{:g} h", options.longest_hours), "--longest"},
          {"Short jobs run less than", fmt::format("{:g} h", options.short_hours), "--short"},
          {"Few nodes are below", fmt::format("{:g}", options.few_nodes), "--few-nodes"},
          {"Memory of a node, for jobs that do not tell",
           options.node_memory > 0 ? jobs::bytes_text(options.node_memory) : "not known", "--node-memory"},
          {"Similar runs are at least", fmt::format("{:g}", options.similar_runs), "--similar-runs"},
          {"A busy hour moves more than an average hour", fmt::format("{:g} times", options.busy_hour), "--busy-hour"},
          {"Small writes have a mean call below", jobs::bytes_text(options.small_call), "--small-call"},
          {"No user is advised about less than", jobs::bytes_text(options.least_bytes), "--least-bytes"},
          {"Too many files that stay open are more than", jobs::percent_text(options.unclosed_share) + " of opens",
           "--unclosed-share"},
          {"A metadata storm has more calls for each MB than", fmt::format("{:g}", options.storm_calls_mb), "--storm-calls"},
          {"An unbalanced metadata target has more opens than the mean", fmt::format("{:g} times", options.unbalanced),
           "--unbalanced"}};
}

}  // namespace iez::cli
