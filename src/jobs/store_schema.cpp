#include "jobs/store_schema.hpp"

#include <array>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::jobs {

namespace {

using enum ColumnKind;

constexpr std::array kJobColumns{
    DuckColumn{"cluster", text},    DuckColumn{"job", text},  DuckColumn{"uid", text},   DuckColumn{"started", timestamp},
    DuckColumn{"ended", timestamp}, DuckColumn{"nodes"},      DuckColumn{"memory"},      DuckColumn{"opens"},
    DuckColumn{"closes"},           DuckColumn{"creates"},    DuckColumn{"mkdirs"},      DuckColumn{"mknods"},
    DuckColumn{"renames"},          DuckColumn{"rmdirs"},     DuckColumn{"unlinks"},     DuckColumn{"read_bytes"},
    DuckColumn{"write_bytes"},      DuckColumn{"read_calls"}, DuckColumn{"write_calls"}, DuckColumn{"received_bytes"},
    DuckColumn{"sent_bytes"},       DuckColumn{"received"},   DuckColumn{"sent"},        DuckColumn{"silent_nodes"}};
constexpr std::array kSeriesColumns{DuckColumn{"cluster", text},
                                    DuckColumn{"target", text},
                                    DuckColumn{"job", text},
                                    DuckColumn{"uid", text},
                                    DuckColumn{"sampled", timestamp},
                                    DuckColumn{"seconds"},
                                    DuckColumn{"opens"},
                                    DuckColumn{"closes"},
                                    DuckColumn{"creates"},
                                    DuckColumn{"mkdirs"},
                                    DuckColumn{"mknods"},
                                    DuckColumn{"renames"},
                                    DuckColumn{"rmdirs"},
                                    DuckColumn{"unlinks"},
                                    DuckColumn{"read_bytes"},
                                    DuckColumn{"write_bytes"},
                                    DuckColumn{"read_calls"},
                                    DuckColumn{"write_calls"}};

struct RowSum {
  std::string_view name;
  std::string_view expression;
};

constexpr std::array kJobSums{
    RowSum{"seconds", "date_diff('second', started, ended)"},
    RowSum{"bytes", "CAST(least(CAST(read_bytes AS HUGEINT) + write_bytes, 9223372036854775807) AS BIGINT)"},
    RowSum{"metadata_calls",
           "CAST(least(CAST(opens AS HUGEINT) + closes + creates + mkdirs + mknods + renames + rmdirs + unlinks, "
           "9223372036854775807) AS BIGINT)"}};

std::span<const RowSum> sums_of(Table table) {
  if (table == Table::jobs) return kJobSums;
  return {};
}

constexpr std::int64_t kEndOfTime = 253402300800;  // the year 10000
constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr std::int64_t kMonthsOfYear = 12;

class Digest {
 public:
  void add(std::uint64_t value) {
    // Two rounds of multiply and fold: each bit of the value reaches each bit of the state.
    state_ = (state_ ^ value) * 0x9e3779b97f4a7c15ULL;
    state_ = (state_ ^ (state_ >> 32U)) * 0xd6e8feb86659fd93ULL;
    state_ ^= state_ >> 29U;
  }
  void add(std::string_view value) {
    add(std::uint64_t{value.size()});
    std::uint64_t word = 0;
    unsigned filled = 0;
    for (const char c : value) {
      word = (word << 8U) | static_cast<unsigned char>(c);
      ++filled;
      if (filled % 8 == 0) add(word);
    }
    if (filled % 8 != 0) add(word);
  }
  void add(const MetadataCalls& calls) {
    for (const std::uint64_t count :
         {calls.open, calls.close, calls.create, calls.mkdir, calls.mknod, calls.rename, calls.rmdir, calls.unlink}) {
      add(count);
    }
  }
  void add(const DataCalls& calls) {
    for (const std::uint64_t count : {calls.read_bytes, calls.write_bytes, calls.read_calls, calls.write_calls}) add(count);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x8ebc6af09c88c6e3ULL;
};

Digest key_part(const JobRow& row) {
  Digest digest;
  digest.add(row.cluster);
  digest.add(row.id);
  digest.add(static_cast<std::uint64_t>(row.started));
  return digest;
}

Digest key_part(const SeriesRow& row) {
  Digest digest;
  digest.add(row.cluster);
  digest.add(row.target);
  digest.add(row.id);
  digest.add(static_cast<std::uint64_t>(row.time));
  return digest;
}

bool too_large(const MetadataCalls& calls) {
  return (calls.open | calls.close | calls.create | calls.mkdir | calls.mknod | calls.rename | calls.rmdir | calls.unlink) >
         kLargest;
}

bool too_large(const DataCalls& calls) {
  return (calls.read_bytes | calls.write_bytes | calls.read_calls | calls.write_calls) > kLargest;
}

std::string why_no_time(std::string_view name, std::int64_t time) {
  if (time >= 0 && time < kEndOfTime) return {};
  return fmt::format("{} is {}; expected seconds since 1970, before the year 10000", name, time);
}

constexpr std::string_view kTooLarge = "a counter is above 2^63-1, where counters wrap";

void put(DuckAppender& to, std::uint64_t value) { to.integer(static_cast<std::int64_t>(value)); }

void put(DuckAppender& to, const MetadataCalls& calls) {
  put(to, calls.open);
  put(to, calls.close);
  put(to, calls.create);
  put(to, calls.mkdir);
  put(to, calls.mknod);
  put(to, calls.rename);
  put(to, calls.rmdir);
  put(to, calls.unlink);
}

void put(DuckAppender& to, const DataCalls& calls) {
  put(to, calls.read_bytes);
  put(to, calls.write_bytes);
  put(to, calls.read_calls);
  put(to, calls.write_calls);
}

}  // namespace

std::span<const DuckColumn> columns_of(Table table) {
  if (table == Table::jobs) return kJobColumns;
  return kSeriesColumns;
}

std::string_view key_of(Table table) { return table == Table::jobs ? "cluster, job, started" : "cluster, target, job, sampled"; }

std::string_view time_of(Table table) { return table == Table::jobs ? "started" : "sampled"; }

std::string_view sort_of(Table table) { return table == Table::jobs ? "cluster, started, job" : "cluster, job, sampled, target"; }

std::string column_names(Table table) {
  std::string out;
  for (const DuckColumn& column : columns_of(table)) out += fmt::format("{}{}", out.empty() ? "" : ", ", column.name);
  return out;
}

std::string column_types(Table table) {
  std::string out;
  for (const DuckColumn& column : columns_of(table)) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", column.name, sql_type(column.kind));
  }
  return out;
}

