// What exporters of Lustre told Prometheus of jobs: the text of a scrape, and answers of the query API. Both lustrefs-exporter
// and HewlettPackard's lustre_exporter use these names:
//
//     lustre_job_write_bytes_total{component="ost",jobid="4711",operation="write_bytes",target="scratch-OST0001"} 26214400
//     lustre_job_write_samples_total, lustre_job_read_bytes_total, lustre_job_read_samples_total
//     lustre_job_stats_total{component="mdt",jobid="4711",operation="mkdir",target="scratch-MDT0000"} 3
//
// Other metrics are passed over and counted.
//
// Thread safety: none. Memory: one line; an answer of the API is in memory already.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "jobs/import_series.hpp"
#include "jobs/influx.hpp"

namespace iez::jobs {

// The metrics to ask for.
inline constexpr std::array<std::string_view, 5> kJobMetrics{"lustre_job_read_bytes_total", "lustre_job_write_bytes_total",
                                                             "lustre_job_read_samples_total", "lustre_job_write_samples_total",
                                                             "lustre_job_stats_total"};

// at: seconds since 1970, of samples that do not tell.
[[nodiscard]] Result<PointSummary> parse_scrape(input::ByteStream& stream, std::string_view origin, std::int64_t at,
                                                input::ParseReport& report, ImportSeries& series);

// The body of an answer to /api/v1/query_range. Errc::parse: it is no such answer; Errc::io: Prometheus refused.
[[nodiscard]] Result<PointSummary> parse_query_range(std::string_view json, std::string_view origin, ImportSeries& series);

}  // namespace iez::jobs
