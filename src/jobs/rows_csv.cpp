#include "jobs/rows_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/csv_records.hpp"
#include "jobs/store_schema.hpp"

namespace iez::jobs {

namespace {

constexpr std::size_t kReadSize = std::size_t{1} << 20U;
constexpr std::size_t kLongestRecord = std::size_t{1} << 20U;

void append_text(std::string& out, std::string_view value) {
  if (value.find_first_of("\",\n\r") == std::string_view::npos && !value.starts_with('#')) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

template <typename T>
void append_number(std::string& out, T value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end.ptr);
}

void append_counts(std::string& out, std::initializer_list<std::uint64_t> counts) {
  for (const std::uint64_t count : counts) {
    out += ',';
    append_number(out, count);
  }
}

void append_calls(std::string& out, const MetadataCalls& metadata, const DataCalls& data) {
  append_counts(out, {metadata.open, metadata.close, metadata.create, metadata.mkdir, metadata.mknod, metadata.rename,
                      metadata.rmdir, metadata.unlink, data.read_bytes, data.write_bytes, data.read_calls, data.write_calls});
}

// A cell into a row; false: not what the column holds.
bool take(std::string_view cell, std::uint64_t& to) {
  if (cell.empty()) return true;
  const auto value = text::parse_u64(cell);
  if (value) to = *value;
  return value.has_value();
}

bool take(std::string_view cell, std::uint32_t& to) {
  std::uint64_t value = to;
  if (!take(cell, value) || value > 0xFFFFFFFFU) return false;
  to = static_cast<std::uint32_t>(value);
  return true;
}

bool take(std::string_view cell, std::int64_t& to) {
  const auto value = text::parse_u64(cell);
  if (!value || *value > static_cast<std::uint64_t>(INT64_MAX)) return false;
  to = static_cast<std::int64_t>(*value);
  return true;
}

bool take(std::string_view cell, std::string& to) {
  to = cell;
  return true;
}

template <typename Row>
using Setter = bool (*)(Row& row, std::string_view cell);

template <typename Row>
struct Column {
  std::string_view name;
  Setter<Row> set;
  bool needed = false;
};

bool take_network(JobRow& row, std::string_view cell, std::uint64_t NetworkCounts::* member) {
  if (cell.empty()) return true;
  if (!row.network) row.network.emplace();
  return take(cell, *row.network.*member);
}

#define IEZ_CALL_COLUMNS(Row)                                                                                                   \
  Column<Row>{"opens", [](Row& row, std::string_view cell) { return take(cell, row.metadata.open); }},                          \
      Column<Row>{"closes", [](Row& row, std::string_view cell) { return take(cell, row.metadata.close); }},                    \
      Column<Row>{"creates", [](Row& row, std::string_view cell) { return take(cell, row.metadata.create); }},                  \
      Column<Row>{"mkdirs", [](Row& row, std::string_view cell) { return take(cell, row.metadata.mkdir); }},                    \
      Column<Row>{"mknods", [](Row& row, std::string_view cell) { return take(cell, row.metadata.mknod); }},                    \
      Column<Row>{"renames", [](Row& row, std::string_view cell) { return take(cell, row.metadata.rename); }},                  \
      Column<Row>{"rmdirs", [](Row& row, std::string_view cell) { return take(cell, row.metadata.rmdir); }},                    \
      Column<Row>{"unlinks", [](Row& row, std::string_view cell) { return take(cell, row.metadata.unlink); }},                  \
      Column<Row>{"read_bytes", [](Row& row, std::string_view cell) { return take(cell, row.data.read_bytes); }},               \
      Column<Row>{"write_bytes", [](Row& row, std::string_view cell) { return take(cell, row.data.write_bytes); }},             \
      Column<Row>{"read_calls", [](Row& row, std::string_view cell) { return take(cell, row.data.read_calls); }}, Column<Row> { \
    "write_calls", [](Row& row, std::string_view cell) { return take(cell, row.data.write_calls); }                             \
  }

constexpr std::array kJobs{
    Column<JobRow>{"cluster", [](JobRow& row, std::string_view cell) { return take(cell, row.cluster); }},
    Column<JobRow>{"job", [](JobRow& row, std::string_view cell) { return take(cell, row.id); }, true},
    Column<JobRow>{"uid", [](JobRow& row, std::string_view cell) { return take(cell, row.user); }},
    Column<JobRow>{"started", [](JobRow& row, std::string_view cell) { return take(cell, row.started); }, true},
    Column<JobRow>{"ended", [](JobRow& row, std::string_view cell) { return take(cell, row.ended); }, true},
    Column<JobRow>{"nodes", [](JobRow& row, std::string_view cell) { return take(cell, row.nodes); }},
    Column<JobRow>{"memory", [](JobRow& row, std::string_view cell) { return cell.empty() || take(cell, row.memory.emplace()); }},
    IEZ_CALL_COLUMNS(JobRow),
    Column<JobRow>{"received_bytes",
                   [](JobRow& row, std::string_view cell) { return take_network(row, cell, &NetworkCounts::received_bytes); }},
    Column<JobRow>{"sent_bytes",
                   [](JobRow& row, std::string_view cell) { return take_network(row, cell, &NetworkCounts::sent_bytes); }},
    Column<JobRow>{"received",
                   [](JobRow& row, std::string_view cell) { return take_network(row, cell, &NetworkCounts::received); }},
    Column<JobRow>{"sent", [](JobRow& row, std::string_view cell) { return take_network(row, cell, &NetworkCounts::sent); }},
    Column<JobRow>{"silent_nodes", [](JobRow& row, std::string_view cell) { return take(cell, row.silent_nodes); }}};

constexpr std::array kSeries{
    Column<SeriesRow>{"cluster", [](SeriesRow& row, std::string_view cell) { return take(cell, row.cluster); }},
    Column<SeriesRow>{"target", [](SeriesRow& row, std::string_view cell) { return take(cell, row.target); }, true},
    Column<SeriesRow>{"job", [](SeriesRow& row, std::string_view cell) { return take(cell, row.id); }, true},
    Column<SeriesRow>{"uid", [](SeriesRow& row, std::string_view cell) { return take(cell, row.user); }},
    Column<SeriesRow>{"sampled", [](SeriesRow& row, std::string_view cell) { return take(cell, row.time); }, true},
    Column<SeriesRow>{"seconds", [](SeriesRow& row, std::string_view cell) { return take(cell, row.seconds); }},
    IEZ_CALL_COLUMNS(SeriesRow)};
#undef IEZ_CALL_COLUMNS

// Which setter takes each cell of a table.
template <typename Row, std::size_t N>
class TableReader {
 public:
  // False: not the heading of such a table.
  static std::optional<TableReader> of(const std::array<Column<Row>, N>& known, std::span<const std::string_view> names) {
    TableReader reader;
    reader.columns_.reserve(names.size());
    for (const std::string_view name : names) {
      const auto column = std::ranges::find(known, name, &Column<Row>::name);
      if (column == known.end() || std::ranges::find(reader.columns_, &*column) != reader.columns_.end()) return std::nullopt;
      reader.columns_.push_back(&*column);
    }
    for (const Column<Row>& column : known) {
      if (column.needed && std::ranges::find(reader.columns_, &column) == reader.columns_.end()) return std::nullopt;
    }
    return reader;
  }

