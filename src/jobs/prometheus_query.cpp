#include "jobs/prometheus_query.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "api/http_client.hpp"
#include "jobs/prometheus.hpp"

namespace iez::jobs {

namespace {
constexpr std::int64_t kMostValues = 1000;  // of a series in one answer; so many series fit into a body
}

Result<PointSummary> query_prometheus(const PrometheusQuery& query, ImportSeries& series) {
  if (query.step < 1 || query.to < query.from) {
    return fail(Errc::invalid_argument, "expected a time to begin with, a later one to end with, and a step of at least 1 s");
  }
  IEZ_TRY(
      const auto client,
      api::HttpClient::make(
          {.what = "Prometheus", .url = query.url, .token = query.token, .ca_file = query.ca_file, .ca_setting = "--ca-file"}));
  PointSummary summary;
  for (const std::string_view metric : kJobMetrics) {
    for (std::int64_t start = query.from; start <= query.to; start += query.step * kMostValues) {
      const std::int64_t end = std::min(query.to, start + query.step * (kMostValues - 1));
      IEZ_TRY(const auto answer, client->ask("GET", fmt::format("/api/v1/query_range?query={}&start={}&end={}&step={}", metric,
                                                                start, end, query.step)));
      IEZ_TRY(const PointSummary one, parse_query_range(answer.body, query.url, series));
      summary.used += one.used;
      summary.others += one.others;
    }
  }
  return summary;
}

}  // namespace iez::jobs
