#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "jobs/report.hpp"

namespace iez::jobs {

namespace {

constexpr std::string_view kNoJobs = "No job of this range: nothing can be said.";
constexpr std::string_view kNoSeries = "No time series of this range: nothing can be said. Agents on the servers collect them.";

std::string joined(const std::vector<std::string>& parts, std::string_view end) {
  return fmt::format("{}{}", fmt::join(parts, ". "), end);
}

// The row whose columns have these texts; rows.size(): none.
std::size_t find_row(const ResultTable& table, std::initializer_list<std::pair<std::string_view, std::string_view>> wanted) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const bool all = std::ranges::all_of(wanted, [&](const auto& want) { return table.text(row, want.first) == want.second; });
    if (all) return row;
  }
  return table.rows.size();
}

std::vector<std::string> clusters_of(const ResultTable& table) {
  std::set<std::string> names;
  for (std::size_t row = 0; row < table.rows.size(); ++row) names.insert(table.text(row, "cluster"));
  return {names.begin(), names.end()};
}

std::string on(const std::string& cluster) { return cluster.empty() ? "Here" : fmt::format("On {}", cluster); }

std::string duration_finding(const Answer& answer, const AnalysisOptions& options) {
  const ResultTable& table = answer["statistics"];
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(table)) {
    const std::size_t time = find_row(table, {{"cluster", cluster}, {"metric", "duration_h"}});
    const std::size_t nodes = find_row(table, {{"cluster", cluster}, {"metric", "nodes"}});
    parts.push_back(fmt::format(
        "{}, {} of {} jobs run less than {:g} h (mean {}, median {}) and {} use fewer than {:g} nodes (mean {:.1f}, median {:g})",
        on(cluster), percent_text(table.number(time, "below")), count_text(table.number(time, "jobs")), options.short_hours,
        hours_text(table.number(time, "mean")), hours_text(table.number(time, "median")),
        percent_text(table.number(nodes, "below")), options.few_nodes, table.number(nodes, "mean"),
        table.number(nodes, "median")));
  }
  return parts.empty() ? std::string(kNoJobs) : joined(parts, ".");
}

std::string share_finding(const Answer& answer) {
  const ResultTable& table = answer["histogram"];
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(table)) {
    double users = 0;
    double readers = 0;
    double writers = 0;
    double read = 0;
    double written = 0;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.text(row, "cluster") != cluster) continue;
      const double count = table.number(row, "users");
      const std::int64_t from = table.integer(row, "from_percent");
      users += count;
      readers += from < 40 ? count : 0;
      writers += from >= 60 ? count : 0;
      read += table.number(row, "read_bytes");
      written += table.number(row, "write_bytes");
    }
    parts.push_back(fmt::format(
        "{}, {} of {} users mostly read (below 40 % writing) and {} mostly write (60 % and more); of all bytes {} are written",
        on(cluster), count_text(readers), count_text(users), count_text(writers), percent_text(written / (read + written))));
  }
  return parts.empty() ? "No job of this range read or wrote." : joined(parts, ".");
}

std::string efficiency_finding(const Answer& answer) {
  const ResultTable& table = answer["classes"];
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(table)) {
    const std::size_t jobs = find_row(table, {{"cluster", cluster}, {"what", "jobs"}});
    const std::size_t users = find_row(table, {{"cluster", cluster}, {"what", "users"}});
    const double heavy = table.number(jobs, "heavy");
    if (heavy <= 0) continue;
    parts.push_back(
        fmt::format("{}, {} of {} jobs that write more than the mean ({}) do so in calls below the mean ({}): {} inefficient, {} "
                    "efficient; of {} "
                    "heavy users {} are inefficient",
                    on(cluster), percent_text(table.number(jobs, "inefficient") / heavy), count_text(heavy),
                    bytes_text(table.number(jobs, "mean_bytes")), bytes_text(table.number(jobs, "mean_call")),
                    count_text(table.number(jobs, "inefficient")), count_text(table.number(jobs, "efficient")),
                    count_text(table.number(users, "heavy")), count_text(table.number(users, "inefficient"))));
  }
  return parts.empty() ? "No job of this range wrote more than the mean." : joined(parts, ".");
}

