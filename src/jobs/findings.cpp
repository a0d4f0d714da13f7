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

using Findings = std::vector<Finding>;

constexpr std::string_view kNoJobs = "no job of this range: nothing can be said";
constexpr std::string_view kNoSeries = "no time series of this range: nothing can be said. Agents on the servers collect them";

// What was found, or else why there is nothing.
Findings or_else(Findings found, std::string_view why) {
  if (found.empty()) found.push_back({.cluster = {}, .text = std::string(why)});
  return found;
}

void add(Findings& found, const std::string& cluster, std::string text) {
  found.push_back({.cluster = cluster, .text = std::move(text)});
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

Findings duration_findings(const Answer& answer, const AnalysisOptions& options) {
  const ResultTable& table = answer["statistics"];
  Findings found;
  for (const std::string& cluster : clusters_of(table)) {
    const std::size_t time = find_row(table, {{"cluster", cluster}, {"metric", "duration_h"}});
    const std::size_t nodes = find_row(table, {{"cluster", cluster}, {"metric", "nodes"}});
    add(found, cluster,
        fmt::format(
            "{} of {} jobs run less than {:g} h (mean {}, median {}) and {} use fewer than {:g} nodes (mean {:.1f}, median {:g})",
            percent_text(table.number(time, "below")), count_text(table.number(time, "jobs")), options.short_hours,
            hours_text(table.number(time, "mean")), hours_text(table.number(time, "median")),
            percent_text(table.number(nodes, "below")), options.few_nodes, table.number(nodes, "mean"),
            table.number(nodes, "median")));
  }
  return or_else(std::move(found), kNoJobs);
}

Findings share_findings(const Answer& answer) {
  const ResultTable& table = answer["histogram"];
  Findings found;
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
    add(found, cluster,
        fmt::format(
            "{} of {} users mostly read (below 40 % writing) and {} mostly write (60 % and more); of all bytes {} are written",
            count_text(readers), count_text(users), count_text(writers), percent_text(written / (read + written))));
  }
  return or_else(std::move(found), "no job of this range read or wrote");
}

Findings efficiency_findings(const Answer& answer) {
  const ResultTable& table = answer["classes"];
  Findings found;
  for (const std::string& cluster : clusters_of(table)) {
    const std::size_t jobs = find_row(table, {{"cluster", cluster}, {"what", "jobs"}});
    const std::size_t users = find_row(table, {{"cluster", cluster}, {"what", "users"}});
    const double heavy = table.number(jobs, "heavy");
    if (heavy <= 0) continue;
    add(found, cluster,
        fmt::format("{} of {} jobs that write more than the mean ({}) do so in calls below the mean ({}): {} inefficient, {} "
                    "efficient; of {} "
                    "heavy users {} are inefficient",
                    percent_text(table.number(jobs, "inefficient") / heavy), count_text(heavy),
                    bytes_text(table.number(jobs, "mean_bytes")), bytes_text(table.number(jobs, "mean_call")),
                    count_text(table.number(jobs, "inefficient")), count_text(table.number(jobs, "efficient")),
                    count_text(table.number(users, "heavy")), count_text(table.number(users, "inefficient"))));
  }
  return or_else(std::move(found), "no job of this range wrote more than the mean");
}

Findings metadata_findings(const Answer& answer) {
  const ResultTable& table = answer["correlations"];
  Findings found;
  for (const std::string& cluster : clusters_of(table)) {
    std::size_t best = table.rows.size();
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.text(row, "cluster") != cluster || table.text(row, "operation") == "all" || table.absent(row, "r")) continue;
      if (best == table.rows.size() || table.number(row, "r") > table.number(best, "r")) best = row;
    }
    if (best == table.rows.size()) continue;
    const std::size_t all = find_row(table, {{"cluster", cluster}, {"operation", "all"}});
    add(found, cluster,
        fmt::format(
            "of all metadata operations, {} goes best with the bytes that a job writes (correlation {:.2f}; all together {:.2f})",
            table.text(best, "operation"), table.number(best, "r"), table.number(all, "r")));
  }
  return or_else(std::move(found), "no job of this range wrote anything to correlate with");
}

Findings servers_findings(const Answer& answer) {
  const ResultTable& mdts = answer["mdts"];
  const ResultTable& unclosed = answer["unclosed"];
  Findings found;
  for (const std::string& cluster : clusters_of(mdts)) {
    std::size_t busiest = mdts.rows.size();
    double count = 0;
    for (std::size_t row = 0; row < mdts.rows.size(); ++row) {
      if (mdts.text(row, "cluster") != cluster) continue;
      ++count;
      if (busiest == mdts.rows.size() || mdts.number(row, "opens") > mdts.number(busiest, "opens")) busiest = row;
    }
    add(found, cluster,
        fmt::format("of {:g} metadata targets {} takes the most opens, {} of all", count, mdts.text(busiest, "mdt"),
                    percent_text(mdts.number(busiest, "share_of_opens"))));
  }
  for (std::size_t row = 0; row < unclosed.rows.size(); ++row) {
    const double opens = unclosed.number(row, "opens");
    if (opens <= 0) continue;
    add(found, unclosed.text(row, "cluster"),
        fmt::format("{} of {} opened files were never closed, by {} users",
                    percent_text(unclosed.number(row, "unclosed") / opens), count_text(opens),
                    count_text(unclosed.number(row, "users"))));
  }
  return or_else(std::move(found), "no opens were counted in this range");
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Findings days_findings(const Answer& answer) {
  const ResultTable& table = answer["days"];
  Findings found;
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
    add(found, cluster,
        fmt::format("the busiest day ({}) moved {}, {:.1f} times the median day; on a median day the heaviest user makes {} "
                    "of the bytes, the "
                    "longest job {}",
                    table.text(busiest, "day"), bytes_text(table.number(busiest, "bytes")),
                    usual > 0 ? table.number(busiest, "bytes") / usual : 0, percent_text(median_of(heaviest)),
                    percent_text(median_of(longest))));
  }
  return or_else(std::move(found), kNoJobs);
}

