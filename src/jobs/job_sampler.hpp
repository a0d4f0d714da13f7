// What each job does to each target of a server, interval by interval, from job_stats: the collector of `iez agent`.
//
// The law of one job on one target is that of its table of counters (counter_difference.hpp), and of servers that drop an entry
// after 600 s without use: a job that the sample before did not have did all that it shows since then. The first sample of a
// target only tells where counting starts.
//
// Rows carry the scheduler's number of the job where its id tells one (lustre/job_id.hpp); several entries of one job, as those
// of its nodes, make one row. Jobs that did nothing make none.
//
// Rows of a target are put together. If the sink refuses them, or the target cannot be read to its end, its table stays as it
// was, and the next sample covers both intervals: a full disk costs time resolution, and no bytes.
//
// Cost: the text of job_stats is looked at line by line, but only entries that changed are parsed (lustre/job_stats_filter.hpp).
// Memory: some 70 bytes for each job on each OST, 140 on each MDT, and the rows of one target. At most max_entries; what is
// beyond is counted, and has no rows.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "jobs/row_sink.hpp"
#include "lustre/param_source.hpp"

namespace iez::jobs {

class JobSampler {
 public:
  struct Options {
    std::string cluster;
    std::size_t max_entries = 600'000;
    std::uint64_t seed = 0;  // of digests: drawn anew for each process
  };
  struct Taken {
    std::uint64_t targets = 0;
    std::uint64_t first_targets = 0;  // of them, those that were read for the first time
    std::uint64_t entries = 0;        // jobs on targets, as listed
    std::uint64_t changed = 0;        // of them, those that were parsed
    std::uint64_t rows = 0;
    std::uint64_t restarted = 0;
    std::uint64_t over_limit = 0;  // entries beyond max_entries
    std::uint64_t repeated = 0;    // entries of an id that the target listed already: left out
  };

  JobSampler(std::vector<std::unique_ptr<lustre::ParamSource>> sources, Options options);
  ~JobSampler();
  JobSampler(const JobSampler&) = delete;
  JobSampler& operator=(const JobSampler&) = delete;
  JobSampler(JobSampler&&) = delete;
  JobSampler& operator=(JobSampler&&) = delete;

  // Every target once. A target that cannot be read is in report; fails if the sink refuses rows, after all targets were read.
  [[nodiscard]] Result<Taken> take(const Clock& clock, RowSink& sink, input::ParseReport& report);

  std::size_t bytes() const;  // of its tables

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace iez::jobs
