#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "jobs/census.hpp"

namespace iez::jobs {

namespace {

using enum ColumnKind;

constexpr std::int64_t kMicroseconds = 1000000;
constexpr std::array<std::string_view, kOperations> kOperationNames{"open",   "close", "create", "mkdir", "mknod",
                                                                    "rename", "rmdir", "unlink", "all"};

std::int64_t seconds_of(std::int64_t time) { return time / kMicroseconds - (time % kMicroseconds < 0 ? 1 : 0); }

double as_double(WideSum sum) { return static_cast<double>(sum); }

void number_or_null(DuckAppender& rows, bool known, double value) {
  if (known) {
    rows.number(value);
  } else {
    rows.null();
  }
}

Result<DuckAppender> new_table(Duck& duck, const std::string& name, std::span<const DuckColumn> columns) {
  std::string list;
  for (const DuckColumn& column : columns) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", column.name, sql_type(column.kind));
  }
  IEZ_CHECK(duck.run(fmt::format("CREATE TEMP TABLE {}({})", name, list)));
  return duck.append_to(name, columns);
}

Result<void> write_users(Duck& duck, const Census& census) {
  static constexpr std::array kColumns{DuckColumn{"cluster", text},
                                       DuckColumn{"uid", text},
                                       DuckColumn{"jobs"},
                                       DuckColumn{"incomplete_jobs"},
                                       DuckColumn{"seconds", number},
                                       DuckColumn{"exact_read_bytes", huge},
                                       DuckColumn{"exact_write_bytes", huge},
                                       DuckColumn{"read_bytes", number},
                                       DuckColumn{"write_bytes", number},
                                       DuckColumn{"write_calls", number},
                                       DuckColumn{"opens", number},
                                       DuckColumn{"closes", number},
                                       DuckColumn{"unclosed", number},
                                       DuckColumn{"unclosed_jobs"},
                                       DuckColumn{"metadata_calls", number},
                                       DuckColumn{"io_jobs"},
                                       DuckColumn{"io_write_calls", number},
                                       DuckColumn{"largest_job_bytes"},
                                       DuckColumn{"smallest_job_bytes"},
                                       DuckColumn{"call_bytes", number},
                                       DuckColumn{"call_jobs"},
                                       DuckColumn{"largest_call", number}};
  IEZ_TRY(DuckAppender rows, new_table(duck, "users", kColumns));
  for (std::uint32_t i = 0; i < census.users().size(); ++i) {
    const UserSums& user = census.user_sums()[i];
    rows.text(census.clusters()[census.users()[i].group].text);
    rows.text(census.users()[i].text);
    rows.count(user.jobs);
    rows.count(user.incomplete_jobs);
    rows.number(user.seconds);
    rows.huge(user.read_bytes);
    rows.huge(user.write_bytes);
    for (const WideSum sum : {user.read_bytes, user.write_bytes, user.write_calls, user.opens, user.closes, user.unclosed}) {
      rows.number(as_double(sum));
    }
    rows.count(user.unclosed_jobs);
    rows.number(as_double(user.metadata_calls));
    rows.count(user.io_jobs);
    number_or_null(rows, user.io_jobs > 0, as_double(user.io_write_calls));
    rows.integer(user.largest_job_bytes);
    if (user.smallest_job_bytes > 0) {
      rows.integer(user.smallest_job_bytes);
    } else {
      rows.null();
    }
    number_or_null(rows, user.call_jobs > 0, user.call_bytes);
    rows.count(user.call_jobs);
    number_or_null(rows, user.call_jobs > 0, user.largest_call);
    IEZ_CHECK(rows.end_row());
  }
  return rows.finish();
}

Result<void> write_hours(Duck& duck, const Census& census) {
  static constexpr std::array kColumns{DuckColumn{"cluster", text}, DuckColumn{"uid", text},     DuckColumn{"hour"},
                                       DuckColumn{"jobs"},          DuckColumn{"bytes", number}, DuckColumn{"seconds", number}};
  IEZ_TRY(DuckAppender rows, new_table(duck, "user_hours", kColumns));
  for (std::uint32_t i = 0; i < census.users().size(); ++i) {
    for (std::size_t hour = 0; hour < UserSums::kHours; ++hour) {
      const UserSums::Hour& sums = census.user_sums()[i].hours[hour];
      if (sums.jobs == 0) continue;
      rows.text(census.clusters()[census.users()[i].group].text);
      rows.text(census.users()[i].text);
      rows.count(hour);
      rows.count(sums.jobs);
      rows.number(sums.bytes);
      rows.number(sums.seconds);
      IEZ_CHECK(rows.end_row());
    }
  }
  return rows.finish();
}

Result<void> write_days(Duck& duck, const Census& census) {
  static constexpr std::array kColumns{DuckColumn{"cluster", text},
                                       DuckColumn{"day", date},
                                       DuckColumn{"jobs"},
                                       DuckColumn{"first_started", timestamp},
                                       DuckColumn{"last_started", timestamp},
                                       DuckColumn{"longest"},
                                       DuckColumn{"longest_bytes", number}};
  IEZ_TRY(DuckAppender rows, new_table(duck, "job_days", kColumns));
  for (const Census::Day& day : census.days()) {
    rows.text(census.clusters()[day.cluster].text);
    rows.date(day.day);
    rows.count(day.sums.jobs);
    rows.timestamp(seconds_of(day.sums.first_started));
    rows.timestamp(seconds_of(day.sums.last_started));
    rows.integer(day.sums.longest);
    rows.number(static_cast<double>(day.sums.longest_bytes));
    IEZ_CHECK(rows.end_row());
  }
  return rows.finish();
}

Result<void> write_heaviest(Duck& duck, const Census& census, const std::string& table, const DuckColumn& when,
                            const std::vector<Census::Heaviest>& all) {
  const std::array columns{DuckColumn{"cluster", text}, when, DuckColumn{"bytes", number}, DuckColumn{"uid", text},
                           DuckColumn{"most", number}};
  IEZ_TRY(DuckAppender rows, new_table(duck, table, columns));
  for (const Census::Heaviest& heaviest : all) {
    rows.text(census.clusters()[heaviest.cluster].text);
    if (when.kind == date) {
      rows.date(heaviest.day);
    } else {
      rows.integer(heaviest.day + 1);
    }
    rows.number(heaviest.bytes);
    rows.text(census.users()[heaviest.user].text);
    rows.number(heaviest.most);
    IEZ_CHECK(rows.end_row());
  }
  return rows.finish();
}

// Of a cluster's durations, or nodes: what the columns of both tables need.
struct Metric {
  std::string_view name;
  ValueCounts ClusterSums::* counts;
  double scale = 1;
  double mark = 0;  // in the unit of values
};

// The values of a cluster, in order.
struct Counted {
  std::string_view cluster;
  const Metric& metric;
  std::vector<ValueCounts::Entry> entries;
};

Result<void> write_statistics(Duck& duck, std::span<const Counted> all_counted) {
  static constexpr std::array kColumns{
      DuckColumn{"cluster", text},  DuckColumn{"metric", text},  DuckColumn{"jobs"},
      DuckColumn{"least", number},  DuckColumn{"most", number},  DuckColumn{"mean", number},
      DuckColumn{"median", number}, DuckColumn{"below", number}, DuckColumn{"below_what", number}};
  IEZ_TRY(DuckAppender rows, new_table(duck, "value_statistics", kColumns));
  for (const auto& [cluster, metric, entries] : all_counted) {
    std::uint64_t jobs = 0;
    std::uint64_t below = 0;
    double sum = 0;
    for (const auto& [value, count] : entries) {
      jobs += count;
      if (static_cast<double>(value) < metric.mark) below += count;
      sum += static_cast<double>(value) * static_cast<double>(count);
    }
    // The value of the job in this place, counted from 1.
    const auto in_place = [&entries](std::uint64_t place) {
      std::uint64_t up_to = 0;
      const auto found =
          std::ranges::find_if(entries, [&](const ValueCounts::Entry& entry) { return (up_to += entry.count) >= place; });
      return static_cast<double>(found->value);
    };
    const auto all = static_cast<double>(jobs);
    rows.text(cluster);
    rows.text(metric.name);
    rows.count(jobs);
    rows.number(static_cast<double>(entries.front().value) / metric.scale);
    rows.number(static_cast<double>(entries.back().value) / metric.scale);
    rows.number(sum / all / metric.scale);
    rows.number((in_place((jobs + 1) / 2) + in_place(jobs / 2 + 1)) / 2 / metric.scale);
    rows.number(static_cast<double>(below) / all);
    rows.number(metric.mark / metric.scale);
    IEZ_CHECK(rows.end_row());
  }
  return rows.finish();
}

Result<void> write_shares(Duck& duck, std::span<const Counted> all_counted) {
  static constexpr std::array kColumns{DuckColumn{"cluster", text}, DuckColumn{"metric", text}, DuckColumn{"up_to", number},
                                       DuckColumn{"share", number}};
  constexpr double kBins = 40;  // of a power of ten
  IEZ_TRY(DuckAppender rows, new_table(duck, "value_shares", kColumns));
  for (const auto& [cluster, metric, entries] : all_counted) {
    std::map<double, std::uint64_t> bins;
    std::uint64_t jobs = 0;
    for (const auto& [value, count] : entries) {
      bins[std::ceil(std::log10(static_cast<double>(std::max<std::int64_t>(value, 1))) * kBins)] += count;
      jobs += count;
    }
    std::uint64_t so_far = 0;
    for (const auto& [bin, count] : bins) {
      so_far += count;
      rows.text(cluster);
      rows.text(metric.name);
      rows.number(std::pow(10.0, bin / kBins) / metric.scale);
      rows.number(static_cast<double>(so_far) / static_cast<double>(jobs));
      IEZ_CHECK(rows.end_row());
    }
  }
  return rows.finish();
}

Result<void> write_call_sizes(Duck& duck, const Census& census) {
  static constexpr std::array kColumns{DuckColumn{"cluster", text}, DuckColumn{"log2_call"}, DuckColumn{"jobs"},
                                       DuckColumn{"bytes", number}};
  IEZ_TRY(DuckAppender rows, new_table(duck, "call_sizes", kColumns));
  for (std::uint32_t i = 0; i < census.clusters().size(); ++i) {
    const ClusterSums& cluster = census.cluster_sums()[i];
    for (std::size_t size = 0; size < ClusterSums::kCallSizes; ++size) {
      if (cluster.call_jobs[size] == 0) continue;
      rows.text(census.clusters()[i].text);
      rows.count(size);
      rows.count(cluster.call_jobs[size]);
      rows.number(as_double(cluster.call_bytes[size]));
      IEZ_CHECK(rows.end_row());
    }
  }
  return rows.finish();
}

Result<void> write_cells(Duck& duck, const Census& census) {
  static constexpr std::array kColumns{DuckColumn{"cluster", text}, DuckColumn{"x"}, DuckColumn{"y"}, DuckColumn{"jobs"}};
  IEZ_TRY(DuckAppender rows, new_table(duck, "write_cells", kColumns));
  for (std::uint32_t i = 0; i < census.clusters().size(); ++i) {
    for (const ValueCounts::Entry& cell : census.cluster_sums()[i].cells.sorted()) {
      rows.text(census.clusters()[i].text);
      rows.integer(cell.value / ClusterSums::kCellRow);
      rows.integer(cell.value % ClusterSums::kCellRow);
      rows.count(cell.count);
      IEZ_CHECK(rows.end_row());
    }
  }
  return rows.finish();
}

Result<void> write_correlations(Duck& duck, const Census& census) {
  static constexpr std::array kColumns{DuckColumn{"cluster", text}, DuckColumn{"operation", text}, DuckColumn{"r", number},
                                       DuckColumn{"r_log", number}, DuckColumn{"calls", number}};
  IEZ_TRY(DuckAppender rows, new_table(duck, "write_correlations", kColumns));
  for (std::uint32_t i = 0; i < census.clusters().size(); ++i) {
    const ClusterSums& cluster = census.cluster_sums()[i];
    if (cluster.writers == 0) continue;
    for (std::size_t operation = 0; operation < kOperations; ++operation) {
      const auto r = cluster.moments[operation].correlation();
      const auto r_log = cluster.log_moments[operation].correlation();
      rows.text(census.clusters()[i].text);
      rows.text(kOperationNames[operation]);
      number_or_null(rows, r.has_value(), r.value_or(0));
      number_or_null(rows, r_log.has_value(), r_log.value_or(0));
      rows.number(cluster.calls[operation]);
      IEZ_CHECK(rows.end_row());
    }
  }
  return rows.finish();
}

}  // namespace

