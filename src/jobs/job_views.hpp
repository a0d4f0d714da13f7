// One job, one user, one moment: what a store knows of them.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jobs/analysis.hpp"
#include "jobs/job_store.hpp"
#include "jobs/report.hpp"

namespace iez::jobs {

// How well a job's writes suit the file system: by bytes a call. A from 1 MiB, B from 256 KiB, C from 64 KiB, D from 4 KiB, E
// below;
// '-' if it wrote nothing.
char write_grade(double bytes, double calls);

struct JobLife {
  ResultTable job;         // one row; none if the job is known by its series alone
  ResultTable minutes;     // slot, read_bytes, write_bytes
  ResultTable bursts;      // slot, minutes, bytes, of_memory
  ResultTable targets;     // OSTs and MDTs, with what the job did there
  ResultTable contention;  // by OST: minutes in which others moved data there, too; theirs and ours
  char grade = '-';
};

// The last run of that id, if there are several. Fails (not_found) if nothing is known of it. REQUIRES: prepare().
[[nodiscard]] Result<JobLife> life_of(JobReader& reader, std::string_view job);

struct UserView {
  ResultTable summary;  // as in table users of 10_advice.sql: one row a cluster
  ResultTable jobs;     // the largest
  ResultTable hours;    // when they start
  // For stripe advice, from time series, by cluster: osts (targets seen), own_stripes (mean of this user's jobs), others (mean
  // number of jobs that write in a minute), stripes (their mean)
  ResultTable sharing;
  std::vector<Advice> advice;
};

// REQUIRES: prepare(); user as the store keeps it.
[[nodiscard]] Result<UserView> view_of_user(JobReader& reader, std::string_view user, const AnalysisOptions& options);

struct Moment {
  ResultTable targets;  // OST, jobs, bytes
  ResultTable pairs;    // who shared how many OSTs with whom
  ResultTable jobs;     // what each did, its usual rate on these OSTs, and the ratio: below 0.5 beside larger ones, it suffered
};

// The interval that `at` (seconds since 1970) is in.
[[nodiscard]] Result<Moment> contention_at(JobReader& reader, std::int64_t at);

}  // namespace iez::jobs