std::string metadata_finding(const Answer& answer) {
  const ResultTable& table = answer["correlations"];
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(table)) {
    std::size_t best = table.rows.size();
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.text(row, "cluster") != cluster || table.text(row, "operation") == "all" || table.absent(row, "r")) continue;
      if (best == table.rows.size() || table.number(row, "r") > table.number(best, "r")) best = row;
    }
    if (best == table.rows.size()) continue;
    const std::size_t all = find_row(table, {{"cluster", cluster}, {"operation", "all"}});
    parts.push_back(
        fmt::format("{}, bytes written go best with {} (R = {:.2f}); with all metadata operations together R = {:.2f}",
                    on(cluster), table.text(best, "operation"), table.number(best, "r"), table.number(all, "r")));
  }
  return parts.empty() ? "No job of this range wrote anything to correlate with." : joined(parts, ".");
}

std::string servers_finding(const Answer& answer) {
  const ResultTable& mdts = answer["mdts"];
  const ResultTable& unclosed = answer["unclosed"];
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(mdts)) {
    std::size_t busiest = mdts.rows.size();
    double count = 0;
    for (std::size_t row = 0; row < mdts.rows.size(); ++row) {
      if (mdts.text(row, "cluster") != cluster) continue;
      ++count;
      if (busiest == mdts.rows.size() || mdts.number(row, "opens") > mdts.number(busiest, "opens")) busiest = row;
    }
    const double share = mdts.number(busiest, "share_of_opens");
    parts.push_back(fmt::format("{}, {} takes {} of all opens, {:.1f} times the mean of {:g} targets", on(cluster),
                                mdts.text(busiest, "mdt"), percent_text(share), share * count, count));
  }
  for (std::size_t row = 0; row < unclosed.rows.size(); ++row) {
    const double opens = unclosed.number(row, "opens");
    if (opens <= 0) continue;
    parts.push_back(fmt::format("{}, {} of {} opened files were never closed, by {} users", on(unclosed.text(row, "cluster")),
                                percent_text(unclosed.number(row, "unclosed") / opens), count_text(opens),
                                count_text(unclosed.number(row, "users"))));
  }
  return parts.empty() ? "No opens were counted in this range." : joined(parts, ".");
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string days_finding(const Answer& answer) {
  const ResultTable& table = answer["days"];
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(table)) {
    std::vector<double> bytes;
    std::vector<double> longest;
    std::vector<double> heaviest;
    std::size_t busiest = table.rows.size();
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.text(row, "cluster") != cluster) continue;
      bytes.push_back(table.number(row, "bytes"));
      longest.push_back(table.number(row, "longest_job_share"));
      heaviest.push_back(table.number(row, "heaviest_user_share"));
      if (busiest == table.rows.size() || table.number(row, "bytes") > table.number(busiest, "bytes")) busiest = row;
    }
    const double usual = median_of(bytes);
    parts.push_back(
        fmt::format("{}, the busiest day ({}) moved {}, {:.1f} times the median day; on a median day the heaviest user makes {} "
                    "of the bytes, the "
                    "longest job {}",
                    on(cluster), table.text(busiest, "day"), bytes_text(table.number(busiest, "bytes")),
                    usual > 0 ? table.number(busiest, "bytes") / usual : 0, percent_text(median_of(heaviest)),
                    percent_text(median_of(longest))));
  }
  return parts.empty() ? std::string(kNoJobs) : joined(parts, ".");
}

std::string io_share_finding(const Answer& answer) {
  const ResultTable& table = answer["statistics"];
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(table)) {
    const std::size_t all = find_row(table, {{"cluster", cluster}, {"jobs_that", "all"}});
    const std::size_t writers = find_row(table, {{"cluster", cluster}, {"jobs_that", "write"}});
    if (all == table.rows.size()) continue;
    std::string part = fmt::format("{}, {} jobs that read or write do so in {} of their minutes on average", on(cluster),
                                   count_text(table.number(all, "jobs")), percent_text(table.number(all, "mean_share")));
    if (writers != table.rows.size()) {
      part += fmt::format(", the {} that write in {}", count_text(table.number(writers, "jobs")),
                          percent_text(table.number(writers, "mean_share")));
    }
    parts.push_back(std::move(part));
  }
  return parts.empty() ? std::string(kNoSeries) : joined(parts, ".");
}