Result<void> make_census(Duck& duck, const AnalysisOptions& options) {
  constexpr double kSecondsOfHour = 3600;
  constexpr double kMost = 9e18;
  Census census(static_cast<std::int64_t>(std::clamp(std::ceil(options.longest_hours * kSecondsOfHour), 0.0, kMost)));
  IEZ_CHECK(duck.fold("jobs", Census::columns(), census));
  const std::array metrics{Metric{"duration_h", &ClusterSums::durations, kSecondsOfHour, options.short_hours * kSecondsOfHour},
                           Metric{"nodes", &ClusterSums::nodes, 1, options.few_nodes}};
  std::vector<Counted> counted;
  for (std::uint32_t i = 0; i < census.clusters().size(); ++i) {
    for (const Metric& metric : metrics) {
      auto entries = (census.cluster_sums()[i].*metric.counts).sorted();
      if (!entries.empty())
        counted.push_back({.cluster = census.clusters()[i].text, .metric = metric, .entries = std::move(entries)});
    }
  }
  IEZ_CHECK(write_statistics(duck, counted));
  IEZ_CHECK(write_shares(duck, counted));
  IEZ_CHECK(write_users(duck, census));
  IEZ_CHECK(write_hours(duck, census));
  IEZ_CHECK(write_days(duck, census));
  IEZ_CHECK(write_heaviest(duck, census, "heaviest_of_days", {"day", date}, census.heaviest_of_days()));
  IEZ_CHECK(write_heaviest(duck, census, "heaviest_of_weekdays", {"weekday", integer}, census.heaviest_of_weekdays()));
  IEZ_CHECK(write_call_sizes(duck, census));
  IEZ_CHECK(write_cells(duck, census));
  return write_correlations(duck, census);
}

}  // namespace iez::jobs
