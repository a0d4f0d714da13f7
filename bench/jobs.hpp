// `iez bench jobs`: the store of job statistics and its report.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// jobs.report_s, jobs.vs_pandas, jobs.census_vs_sql, jobs.ingest_rows_s, jobs.bytes_per_row, jobs.sampler_cpu, jobs.sampler_mib.
// Takes about 1 GB in TMPDIR, most of it for pandas.
[[nodiscard]] Result<std::vector<Figure>> run_jobs(const Settings& settings);

}  // namespace iez::bench
