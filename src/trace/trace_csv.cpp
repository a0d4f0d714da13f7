#include "trace/trace_csv.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/csv_records.hpp"
#include "input/excerpt.hpp"
#include "trace/text_values.hpp"

namespace iez::trace {

namespace {

enum Column : std::size_t {
  file_name,
  write_bytes,
  stripe_count,
  mpi_rank,
  communicator_size,
  renamed_to,
  read_bytes,
  write_calls,
  read_calls,
  sequential_writes,
  sequential_reads,
  largest_write,
  largest_read,
  end_offset,
  creates,
  opens,
  stripe_size,
  ranks,
  first_ns,
  last_ns,
  first_write_ns,
  last_write_ns,
  first_read_ns,
  last_read_ns,
  opened_ns,
  removed_ns,
  own_layout,
};

constexpr std::array<std::string_view, 27> kColumns{"file_name",         "write_bytes",
                                                    "stripe_count",      "mpi_rank",
                                                    "communicator_size", "renamed_to",
                                                    "read_bytes",        "write_calls",
                                                    "read_calls",        "sequential_writes",
                                                    "sequential_reads",  "largest_write",
                                                    "largest_read",      "end_offset",
                                                    "creates",           "opens",
                                                    "stripe_size",       "ranks",
                                                    "first_ns",          "last_ns",
                                                    "first_write_ns",    "last_write_ns",
                                                    "first_read_ns",     "last_read_ns",
                                                    "opened_ns",         "removed_ns",
                                                    "own_layout"};
static_assert(kColumns[last_ns] == "last_ns" && kColumns[own_layout] == "own_layout");

constexpr std::size_t kNeeded = 5;  // of the front of kColumns

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kPiece = 64 * 1024;

std::string shown(std::string_view text) {
  const std::string_view front = input::excerpt(text);
  return fmt::format("'{}{}'", text::printable(front), front.size() < text.size() ? "..." : "");
}

std::string suggestion(std::string_view word) {
  // The distance to a long word takes long to compute, and it is near to nothing.
  if (word.size() > input::kExcerpt) return "";
  const auto meant = text::nearest(word, kColumns);
  return meant ? fmt::format("; did you mean '{}'?", *meant) : "";
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view name, const FileVisitor& visit)
      : records_(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text),
        file_(text::printable(name)),
        visit_(visit) {}

  Result<std::uint64_t> read() {
    IEZ_CHECK(read_header());
    std::uint64_t rows = 0;
    while (records_.next()) {
      IEZ_CHECK(check_record());
      const std::size_t found = records_.fields().size();
      if (found != columns_) {
        return fail_line(fmt::format("found {} field{}, expected {}, one for each column of the header", found,
                                     found == 1 ? "" : "s", columns_));
      }
      IEZ_CHECK(read_row());
      visit_(row_);
      ++rows;
    }
    return rows;
  }

 private:
  std::unexpected<Error> fail_line(std::string_view message) const {
    return fail(Errc::parse, fmt::format("{}:{}: {}", file_, records_.line(), message));
  }

  std::unexpected<Error> bad(Column column, std::string_view expected) const {
    return fail_line(fmt::format("column {}: found {}, expected {}", kColumns[column], shown(value(column)), expected));
  }

  Result<void> check_record() const {
    if (records_.problem() == input::CsvRecords::Problem::none) return {};
    return fail_line(input::explain(records_.problem()));
  }

  Result<void> read_header() {
    if (!records_.next()) {
      return fail(Errc::parse, fmt::format("{}: found an empty file, expected a header line: {}", file_, needed()));
    }
    IEZ_CHECK(check_record());
    const auto fields = records_.fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string_view word = text::trim(fields[i]);
      const auto column = static_cast<std::size_t>(std::ranges::find(kColumns, word) - kColumns.begin());
      if (column == kColumns.size()) {
        return fail_line(
            fmt::format("unknown column {}: expected {}{}", shown(word), fmt::join(kColumns, ", "), suggestion(word)));
      }
      if (position_[column]) {
        return fail_line(fmt::format("column {}: found twice in the header, expected once", kColumns[column]));
      }
      position_[column] = i;
    }
    for (std::size_t column = 0; column < kNeeded; ++column) {
      if (!position_[column]) {
        return fail_line(fmt::format("column {}: missing in the header, expected {}; its fields may be empty where not known",
                                     kColumns[column], needed()));
      }
    }
    columns_ = fields.size();
    return {};
  }