std::string sum_names(Table table) {
  std::string out;
  for (const RowSum& sum : sums_of(table)) out += fmt::format(", {}", sum.name);
  return out;
}

std::string sum_types(Table table) {
  std::string out;
  for (const RowSum& sum : sums_of(table)) out += fmt::format(", {} BIGINT", sum.name);
  return out;
}

std::string sums_of_row(Table table) {
  std::string out;
  for (const RowSum& sum : sums_of(table)) out += fmt::format(", {} AS {}", sum.expression, sum.name);
  return out;
}

std::string sums_differ(Table table) {
  std::string out = "false";
  for (const RowSum& sum : sums_of(table)) out += fmt::format(" OR {} IS DISTINCT FROM {}", sum.name, sum.expression);
  return out;
}

std::string_view parquet_options(Table table) {
  // Jobs are few, and each report reads all of them: zstd would save two fifths of the disk and cost a tenth of its time. Series
  // are many, and compress well.
  return table == Table::jobs ? "PARQUET_VERSION v2, COMPRESSION uncompressed" : "COMPRESSION zstd";
}

std::string why_not(const JobRow& row) {
  if (row.id.empty()) return "a job without an id";
  if (std::string why = why_no_time("started", row.started); !why.empty()) return why;
  if (std::string why = why_no_time("ended", row.ended); !why.empty()) return why;
  if (row.ended < row.started) return fmt::format("ended ({}) before it started ({})", row.ended, row.started);
  const NetworkCounts network = row.network.value_or(NetworkCounts{});
  const std::uint64_t others =
      network.received_bytes | network.sent_bytes | network.received | network.sent | row.memory.value_or(0);
  if (too_large(row.metadata) || too_large(row.data) || others > kLargest) return std::string(kTooLarge);
  return {};
}