  // Why it makes no row; empty: it does.
  std::string read(std::span<const std::string_view> cells, Row& row) const {
    if (cells.size() != columns_.size()) return fmt::format("{} fields; expected {}", cells.size(), columns_.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!columns_[i]->set(row, cells[i])) {
        return fmt::format("{} is '{}'; expected a whole number that fits", columns_[i]->name,
                           text::printable(cells[i].substr(0, 40)));
      }
    }
    return why_not(row);
  }

 private:
  std::vector<const Column<Row>*> columns_;
};

class StreamReader {
 public:
  StreamReader(std::string_view origin, const RowVisitor& sink) : origin_(origin), sink_(sink) {}

  // The records of a piece that ends with a record.
  Result<void> piece(std::string_view text) {
    input::CsvRecords records(text);
    while (records.next()) {
      const std::uint64_t line = line_ + records.line() - 1;
      if (records.problem() != input::CsvRecords::Problem::none) {
        return fail(Errc::parse, fmt::format("{} line {}: {}", origin_, line, input::explain(records.problem())));
      }
      IEZ_CHECK(record(records.fields(), line));
    }
    line_ += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
    return {};
  }

  input::ParseReport take_report() { return std::move(report_); }

 private:
  Result<void> record(std::span<const std::string_view> fields, std::uint64_t line) {
    // A name may begin with '#', too: then it has as many fields as a row.
    if (fields.front().starts_with('#') && fields.size() != columns_) return {};
    if (is_heading(fields)) return heading(fields, line);
    if (jobs_) {
      JobRow row;
      if (std::string why = jobs_->read(fields, row); !why.empty()) return skip(line, std::move(why));
      ++report_.rows;
      return sink_.job(std::move(row));
    }
    if (series_) {
      SeriesRow row;
      if (std::string why = series_->read(fields, row); !why.empty()) return skip(line, std::move(why));
      ++report_.rows;
      return sink_.series(std::move(row));
    }
    if (text::printable(fields.front()) != fields.front()) {
      return fail(Errc::parse, fmt::format("{} line {}: it is not text; expected CSV as 'iez jobs synth' writes it, or a spool",
                                           origin_, line));
    }
    return fail(Errc::parse,
                fmt::format("{} line {}: found a row before any heading; expected 'cluster,job,...' or 'cluster,target,job,...'",
                            origin_, line));
  }