  static std::string needed() { return fmt::format("{}", fmt::join(kColumns.begin(), kColumns.begin() + kNeeded, ",")); }

  // Of the record that is being read; empty where the file has no such column.
  std::string_view value(Column column) const {
    const std::optional<std::size_t>& position = position_[column];
    return position ? records_.fields()[*position] : std::string_view{};
  }
  std::string_view word(Column column) const { return text::trim(value(column)); }

  Result<void> read_row() {
    IEZ_CHECK(read_path(file_name, row_.name));
    if (row_.name.empty()) return bad(file_name, fmt::format("a path of 1 to {} bytes", kMaxPath));
    IEZ_CHECK(read_path(renamed_to, row_.renamed));
    if (word(write_bytes).empty()) return bad(write_bytes, "a whole number of bytes, 0 if nothing was written");
    IEZ_TRY(row_.written.count, read_count(write_bytes));
    IEZ_TRY(row_.read.count, read_count(read_bytes));
    IEZ_TRY(row_.write_calls, read_count(write_calls));
    IEZ_TRY(row_.read_calls, read_count(read_calls));
    IEZ_TRY(row_.sequential_writes, read_count(sequential_writes));
    IEZ_TRY(row_.sequential_reads, read_count(sequential_reads));
    IEZ_TRY(row_.largest_write.count, read_count(largest_write));
    IEZ_TRY(row_.largest_read.count, read_count(largest_read));
    IEZ_TRY(row_.end.count, read_count(end_offset));
    IEZ_TRY(row_.creates, read_count(creates));
    IEZ_TRY(row_.opens, read_count(opens));
    IEZ_TRY(row_.stripe_size.count, read_count(stripe_size));
    IEZ_TRY(row_.stripe_count, read_small(stripe_count));
    IEZ_TRY(row_.communicator, read_small(communicator_size));
    IEZ_TRY(row_.ranks, read_small(ranks));
    IEZ_CHECK(read_rank());
    IEZ_CHECK(read_times(first_ns, row_.first_ns, last_ns, row_.last_ns));
    IEZ_CHECK(read_times(first_write_ns, row_.first_write_ns, last_write_ns, row_.last_write_ns));
    IEZ_CHECK(read_times(first_read_ns, row_.first_read_ns, last_read_ns, row_.last_read_ns));
    IEZ_TRY(row_.opened_ns, read_time(opened_ns));
    IEZ_TRY(row_.removed_ns, read_time(removed_ns));
    const std::string_view own = word(own_layout);
    if (!own.empty() && own != "0" && own != "1") return bad(own_layout, "1 if the program chose the stripes, else 0 or empty");
    row_.own_layout = own == "1";
    return {};
  }

  Result<void> read_times(Column first_column, std::optional<std::int64_t>& first, Column last_column,
                          std::optional<std::int64_t>& last) const {
    IEZ_TRY(first, read_time(first_column));
    IEZ_TRY(last, read_time(last_column));
    if (first && last && *last < *first) return bad(last_column, fmt::format("no time before {}", kColumns[first_column]));
    return {};
  }

  Result<void> read_path(Column column, std::string& path) const {
    const std::string_view text = value(column);
    if (text.size() > kMaxPath) return bad(column, fmt::format("a path of at most {} bytes", kMaxPath));
    if (text.find('\0') != std::string_view::npos) return bad(column, "a path without a zero byte");
    path.assign(text);
    return {};
  }

  Result<std::uint64_t> read_count(Column column) const {
    const std::string_view text = word(column);
    if (text.empty()) return 0;
    const auto count = text::parse_u64(text);
    if (!count) return bad(column, "a whole number from 0 to 2^64-1, without a unit");
    return *count;
  }

