#include "jobs/spool_collect.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace iez::jobs {

namespace {

using JobName = std::pair<std::string_view, std::string_view>;  // cluster and id

bool overlap(std::int64_t started, std::int64_t ended, const JobRow& row) {
  return row.started <= ended + kClocksApart && row.ended + kClocksApart >= started;
}

// What the files hold that is not handed on at once.
struct Contents {
  std::vector<NodeReport> reports;
  std::vector<CollectedMark> marks;
};

class Collector {
 public:
  Collector(const CollectOptions& options, RowSink& sink, CollectSummary& summary)
      : options_(options), sink_(sink), summary_(summary) {}

  Result<void> read(const std::string& file, input::ParseReport& problems) {
    std::optional<Error> refused;
    SpoolVisitor visitor;
    visitor.jobs = [&](std::span<const JobRow> rows) { return hand_on(rows, summary_.job_rows, refused); };
    visitor.series = [&](std::span<const SeriesRow> rows) { return hand_on(rows, summary_.series_rows, refused); };
    visitor.reports = [&](std::span<const NodeReport> reports) {
      contents_.reports.insert(contents_.reports.end(), reports.begin(), reports.end());
      return Result<void>{};
    };
    visitor.marks = [&](std::span<const CollectedMark> marks) {
      contents_.marks.insert(contents_.marks.end(), marks.begin(), marks.end());
      return Result<void>{};
    };
    const auto read = read_spool_file(file, visitor);
    if (refused) return std::unexpected(*std::move(refused));
    if (!read) {
      problems.skip(file, 0, read.error().message);
      return {};
    }
    ++summary_.files;
    summary_.spool.frames += read->frames;
    summary_.spool.unknown_frames += read->unknown_frames;
    summary_.spool.damaged_bytes += read->damaged_bytes;
    summary_.spool.torn_bytes += read->torn_bytes;
    if (read->damaged_bytes > 0) problems.skip(file, 0, std::to_string(read->damaged_bytes) + " damaged bytes were passed over");
    return {};
  }

  Result<void> finish() {
    summary_.reports = contents_.reports.size();
    ReportSums sums = sum_reports(std::move(contents_.reports));
    summary_.duplicates = sums.duplicates;
    index();
    std::vector<JobRow> rows;
    rows.reserve(sums.jobs.size());
    for (JobSum& job : sums.jobs) {
      if (take(job)) rows.push_back(std::move(job.row));
    }
    summary_.jobs = rows.size();
    return rows.empty() ? Result<void>{} : sink_.put(std::span<const JobRow>(rows));
  }

 private:
  template <typename Row>
  Result<void> hand_on(std::span<const Row> rows, std::uint64_t& count, std::optional<Error>& refused) {
    if (!options_.rows) return {};
    count += rows.size();
    auto put = sink_.put(rows);
    if (!put) refused = put.error();
    return put;
  }

  void index() {
    for (const CollectedMark& mark : contents_.marks) marks_.emplace(JobName{mark.cluster, mark.id}, &mark);
    for (const JobRow& fact : options_.facts) facts_.emplace(JobName{fact.cluster, fact.id}, &fact);
  }

  // The mark of this run of the job, with the most reports.
  const CollectedMark* mark_of(const JobRow& row) const {
    const CollectedMark* best = nullptr;
    const auto [first, last] = marks_.equal_range({row.cluster, row.id});
    for (auto at = first; at != last; ++at) {
      const CollectedMark* const mark = at->second;
      if (overlap(mark->started, mark->ended, row) && (best == nullptr || mark->reports > best->reports)) best = mark;
    }
    return best;
  }

  void apply_facts(JobSum& job) const {
    const auto [first, last] = facts_.equal_range({job.row.cluster, job.row.id});
    for (auto at = first; at != last; ++at) {
      const JobRow& fact = *at->second;
      if (!overlap(fact.started, fact.ended, job.row)) continue;
      job.row.started = fact.started;
      job.row.ended = fact.ended;
      if (!fact.user.empty()) job.row.user = fact.user;
      if (fact.memory) job.row.memory = fact.memory;
      if (fact.nodes > 0) {
        job.row.nodes = std::max(fact.nodes, job.reports);
        job.row.silent_nodes = job.row.nodes - job.reports;
        job.nodes_known = true;
      }
      return;
    }
  }

  // Whether its row is handed on, with its mark.
  bool take(JobSum& job) {
    apply_facts(job);
    JobRow& row = job.row;
    if (!options_.again) {
      if (const CollectedMark* const mark = mark_of(row)) {
        row.started = mark->started;
        if (job.reports <= mark->reports) {
          ++summary_.known;
          return false;
        }
        ++summary_.amended;
      } else if (!job.complete() && options_.now - row.ended < options_.patience) {
        ++summary_.waiting;
        return false;
      }
    }
    summary_.silent_nodes += row.silent_nodes;
    summary_.shared += job.shared > 0 ? 1 : 0;
    summary_.incomplete += job.restarted + job.lost_mounts > 0 ? 1 : 0;
    summary_.marks.push_back(
        {.cluster = row.cluster, .id = row.id, .started = row.started, .ended = row.ended, .reports = job.reports});
    return true;
  }

  const CollectOptions& options_;
  RowSink& sink_;
  CollectSummary& summary_;
  Contents contents_;
  std::multimap<JobName, const CollectedMark*> marks_;
  std::multimap<JobName, const JobRow*> facts_;
};

}  // namespace

Result<CollectSummary> collect(std::span<const std::string> files, const CollectOptions& options, RowSink& sink,
                               input::ParseReport& problems) {
  CollectSummary summary;
  Collector collector(options, sink, summary);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (options.progress) options.progress(i);
    IEZ_CHECK(collector.read(files[i], problems));
  }
  IEZ_CHECK(collector.finish());
  return summary;
}

}  // namespace iez::jobs
