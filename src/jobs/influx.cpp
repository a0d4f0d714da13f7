#include "jobs/influx.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/csv_records.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"
#include "jobs/import_values.hpp"

namespace iez::jobs {

namespace {

constexpr std::string_view kPrefix = "jobstats_";

// The next piece of a point, up to one of `ends` that is neither escaped nor in quotes; the rest begins with that.
struct Piece {
  std::string text;
  bool closed = true;  // false: a quote was opened only
};

Piece take_piece(std::string_view& rest, std::string_view ends, bool quotes) {
  Piece piece;
  bool quoted = false;
  while (!rest.empty()) {
    const char c = rest.front();
    if (c == '\\' && rest.size() > 1) {
      const char next = rest[1];
      const bool escaped = next == ',' || next == '=' || next == ' ' || next == '"' || next == '\\';
      if (!escaped) piece.text += c;
      piece.text += next;
      rest.remove_prefix(2);
      continue;
    }
    if (quotes && c == '"') quoted = !quoted;
    if (!quoted && ends.find(c) != std::string_view::npos) break;
    piece.text += c;
    rest.remove_prefix(1);
  }
  piece.closed = !quoted;
  return piece;
}

struct Point {
  std::string target;
  std::string job;
  bool has_job = false;
  std::vector<std::pair<std::string, std::string>> fields;
  std::optional<std::int64_t> time;
};

bool take(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

// False: not the form of a point.
bool parse_point(std::string_view line, Point& point) {
  if (take_piece(line, ", ", false).text.empty()) return false;
  while (take(line, ',')) {
    const std::string key = take_piece(line, "=, ", false).text;
    if (key.empty() || !take(line, '=')) return false;
    std::string value = take_piece(line, ", ", false).text;
    if (key == "jobid") {
      point.job = std::move(value);
      point.has_job = true;
    } else if (key == "name" || (key == "target" && point.target.empty())) {
      point.target = std::move(value);
    }
  }
  if (!take(line, ' ')) return false;
  do {
    std::string key = take_piece(line, "=, ", false).text;
    if (key.empty() || !take(line, '=')) return false;
    Piece value = take_piece(line, ", ", true);
    if (!value.closed || value.text.empty()) return false;
    if (key.starts_with(kPrefix)) point.fields.emplace_back(key.substr(kPrefix.size()), std::move(value.text));
  } while (take(line, ','));
  line = text::trim(line);
  if (!line.empty()) {
    point.time = parse_time(line, {});
    if (!point.time) return false;
  }
  return true;
}

Result<bool> add_fields(const Point& point, ImportSeries& series) {
  bool added = false;
  for (const auto& [name, value] : point.fields) {
    const auto counter = counter_named(name, point.target);
    const auto count = counter ? parse_count(value) : std::nullopt;
    if (!counter || !count || !point.time) continue;
    IEZ_CHECK(series.add(point.target, point.job, *point.time, *counter, *count));
    added = true;
  }
  return added;
}

// Where the columns of a CSV are.
struct Columns {
  std::optional<std::size_t> time;
  std::optional<std::size_t> target;
  std::optional<std::size_t> job;
  std::optional<std::size_t> field;  // of the long form
  std::optional<std::size_t> value;
  std::vector<std::pair<std::size_t, std::string>> counters;  // of the wide form
  std::vector<std::string> names;

  // Empty where there is no such column.
  static std::string_view cell(std::span<const std::string_view> fields, std::optional<std::size_t> column) {
    return column ? fields[*column] : std::string_view{};
  }
  bool usable() const { return time && target && job && ((field && value) || !counters.empty()); }
};

Columns find_columns(std::span<const std::string_view> header) {
  Columns columns;
  const auto find = [&header](std::initializer_list<std::string_view> names) -> std::optional<std::size_t> {
    for (const std::string_view name : names) {
      for (std::size_t i = 0; i < header.size(); ++i) {
        if (text::iequals(text::trim(header[i]), name)) return i;
      }
    }
    return std::nullopt;
  };
  columns.time = find({"_time", "time", "timestamp"});
  columns.target = find({"name_1", "name", "target"});
  columns.job = find({"jobid", "job_id", "job"});
  columns.field = find({"_field"});
  columns.value = find({"_value"});
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::string_view name = text::trim(header[i]);
    columns.names.emplace_back(header[i]);
    if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    if (counter_named(name, "")) columns.counters.emplace_back(i, name);
  }
  return columns;
}

bool same(std::span<const std::string_view> record, const std::vector<std::string>& names) {
  return std::equal(record.begin(), record.end(), names.begin(), names.end());
}

class CsvPoints {
 public:
  CsvPoints(std::string_view origin, const TimeZone& zone, input::ParseReport& report, ImportSeries& series)
      : origin_(origin), zone_(zone), report_(report), series_(series) {}

