// `iez jobs prolog`, `epilog`, `collect`, `spool` and `import`: from counters of nodes, servers and other collectors to rows of
// jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"
#include "jobs/node_report.hpp"

namespace iez::cli {

inline constexpr const char* kJobsSpool = "/var/spool/iez/jobs";
inline constexpr const char* kJobsState = "/var/lib/iez/job-nodes";

// Of the job: what is not given is as the scheduler's environment says.
struct JobsNodeOptions {
  std::vector<std::string> roots;
  std::string state = kJobsState;
  std::string spool = kJobsSpool;
  std::optional<std::string> job;
  std::optional<std::string> cluster;
  std::optional<std::string> user;
  std::optional<std::string> node;
  std::optional<std::uint32_t> nodes;
};

struct JobsCollectOptions {
  std::vector<std::string> spools;  // files and folders; empty: kJobsSpool
  std::string out;                  // empty: rows are shown, and nothing is marked
  std::string sacct;                // what the scheduler knows of the jobs
  std::string zone = "utc";         // of the times in it
  Duration wait{std::chrono::hours{1}};
  bool again = false;
  bool json = false;
  bool no_header = false;
};

struct JobsSpoolOptions {
  std::vector<std::string> spools;
  bool json = false;
  bool no_header = false;
};

enum class ImportFormat : std::uint8_t { sacct, influx, csv, prometheus, lmt };

struct JobsImportOptions {
  std::optional<ImportFormat> format;
  std::vector<std::string> files;  // "-": standard input
  std::optional<std::string> url;  // of Prometheus, or of the database of LMT
  std::string token_file;          // for Prometheus
  std::string ca_file;             // likewise
  std::string out = kJobsSpool;    // a spool
  std::string cluster;
  std::string zone = "utc";
  std::string delimiter = "|";      // of sacct
  std::string fields;               // of sacct --noheader
  std::optional<std::string> from;  // of --url
  std::optional<std::string> to;
  std::optional<std::string> at;  // of scrapes
  Duration step{60'000'000'000};
  bool json = false;
};

[[nodiscard]] Result<void> run_jobs_import(const JobsImportOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_prolog(const JobsNodeOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_epilog(const JobsNodeOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_collect(const JobsCollectOptions& options, Context& context);
[[nodiscard]] Result<void> run_jobs_spool(const JobsSpoolOptions& options, Context& context);

// The job that options and environment name. Errc::invalid_argument: none.
[[nodiscard]] Result<jobs::JobOnNode> job_on_node(const JobsNodeOptions& options);

// "n[1-3,7],m1": 5. Nothing: not a list of hosts.
std::optional<std::uint32_t> count_hosts(std::string_view list);

// The name of this host.
std::string host_name();

}  // namespace iez::cli
