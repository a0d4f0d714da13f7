// `iez jobs`: statistics of jobs. What is kept, analysed and told; how it is collected is in jobs_collect*.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "jobs/analysis.hpp"
#include "jobs/job_store.hpp"
#include "jobs/synth.hpp"

namespace iez::cli {

struct JobsStoreOptions {
  std::string store;  // a folder; empty: jobs_store_path()
  bool json = false;
};

struct JobsIngestOptions {
  JobsStoreOptions common;
  std::vector<std::string> files;  // "-": standard input; none: the same
  bool anonymous = false;
};

struct JobsSynthOptions {
  jobs::SynthOptions synth;
  std::string output = "-";
};

struct JobsRetainOptions {
  JobsStoreOptions common;
  std::uint64_t months = 0;
};

// What is asked of a store.
struct JobsRangeOptions {
  std::string from;  // 2018-06-07, 2018-06-07T12:00, or seconds since 1970
  std::string to;
  std::string cluster;
  std::string time_zone;
};

struct JobsReportOptions {
  JobsStoreOptions common;
  JobsRangeOptions range;
  jobs::AnalysisOptions analysis;
  std::string out;  // HTML
  std::string csv;  // a folder
  std::string md;
  bool no_header = false;
};

struct JobsShowOptions {
  JobsStoreOptions common;
  JobsRangeOptions range;
  std::string job;
  jobs::AnalysisOptions analysis;
  bool no_header = false;
};

struct JobsUserOptions {
  JobsStoreOptions common;
  JobsRangeOptions range;
  std::string user;
  jobs::AnalysisOptions analysis;
  bool no_header = false;
};

struct JobsContentionOptions {
  JobsStoreOptions common;
  std::string cluster;
  std::string at;
  bool no_header = false;
};

struct JobsSqlOptions {
  std::string name;
};

[[nodiscard]] Result<void> run_jobs_ingest(const JobsIngestOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_synth(const JobsSynthOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_check(const JobsStoreOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_compact(const JobsStoreOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_retain(const JobsRetainOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_report(const JobsReportOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_show(const JobsShowOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_user(const JobsUserOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_contention(const JobsContentionOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_sql(const JobsSqlOptions& options, Context& context);

// The folder as given; else IEZ_JOBS_STORE; else /var/lib/iez/jobs for root, and "jobs" in the state folder of others.
[[nodiscard]] Result<std::string> jobs_store_path(const std::string& given);

// Seconds since 1970, UTC: of a date, of a date and time, or as they are. `name` is the option.
[[nodiscard]] Result<std::int64_t> parse_time(std::string_view name, std::string_view text);
// Names the wrong option.
[[nodiscard]] Result<jobs::JobReader::Options> reader_options(const JobsStoreOptions& common, const JobsRangeOptions& range);

// "2018-06-07 12:00"
std::string time_text(std::int64_t seconds);

}  // namespace iez::cli
