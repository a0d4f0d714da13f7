#include "jobs/lmt.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/session.hpp"
#include "store/store.hpp"

namespace iez::jobs {

namespace {

constexpr std::string_view kOsts =
    "SELECT i.OST_NAME, DATE_FORMAT(t.TIMESTAMP, '%Y-%m-%dT%H:%i:%s'), d.READ_BYTES, d.WRITE_BYTES "
    "FROM OST_DATA d JOIN OST_INFO i ON i.OST_ID = d.OST_ID JOIN TIMESTAMP_INFO t ON t.TS_ID = d.TS_ID "
    "WHERE t.TIMESTAMP >= ? AND t.TIMESTAMP <= ?";
constexpr std::string_view kMdts =
    "SELECT i.MDS_NAME, DATE_FORMAT(t.TIMESTAMP, '%Y-%m-%dT%H:%i:%s'), d.SAMPLES, o.OPERATION_NAME "
    "FROM MDS_OPS_DATA d JOIN MDS_INFO i ON i.MDS_ID = d.MDS_ID JOIN TIMESTAMP_INFO t ON t.TS_ID = d.TS_ID "
    "JOIN OPERATION_INFO o ON o.OPERATION_ID = d.OPERATION_ID WHERE t.TIMESTAMP >= ? AND t.TIMESTAMP <= ?";

constexpr std::uint8_t kReadBytes = 0;
constexpr std::uint8_t kWriteBytes = 1;

// The first thing that went wrong stays; a visitor of rows cannot stop.
class Points {
 public:
  Points(const TimeZone& zone, ImportSeries& series) : zone_(zone), series_(series) {}

  void add(const store::Row& row, std::size_t column, std::optional<std::uint8_t> counter) {
    if (problem_ || row.is_null(column)) return;
    const std::string target = row.text(0);
    const auto time = parse_time(row.text(1), zone_);
    if (!counter || !time || target.empty() || row.integer(column) < 0) {
      ++summary_.others;
      return;
    }
    ++summary_.used;
    if (auto added = series_.add(target, "", *time, *counter, row.number(column)); !added) problem_ = std::move(added).error();
  }

  Result<PointSummary> finish() {
    if (problem_) return std::unexpected(*std::move(problem_));
    return summary_;
  }

 private:
  const TimeZone& zone_;
  ImportSeries& series_;
  PointSummary summary_;
  std::optional<Error> problem_;
};

std::unexpected<Error> refused(store::Failure failure, std::string_view what) {
  return with_context(std::move(failure.error), what);
}

}  // namespace

Result<PointSummary> query_lmt(const LmtQuery& query, ImportSeries& series) {
  IEZ_TRY(const store::StoreUrl url, store::parse_store_url(query.url));
  if (!url.server) return fail(Errc::invalid_argument, "LMT keeps its data in MySQL: expected mysql://USER@HOST/DATABASE");
  IEZ_TRY(const auto session, store::make_mariadb_session(url));
  if (auto connected = session->connect(); !connected) return refused(std::move(connected).error(), "LMT");
  const std::string from = query.from.empty() ? "1000-01-01 00:00:00" : query.from;
  const std::string to = query.to.empty() ? "9999-12-31 00:00:00" : query.to;
  const auto bounds = store::values(from, to);
  Points points(query.zone, series);
  auto osts = session->query(kOsts, bounds, [&points](const store::Row& row) {
    points.add(row, 2, kReadBytes);
    points.add(row, 3, kWriteBytes);
  });
  if (!osts) return refused(std::move(osts).error(), "OST_DATA of LMT");
  auto mdts = session->query(kMdts, bounds,
                             [&points](const store::Row& row) { points.add(row, 2, counter_named(row.text(3), row.text(0))); });
  if (!mdts) return refused(std::move(mdts).error(), "MDS_OPS_DATA of LMT");
  return points.finish();
}

}  // namespace iez::jobs