std::string why_not(const SeriesRow& row) {
  if (row.target.empty()) return "a sample without a target";
  if (row.seconds == 0) return "a sample of no time: seconds is 0";
  if (std::string why = why_no_time("time", row.time); !why.empty()) return why;
  if (too_large(row.metadata) || too_large(row.data)) return std::string(kTooLarge);
  return {};
}

std::uint64_t key_digest(const JobRow& row) { return key_part(row).value(); }
std::uint64_t key_digest(const SeriesRow& row) { return key_part(row).value(); }

std::uint64_t row_digest(const JobRow& row) {
  Digest digest = key_part(row);
  digest.add(row.user);
  digest.add(static_cast<std::uint64_t>(row.ended));
  digest.add(std::uint64_t{row.nodes});
  digest.add(row.memory.value_or(~std::uint64_t{0}));
  digest.add(row.metadata);
  digest.add(row.data);
  if (row.network) {
    for (const std::uint64_t count :
         {row.network->received_bytes, row.network->sent_bytes, row.network->received, row.network->sent}) {
      digest.add(count);
    }
  }
  digest.add(std::uint64_t{row.silent_nodes});
  return digest.value();
}

std::uint64_t row_digest(const SeriesRow& row) {
  Digest digest = key_part(row);
  digest.add(row.user);
  digest.add(std::uint64_t{row.seconds});
  digest.add(row.metadata);
  digest.add(row.data);
  return digest.value();
}

void put_row(DuckAppender& to, const JobRow& row) {
  to.text(row.cluster);
  to.text(row.id);
  to.text(row.user);
  to.timestamp(row.started);
  to.timestamp(row.ended);
  to.integer(row.nodes);
  if (row.memory) {
    put(to, *row.memory);
  } else {
    to.null();
  }
  put(to, row.metadata);
  put(to, row.data);
  if (row.network) {
    for (const std::uint64_t count :
         {row.network->received_bytes, row.network->sent_bytes, row.network->received, row.network->sent}) {
      put(to, count);
    }
  } else {
    for (int i = 0; i < 4; ++i) to.null();
  }
  to.integer(row.silent_nodes);
}

void put_row(DuckAppender& to, const SeriesRow& row) {
  to.text(row.cluster);
  to.text(row.target);
  to.text(row.id);
  to.text(row.user);
  to.timestamp(row.time);
  to.integer(row.seconds);
  put(to, row.metadata);
  put(to, row.data);
}

std::int64_t month_of(std::int64_t seconds) {
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(seconds))));
  return (static_cast<int>(day.year()) - 1970) * kMonthsOfYear + static_cast<unsigned>(day.month()) - 1;
}

std::string month_name(std::int64_t month) {
  return fmt::format("{:04}-{:02}", 1970 + month / kMonthsOfYear, month % kMonthsOfYear + 1);
}

std::optional<std::int64_t> parse_month(std::string_view name) {
  if (name.size() != 7 || name[4] != '-') return std::nullopt;
  const auto year = text::parse_u64(name.substr(0, 4));
  const auto month = text::parse_u64(name.substr(5));
  if (!year || !month || *year < 1970 || *month < 1 || *month > 12) return std::nullopt;
  return static_cast<std::int64_t>((*year - 1970) * 12 + *month - 1);
}

std::int64_t month_start(std::int64_t month) {
  const std::chrono::year year(static_cast<int>(1970 + month / kMonthsOfYear));
  const std::chrono::month of_year(static_cast<unsigned>(month % kMonthsOfYear + 1));
  return std::chrono::sys_seconds(std::chrono::sys_days(year / of_year / 1)).time_since_epoch().count();
}

}  // namespace iez::jobs