  // A row has numbers where a heading has names.
  static bool is_heading(std::span<const std::string_view> fields) {
    const bool jobs = std::ranges::find(fields, "started") != fields.end() && std::ranges::find(fields, "ended") != fields.end();
    const bool series =
        std::ranges::find(fields, "sampled") != fields.end() && std::ranges::find(fields, "target") != fields.end();
    return (jobs || series) && std::ranges::find(fields, "job") != fields.end();
  }

  Result<void> heading(std::span<const std::string_view> fields, std::uint64_t line) {
    jobs_ = TableReader<JobRow, kJobs.size()>::of(kJobs, fields);
    series_ = jobs_ ? std::nullopt : TableReader<SeriesRow, kSeries.size()>::of(kSeries, fields);
    columns_ = fields.size();
    if (jobs_ || series_) return {};
    return fail(Errc::parse,
                fmt::format("{} line {}: a heading with unknown or repeated columns; expected those of docs/formats/jobs.md",
                            origin_, line));
  }

  Result<void> skip(std::uint64_t line, std::string why) {
    report_.skip(origin_, line, std::move(why));
    return {};
  }

  std::string origin_;
  const RowVisitor& sink_;
  input::ParseReport report_;
  std::uint64_t line_ = 1;
  std::size_t columns_ = 0;  // of the table that is read
  std::optional<TableReader<JobRow, kJobs.size()>> jobs_;
  std::optional<TableReader<SeriesRow, kSeries.size()>> series_;
};

// Where the last whole record ends: behind the last line end that is not within quotes. 0: nowhere.
std::size_t whole_records(std::string_view text) {
  // An even number of quotes before a line end means that it is outside of them.
  const std::size_t quotes = static_cast<std::size_t>(std::ranges::count(text, '"'));
  if (quotes == 0) return text.rfind('\n') + 1;
  std::size_t end = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n' && !quoted) end = i + 1;
  }
  return end;
}

}  // namespace

std::string csv_heading(Table table) {
  std::string out;
  for (const DuckColumn& column : columns_of(table)) out += fmt::format("{}{}", out.empty() ? "" : ",", column.name);
  return out + '\n';
}

void append_csv(std::string& out, const JobRow& row) {
  append_text(out, row.cluster);
  out += ',';
  append_text(out, row.id);
  out += ',';
  append_text(out, row.user);
  out += ',';
  append_number(out, row.started);
  out += ',';
  append_number(out, row.ended);
  append_counts(out, {row.nodes});
  out += ',';
  if (row.memory) append_number(out, *row.memory);
  append_calls(out, row.metadata, row.data);
  if (row.network) {
    append_counts(out, {row.network->received_bytes, row.network->sent_bytes, row.network->received, row.network->sent});
  } else {
    out += ",,,,";
  }
  append_counts(out, {row.silent_nodes});
  out += '\n';
}

void append_csv(std::string& out, const SeriesRow& row) {
  append_text(out, row.cluster);
  out += ',';
  append_text(out, row.target);
  out += ',';
  append_text(out, row.id);
  out += ',';
  append_text(out, row.user);
  out += ',';
  append_number(out, row.time);
  append_counts(out, {row.seconds});
  append_calls(out, row.metadata, row.data);
  out += '\n';
}

Result<input::ParseReport> read_rows(input::ByteStream& stream, std::string_view origin, const RowVisitor& sink) {
  StreamReader reader(origin, sink);
  std::string text;
  for (;;) {
    const std::size_t kept = text.size();
    text.resize(kept + kReadSize);
    IEZ_TRY(const std::size_t got, stream.read(std::span(text).subspan(kept)));
    text.resize(kept + got);
    if (got == 0) break;
    const std::size_t whole = whole_records(text);
    IEZ_CHECK(reader.piece(std::string_view(text).substr(0, whole)));
    text.erase(0, whole);
    if (text.size() > kLongestRecord) {
      return fail(Errc::limit,
                  fmt::format("{}: a record of more than {} bytes; is a quote never closed?", origin, kLongestRecord));
    }
  }
  IEZ_CHECK(reader.piece(text));
  return reader.take_report();
}

}  // namespace iez::jobs
