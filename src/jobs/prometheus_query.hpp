// The counters of jobs that a Prometheus has kept, asked for over HTTP.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/units.hpp"
#include "jobs/import_series.hpp"
#include "jobs/influx.hpp"

namespace iez::jobs {

struct PrometheusQuery {
  std::string url;        // "http://host:9090"
  std::string token;      // empty: none is sent
  std::string ca_file;    // empty: those of the system
  std::int64_t from = 0;  // seconds since 1970
  std::int64_t to = 0;
  std::int64_t step = 60;  // seconds
};

// In pieces that Prometheus answers (it gives at most 11,000 values of a series at once).
[[nodiscard]] Result<PointSummary> query_prometheus(const PrometheusQuery& query, ImportSeries& series);

}  // namespace iez::jobs