Findings io_share_findings(const Answer& answer) {
  const ResultTable& table = answer["statistics"];
  Findings found;
  for (const std::string& cluster : clusters_of(table)) {
    const std::size_t all = find_row(table, {{"cluster", cluster}, {"jobs_that", "all"}});
    const std::size_t writers = find_row(table, {{"cluster", cluster}, {"jobs_that", "write"}});
    if (all == table.rows.size()) continue;
    std::string part = fmt::format("{} jobs that read or write do so in {} of their minutes on average",
                                   count_text(table.number(all, "jobs")), percent_text(table.number(all, "mean_share")));
    if (writers != table.rows.size()) {
      part += fmt::format(", the {} that write in {}", count_text(table.number(writers, "jobs")),
                          percent_text(table.number(writers, "mean_share")));
    }
    add(found, cluster, std::move(part));
  }
  return or_else(std::move(found), kNoSeries);
}

Findings bursts_findings(const Answer& answer) {
  const ResultTable& largest = answer["largest"];
  const ResultTable& sizes = answer["size_classes"];
  Findings found;
  for (std::size_t row = 0; row < largest.rows.size(); ++row) {
    const double jobs = largest.number(row, "jobs");
    add(found, largest.text(row, "cluster"),
        fmt::format("{} of {} jobs never write a burst of 5 % of their memory, and {} write one above half of it",
                    percent_text(largest.number(row, "below_5_percent") / jobs), count_text(jobs),
                    count_text(largest.number(row, "above_50_percent"))));
  }
  for (const std::string& cluster : clusters_of(sizes)) {
    std::size_t most = sizes.rows.size();
    for (std::size_t row = 0; row < sizes.rows.size(); ++row) {
      if (sizes.text(row, "cluster") != cluster) continue;
      if (most == sizes.rows.size() || sizes.number(row, "jobs_mostly") > sizes.number(most, "jobs_mostly")) most = row;
    }
    add(found, cluster,
        fmt::format("{} jobs spend over half of their I/O time in bursts of {}", count_text(sizes.number(most, "jobs_mostly")),
                    sizes.text(most, "size")));
  }
  return or_else(std::move(found), kNoSeries);
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

// "in the hours from 05:00 and from 11:00 move the most (29.4 % and 28.6 % of all bytes)", or the one hour that there is.
std::string busiest_text(const ResultTable& table, std::size_t first, std::size_t second) {
  const auto hour = [&](std::size_t row) { return hour_of_day_text(table.integer(row, "hour")); };
  const auto share = [&](std::size_t row) { return percent_text(table.number(row, "share_of_bytes")); };
  return first == second ? fmt::format("in the hour from {} move the most ({} of all bytes)", hour(first), share(first))
                         : fmt::format("in the hours from {} and from {} move the most ({} and {} of all bytes)", hour(first),
                                       hour(second), share(first), share(second));
}

// Of clusters whose servers told no jobs apart.
Findings server_hours_findings(const ResultTable& table) {
  Findings found;
  for (const std::string& cluster : clusters_of(table)) {
    const auto [first, second] = busiest_hours(table, cluster);
    add(found, cluster, fmt::format("servers {}", busiest_text(table, first, second)));
  }
  return or_else(std::move(found), kNoJobs);
}

Findings contention_findings(const Answer& answer) {
  const ResultTable& table = answer["hours"];
  if (table.rows.empty()) return server_hours_findings(answer["server_hours"]);
  Findings found;
  for (const std::string& cluster : clusters_of(table)) {
    const auto [first, second] = busiest_hours(table, cluster);
    add(found, cluster,
        fmt::format("jobs that start {}{}", busiest_text(table, first, second), slow_hours(table, cluster, first, second)));
  }
  return found;
}

}  // namespace

std::vector<Finding> findings_of(const Answer& answer, const AnalysisOptions& options) {
  if (answer.sql.starts_with("01")) return duration_findings(answer, options);
  if (answer.sql.starts_with("02")) return share_findings(answer);
  if (answer.sql.starts_with("03")) return efficiency_findings(answer);
  if (answer.sql.starts_with("04")) return metadata_findings(answer);
  if (answer.sql.starts_with("05")) return servers_findings(answer);
  if (answer.sql.starts_with("06")) return days_findings(answer);
  if (answer.sql.starts_with("07")) return io_share_findings(answer);
  if (answer.sql.starts_with("08")) return bursts_findings(answer);
  if (answer.sql.starts_with("09")) return contention_findings(answer);
  return or_else({}, "nothing here needs advice");
}

std::string sentence(std::string_view text) {
  std::string out = fmt::format("{}.", text);
  if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string finding_text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    if (!out.empty()) out += ' ';
    out += finding.cluster.empty() ? sentence(finding.text) : fmt::format("On {}, {}.", finding.cluster, finding.text);
  }
  return out;
}

}  // namespace iez::jobs
