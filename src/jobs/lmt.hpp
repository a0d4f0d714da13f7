// What LMT, the Lustre Monitoring Tool, kept in MySQL: bytes of each OST and operations of each MDT, every few seconds. It knows
// no jobs: rows are of the job with the empty id, which stands for all of them.
//
//     OST_DATA (OST_ID, TS_ID, READ_BYTES, WRITE_BYTES), OST_INFO (OST_ID, OST_NAME)
//     MDS_OPS_DATA (MDS_ID, TS_ID, OPERATION_ID, SAMPLES), MDS_INFO (MDS_ID, MDS_NAME), OPERATION_INFO (OPERATION_ID,
//     OPERATION_NAME) TIMESTAMP_INFO (TS_ID, TIMESTAMP)
//
// Counters are since the server was started, as LMT stored them.
//
// Thread safety: none. Memory: that of ImportSeries.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "jobs/import_series.hpp"
#include "jobs/import_time.hpp"
#include "jobs/influx.hpp"

namespace iez::jobs {

struct LmtQuery {
  std::string url;   // "mysql://USER@HOST/filesystem_NAME", as of stores
  TimeZone zone;     // of its times
  std::string from;  // "2026-11-16 00:00:00" in that zone; empty: from the beginning
  std::string to;    // empty: to the end
};

[[nodiscard]] Result<PointSummary> query_lmt(const LmtQuery& query, ImportSeries& series);

}  // namespace iez::jobs