  Result<void> record(std::span<const std::string_view> fields, std::size_t line) {
    if (!fields.empty() && fields.front().starts_with('#')) {
      awaits_header_ = true;
      return {};
    }
    if (awaits_header_) {
      awaits_header_ = false;
      columns_ = find_columns(fields);
      if (columns_.usable()) return {};
      return fail(Errc::parse,
                  fmt::format("{} line {}: expected columns for time, target (name) and job (jobid), and counters such as "
                              "jobstats_write_bytes, or _field and _value",
                              origin_, line));
    }
    if (same(fields, columns_.names)) return {};
    if (fields.size() != columns_.names.size()) {
      report_.skip(origin_, line, fmt::format("{} fields, expected {}", fields.size(), columns_.names.size()));
      return {};
    }
    return point(fields, line);
  }

  PointSummary& summary() { return summary_; }
  bool has_columns() const { return columns_.usable(); }

 private:
  Result<void> point(std::span<const std::string_view> fields, std::size_t line) {
    const std::string_view when = Columns::cell(fields, columns_.time);
    const auto time = parse_time(when, zone_);
    if (!time) {
      report_.skip(origin_, line, fmt::format("'{}' is no time", text::printable(input::excerpt(when))));
      return {};
    }
    Point point{.target = std::string(Columns::cell(fields, columns_.target)),
                .job = std::string(Columns::cell(fields, columns_.job)),
                .time = time};
    if (columns_.field) {
      std::string_view name = Columns::cell(fields, columns_.field);
      if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
      point.fields.emplace_back(name, Columns::cell(fields, columns_.value));
    } else {
      for (const auto& [at, name] : columns_.counters) {
        if (!fields[at].empty()) point.fields.emplace_back(name, fields[at]);
      }
    }
    if (point.target.empty() || point.job.empty()) {
      ++summary_.others;
      return {};
    }
    IEZ_TRY(const bool added, add_fields(point, series_));
    ++(added ? summary_.used : summary_.others);
    if (added) ++report_.rows;
    return {};
  }

  std::string_view origin_;
  const TimeZone& zone_;
  input::ParseReport& report_;
  ImportSeries& series_;
  Columns columns_;
  bool awaits_header_ = true;
  PointSummary summary_;
};

}  // namespace

Result<PointSummary> parse_influx_lines(input::ByteStream& stream, std::string_view origin, input::ParseReport& report,
                                        ImportSeries& series) {
  PointSummary summary;
  input::LineReader lines(stream);
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) return summary;
    const std::string_view text = text::trim(line->text);
    if (text.empty() || text.starts_with('#') || text.starts_with("CREATE ")) continue;
    Point point;
    if (line->cut || !parse_point(text, point)) {
      report.skip(origin, line->number, fmt::format("'{}' is no point", text::printable(input::excerpt(text))));
      continue;
    }
    if (!point.has_job || point.target.empty() || point.fields.empty()) {
      ++summary.others;
      continue;
    }
    if (!point.time) {
      report.skip(origin, line->number, "a point without a time");
      continue;
    }
    IEZ_TRY(const bool added, add_fields(point, series));
    ++(added ? summary.used : summary.others);
    if (added) ++report.rows;
  }
}

Result<PointSummary> parse_points_csv(std::string_view text, std::string_view origin, const TimeZone& zone,
                                      input::ParseReport& report, ImportSeries& series) {
  input::CsvRecords records(text);
  CsvPoints points(origin, zone, report, series);
  while (records.next()) {
    if (records.problem() != input::CsvRecords::Problem::none) {
      if (!points.has_columns()) {
        return fail(Errc::parse, fmt::format("{} line {}: {}", origin, records.line(), input::explain(records.problem())));
      }
      report.skip(origin, records.line(), fmt::format("{}; the rest is not read", input::explain(records.problem())));
      break;
    }
    IEZ_CHECK(points.record(records.fields(), records.line()));
  }
  return points.summary();
}

}  // namespace iez::jobs