std::string bursts_finding(const Answer& answer) {
  const ResultTable& largest = answer["largest"];
  const ResultTable& sizes = answer["size_classes"];
  std::vector<std::string> parts;
  for (std::size_t row = 0; row < largest.rows.size(); ++row) {
    const double jobs = largest.number(row, "jobs");
    parts.push_back(fmt::format("{}, {} of {} jobs never write a burst of 5 % of their memory, and {} write one above half of it",
                                on(largest.text(row, "cluster")), percent_text(largest.number(row, "below_5_percent") / jobs),
                                count_text(jobs), count_text(largest.number(row, "above_50_percent"))));
  }
  for (const std::string& cluster : clusters_of(sizes)) {
    std::size_t most = sizes.rows.size();
    for (std::size_t row = 0; row < sizes.rows.size(); ++row) {
      if (sizes.text(row, "cluster") != cluster) continue;
      if (most == sizes.rows.size() || sizes.number(row, "jobs_mostly") > sizes.number(most, "jobs_mostly")) most = row;
    }
    parts.push_back(fmt::format("{}, {} jobs spend over half of their I/O time in bursts of {}", on(cluster),
                                count_text(sizes.number(most, "jobs_mostly")), sizes.text(most, "size")));
  }
  return parts.empty() ? std::string(kNoSeries) : joined(parts, ".");
}

// Means of runs inside and outside of two hours.
std::string slow_hours(const ResultTable& table, const std::string& cluster, std::size_t first, std::size_t second) {
  std::array<double, 2> runs{};
  std::array<double, 2> time{};
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.text(row, "cluster") != cluster || table.absent(row, "io_time")) continue;
    const std::size_t side = row == first || row == second ? 0 : 1;
    runs[side] += table.number(row, "similar_runs");
    time[side] += table.number(row, "similar_runs") * table.number(row, "io_time");
  }
  if (runs[0] <= 0 || runs[1] <= 0) return {};
  return fmt::format(", and similar runs take {} of the longest I/O time of their group then, {} at other hours",
                     percent_text(time[0] / runs[0]), percent_text(time[1] / runs[1]));
}

// The two rows of a cluster with the largest shares of bytes, the larger first; twice the same if there is one alone.
std::pair<std::size_t, std::size_t> busiest_hours(const ResultTable& table, const std::string& cluster) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.text(row, "cluster") == cluster) rows.push_back(row);
  }
  std::ranges::sort(rows, std::greater{}, [&](std::size_t row) { return table.number(row, "share_of_bytes"); });
  return {rows.front(), rows.size() > 1 ? rows[1] : rows.front()};
}

// Of clusters whose servers told no jobs apart.
std::string server_hours_finding(const ResultTable& table) {
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(table)) {
    const auto [first, second] = busiest_hours(table, cluster);
    parts.push_back(fmt::format("{}, the servers move the most at {:02} h and {:02} h ({} and {} of all bytes)", on(cluster),
                                table.integer(first, "hour"), table.integer(second, "hour"),
                                percent_text(table.number(first, "share_of_bytes")),
                                percent_text(table.number(second, "share_of_bytes"))));
  }
  return parts.empty() ? std::string(kNoJobs) : joined(parts, ".");
}

std::string contention_finding(const Answer& answer) {
  const ResultTable& table = answer["hours"];
  if (table.rows.empty()) return server_hours_finding(answer["server_hours"]);
  std::vector<std::string> parts;
  for (const std::string& cluster : clusters_of(table)) {
    const auto [first, second] = busiest_hours(table, cluster);
    parts.push_back(fmt::format("{}, jobs that start at {:02} h and {:02} h move the most ({} and {} of all bytes){}",
                                on(cluster), table.integer(first, "hour"), table.integer(second, "hour"),
                                percent_text(table.number(first, "share_of_bytes")),
                                percent_text(table.number(second, "share_of_bytes")), slow_hours(table, cluster, first, second)));
  }
  return joined(parts, ".");
}

}  // namespace

std::string finding_of(const Answer& answer, const AnalysisOptions& options) {
  if (answer.sql.starts_with("01")) return duration_finding(answer, options);
  if (answer.sql.starts_with("02")) return share_finding(answer);
  if (answer.sql.starts_with("03")) return efficiency_finding(answer);
  if (answer.sql.starts_with("04")) return metadata_finding(answer);
  if (answer.sql.starts_with("05")) return servers_finding(answer);
  if (answer.sql.starts_with("06")) return days_finding(answer);
  if (answer.sql.starts_with("07")) return io_share_finding(answer);
  if (answer.sql.starts_with("08")) return bursts_finding(answer);
  if (answer.sql.starts_with("09")) return contention_finding(answer);
  return "Nothing here needs advice.";
}

}  // namespace iez::jobs