  Result<std::uint32_t> read_small(Column column) const {
    const std::string_view text = word(column);
    if (text.empty()) return 0;
    const auto count = text::parse_u64(text);
    if (!count || *count > std::numeric_limits<std::uint32_t>::max()) {
      return bad(column, "a whole number from 0 to 2^32-1; 0 or empty if it is not known");
    }
    return static_cast<std::uint32_t>(*count);
  }

  Result<void> read_rank() {
    row_.rank = kNoRank;
    const std::string_view text = word(mpi_rank);
    if (text.empty() || text == "-1") return {};
    const auto rank = text::parse_u64(text);
    if (!rank || *rank > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
      return bad(mpi_rank, "a rank from 0 to 2^31-1; -1 or empty if it is not known");
    }
    row_.rank = static_cast<std::int32_t>(*rank);
    return {};
  }

  Result<std::optional<std::int64_t>> read_time(Column column) const {
    const std::string_view text = word(column);
    if (text.empty()) return std::nullopt;
    const auto time = parse_i64(text);
    if (!time || *time < 0) return bad(column, "nanoseconds since 1970, from 0 to 2^63-1; empty if it is not known");
    return *time;
  }

  input::CsvRecords records_;
  std::string file_;
  const FileVisitor& visit_;
  std::array<std::optional<std::size_t>, kColumns.size()> position_;  // of each column in the records
  std::size_t columns_ = 0;
  TracedFile row_;
};

void append_path(std::string& out, std::string_view path) {
  if (path.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += path;
    return;
  }
  out += '"';
  for (const char c : path) {
    if (c == '"') out += c;
    out += c;
  }
  out += '"';
}

void append_time(std::string& out, const std::optional<std::int64_t>& time) {
  out += ',';
  if (time) fmt::format_to(std::back_inserter(out), "{}", *time);
}

}  // namespace

Result<std::uint64_t> read_trace_csv(std::string_view text, std::string_view file_name, const FileVisitor& visit) {
  return Reader(text, file_name, visit).read();
}

Result<std::vector<TracedFile>> parse_trace_csv(std::string_view text, std::string_view file_name) {
  std::vector<TracedFile> files;
  IEZ_TRY([[maybe_unused]] const std::uint64_t rows,
          read_trace_csv(text, file_name, [&files](const TracedFile& file) { files.push_back(file); }));
  return files;
}

void append_csv_header(std::string& out) { fmt::format_to(std::back_inserter(out), "{}\n", fmt::join(kColumns, ",")); }

void append_csv_row(std::string& out, const TracedFile& file) {
  append_path(out, file.name);
  fmt::format_to(std::back_inserter(out), ",{},{},{},{},", file.written.count, file.stripe_count, file.rank, file.communicator);
  append_path(out, file.renamed);
  fmt::format_to(std::back_inserter(out), ",{},{},{},{},{},{},{},{},{},{},{},{}", file.read.count, file.write_calls,
                 file.read_calls, file.sequential_writes, file.sequential_reads, file.largest_write.count,
                 file.largest_read.count, file.end.count, file.creates, file.opens, file.stripe_size.count, file.ranks);
  for (const auto& time : {file.first_ns, file.last_ns, file.first_write_ns, file.last_write_ns, file.first_read_ns,
                           file.last_read_ns, file.opened_ns, file.removed_ns}) {
    append_time(out, time);
  }
  out += file.own_layout ? ",1\n" : ",\n";
}

std::string to_csv(std::span<const TracedFile> files) {
  std::string out;
  append_csv_header(out);
  for (const TracedFile& file : files) append_csv_row(out, file);
  return out;
}

CsvWriter::CsvWriter(TextSink sink) : sink_(std::move(sink)) { append_csv_header(buffer_); }

Result<void> CsvWriter::add(const TracedFile& file) {
  append_csv_row(buffer_, file);
  return buffer_.size() < kPiece ? Result<void>{} : finish();
}

Result<void> CsvWriter::finish() {
  if (buffer_.empty()) return {};
  const Result<void> taken = sink_(buffer_);
  buffer_.clear();
  return taken;
}

}  // namespace iez::trace
