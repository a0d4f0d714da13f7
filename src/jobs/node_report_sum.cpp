#include "jobs/node_report_sum.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/units.hpp"

namespace iez::jobs {

namespace {

auto job_of(const NodeReport& report) { return std::tie(report.job.cluster, report.job.id); }

bool earlier(const NodeReport& a, const NodeReport& b) {
  return std::tie(a.job.cluster, a.job.id, a.started, a.job.node, a.ended) <
         std::tie(b.job.cluster, b.job.id, b.started, b.job.node, b.ended);
}

// One life of a job; a requeued one has several.
struct Run {
  std::map<std::string_view, const NodeReport*> nodes;
  std::int64_t started = 0;
  std::int64_t ended = 0;

  bool takes(const NodeReport& report) const {
    return !nodes.contains(report.job.node) && report.started <= ended + kClocksApart && report.ended + kClocksApart >= started;
  }
  void add(const NodeReport& report) {
    started = nodes.empty() ? report.started : std::min(started, report.started);
    ended = nodes.empty() ? report.ended : std::max(ended, report.ended);
    nodes.emplace(report.job.node, &report);
  }
};

JobSum sum_of(const Run& run) {
  JobSum sum;
  sum.row.started = run.started;
  sum.row.ended = run.ended;
  IoCounters io;
  NetworkCounts network;
  std::uint64_t memory = 0;
  bool all_network = true;
  bool all_memory = true;
  for (const auto& [node, report] : run.nodes) {
    sum.row.cluster = report->job.cluster;
    sum.row.id = report->job.id;
    if (sum.row.user.empty()) sum.row.user = report->job.user;
    sum.row.nodes = std::max(sum.row.nodes, report->job.nodes);
    add(io, report->io);
    all_network = all_network && report->network.has_value();
    if (report->network) add(network, *report->network);
    all_memory = all_memory && report->memory.has_value();
    memory = saturating_add(memory, report->memory.value_or(0));
    sum.shared += report->others > 0 ? 1 : 0;
    sum.restarted += report->restarted > 0 ? 1 : 0;
    sum.lost_mounts += report->lost_mounts;
  }
  sum.reports = static_cast<std::uint32_t>(run.nodes.size());
  sum.nodes_known = sum.row.nodes > 0;
  sum.row.nodes = std::max(sum.row.nodes, sum.reports);
  sum.row.silent_nodes = sum.row.nodes - sum.reports;
  sum.row.data = io.data;
  sum.row.metadata = io.metadata;
  if (all_network) sum.row.network = network;
  if (all_memory && sum.row.silent_nodes == 0) sum.row.memory = memory;
  return sum;
}

// REQUIRES: of one job, ascending by start.
void add_job(std::span<const NodeReport> reports, ReportSums& sums) {
  std::vector<Run> runs;
  for (const NodeReport& report : reports) {
    const auto found = std::find_if(runs.rbegin(), runs.rend(), [&report](const Run& run) { return run.takes(report); });
    if (found != runs.rend()) {
      found->add(report);
    } else {
      runs.emplace_back().add(report);
    }
  }
  sums.jobs.reserve(sums.jobs.size() + runs.size());
  for (const Run& run : runs) sums.jobs.push_back(sum_of(run));
}

}  // namespace

ReportSums sum_reports(std::vector<NodeReport> reports) {
  ReportSums sums;
  std::ranges::sort(reports, earlier);
  // Of the same start and node the last is the one that ended last.
  const auto same = [](const NodeReport& a, const NodeReport& b) {
    return job_of(a) == job_of(b) && a.started == b.started && a.job.node == b.job.node;
  };
  std::vector<NodeReport> kept;
  kept.reserve(reports.size());
  for (NodeReport& report : reports) {
    if (!kept.empty() && same(kept.back(), report)) {
      ++sums.duplicates;
      kept.back() = std::move(report);
    } else {
      kept.push_back(std::move(report));
    }
  }
  for (auto first = kept.begin(); first != kept.end();) {
    const auto last =
        std::find_if(first, kept.end(), [&first](const NodeReport& other) { return job_of(other) != job_of(*first); });
    add_job({first, last}, sums);
    first = last;
  }
  return sums;
}

}  // namespace iez::jobs
