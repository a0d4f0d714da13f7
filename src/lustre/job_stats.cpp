#include "lustre/job_stats.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"

namespace iez::lustre {

namespace {

constexpr std::size_t kMaxId = 1024;  // Lustre's are 32 bytes, four times that when all are escaped
constexpr std::size_t kMaxRows = 4 * model::kOperationCount;

// A position in a line. The parser of rows is the hot path of every collector: no allocation, each character looked at once.
struct Cursor {
  const char* at;
  const char* end;

  bool done() const { return at == end; }
  void skip_spaces() {
    while (at != end && *at == ' ') ++at;
  }
  bool take(char c) {
    skip_spaces();
    if (at == end || *at != c) return false;
    ++at;
    return true;
  }
  // Up to one of the separators of a flow mapping.
  std::string_view take_word() {
    skip_spaces();
    const char* const start = at;
    while (at != end && *at != ':' && *at != ',' && *at != ' ' && *at != '}' && *at != '{') ++at;
    return {start, static_cast<std::size_t>(at - start)};
  }
  std::optional<std::uint64_t> take_number() {
    skip_spaces();
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) return std::nullopt;
    at = rest;
    return value;
  }
};

std::optional<std::size_t> size_class(std::string_view label) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error != std::errc{} || value == 0) return std::nullopt;
  const std::string_view suffix(rest, static_cast<std::size_t>(label.data() + label.size() - rest));
  constexpr std::string_view kSuffixes = "KMGTPE";
  std::size_t shift = 0;
  if (!suffix.empty()) {
    const std::size_t power = kSuffixes.find(suffix[0]);
    if (suffix.size() != 1 || power == std::string_view::npos) return std::nullopt;
    shift = 10 * (power + 1);
  }
  const auto exponent = static_cast<std::size_t>(std::bit_width(value - 1)) + shift;
  return exponent < std::tuple_size_v<SizeHistogram> ? std::optional(exponent) : std::nullopt;
}

// "{ 32K: 1, 1M: 860 }"
bool take_histogram(Cursor& cursor, SizeHistogram& histogram) {
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  while (true) {
    const auto exponent = size_class(cursor.take_word());
    if (!exponent || !cursor.take(':')) return false;
    const auto count = cursor.take_number();
    if (!count) return false;
    histogram[*exponent] = saturating_add(histogram[*exponent], *count);
    if (cursor.take('}')) return true;
    if (!cursor.take(',')) return false;
  }
}

struct ParsedRow {
  OperationRow row;
  bool has_samples = false;
  bool has_sum = false;
  bool in_bytes = false;
  std::optional<SizeHistogram> sizes;  // rare, and large: made only when there is one
};

bool take_field(Cursor& cursor, std::string_view key, ParsedRow& parsed) {
  if (key == "unit") {
    const std::string_view unit = cursor.take_word();
    parsed.in_bytes = unit == "bytes";
    return !unit.empty();
  }
  if (key == "hist") {
    return take_histogram(cursor, parsed.sizes.emplace());
  }
  const auto value = cursor.take_number();
  if (!value) return false;
  if (key == "samples") {
    parsed.row.samples = *value;
    parsed.has_samples = true;
  } else if (key == "min") {
    parsed.row.min = *value;
  } else if (key == "max") {
    parsed.row.max = *value;
  } else if (key == "sum") {
    parsed.row.sum = *value;
    parsed.has_sum = true;
  } else if (key == "sumsq") {
    parsed.row.sum_of_squares = *value;
  }
  return true;  // a number under a name of the future changes nothing
}

// "{ samples: 861, unit: bytes, ... }" and nothing behind it.
bool take_row(Cursor& cursor, ParsedRow& parsed) {
  if (!cursor.take('{')) return false;
  while (true) {
    const std::string_view key = cursor.take_word();
    if (key.empty() || !cursor.take(':') || !take_field(cursor, key, parsed)) return false;
    if (cursor.take('}')) break;
    if (!cursor.take(',')) return false;
  }
  cursor.skip_spaces();
  return cursor.done() && parsed.has_samples && (!parsed.in_bytes || parsed.has_sum);
}

std::optional<char> hex_byte(std::string_view digits) {
  unsigned value = 0;
  if (digits.size() != 2) return std::nullopt;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + 2, value, 16);
  if (error != std::errc{} || rest != digits.data() + 2) return std::nullopt;
  return static_cast<char>(value);
}

std::optional<char> unescape(std::string_view& rest) {
  const char kind = rest.front();
  rest.remove_prefix(1);
  switch (kind) {
    case 'x': {
      const auto byte = hex_byte(rest.substr(0, 2));
      if (byte) rest.remove_prefix(2);
      return byte;
    }
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case '0':
      return '\0';
    case '\\':
    case '"':
    case '/':
    case ' ':
      return kind;
    default:
      return std::nullopt;
  }
}

// Between double quotes, with escapes; `rest` starts behind the opening one and must end with the closing one.
bool decode_quoted(std::string_view rest, std::string& id) {
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return text::trim(rest).empty();
    if (c != '\\') {
      id += c;
      continue;
    }
    if (rest.empty()) return false;
    const auto decoded = unescape(rest);
    if (!decoded) return false;
    id += *decoded;
  }
  return false;
}

class Parser {
 public:
  Parser(std::string_view origin, input::ParseReport& report, const JobVisitor& visit)
      : origin_(origin), report_(report), visit_(visit) {}

  void line(const input::LineReader::Line& line) {
    constexpr std::string_view kJob = "- job_id:";
    const std::string_view text = line.text;
    if (text.starts_with(kJob)) {
      flush();
      start_job(line, text.substr(kJob.size()));
      return;
    }
    if (text.starts_with(' ')) {
      row(line);
      return;
    }
    if (text.empty() || (text == "job_stats:" && line.ended)) return;
    // Something that is no part of the form stands between two jobs: what follows may not belong to the one before.
    flush();
    skip(line, "expected 'job_stats:', '- job_id:' or an indented row");
  }

  void flush() {
    if (!in_job_) return;
    in_job_ = false;
    ++summary_.jobs;
    visit_(entry_);
  }

  JobStatsSummary& summary() { return summary_; }

 private:
  void skip(const input::LineReader::Line& line, std::string_view why) {
    report_.skip(origin_, line.number, fmt::format("{}: '{}'", why, text::trim(input::excerpt(line.text))));
  }

  void start_job(const input::LineReader::Line& line, std::string_view value) {
    entry_.times = {};
    entry_.rows.clear();
    if (entry_.has_sizes) {
      entry_.read_sizes.fill(0);
      entry_.write_sizes.fill(0);
      entry_.has_sizes = false;
    }
    in_job_ = line.ended && !line.cut && decode_job_id(value, entry_.id);
    if (!in_job_) skip(line, "the job id cannot be read, its counters are left out");
    orphaned_ = !in_job_;
  }

  void row(const input::LineReader::Line& line) {
    if (!in_job_) {
      if (!orphaned_) skip(line, "a counter without a job");
      return;
    }
    Cursor cursor{.at = line.text.data(), .end = line.text.data() + line.text.size()};
    const std::string_view name = cursor.take_word();
    if (name.empty() || !cursor.take(':') || line.cut) {
      skip(line, "expected 'name: { samples: ... }'");
      return;
    }
    cursor.skip_spaces();
    if (!cursor.done() && *cursor.at == '{') {
      counter(line, name, cursor);
      return;
    }
    const std::string_view value(cursor.at, static_cast<std::size_t>(cursor.end - cursor.at));
    if (!line.ended || !set_time(entry_.times, name, text::trim(value))) skip(line, "expected a counter or a time");
  }

  void counter(const input::LineReader::Line& line, std::string_view name, Cursor cursor) {
    ParsedRow parsed;
    if (!take_row(cursor, parsed)) {
      skip(line, "the counter cannot be read");
      return;
    }
    const auto operation = model::parse_operation(name);
    if (!operation) {
      ++summary_.unknown_rows;
      return;
    }
    if (entry_.rows.size() == kMaxRows) {
      skip(line, "too many counters in one job");
      return;
    }
    parsed.row.operation = *operation;
    entry_.rows.push_back(parsed.row);
    ++report_.rows;
    if (parsed.sizes) keep_sizes(*operation, *parsed.sizes);
  }

  void keep_sizes(model::Operation operation, const SizeHistogram& sizes) {
    entry_.has_sizes = true;
    if (operation == model::Operation::read_bytes) entry_.read_sizes = sizes;
    if (operation == model::Operation::write_bytes) entry_.write_sizes = sizes;
  }

  std::string_view origin_;
  input::ParseReport& report_;
  const JobVisitor& visit_;
  JobEntry entry_;
  JobStatsSummary summary_;
  bool in_job_ = false;
  bool orphaned_ = false;  // rows of a job whose id was bad: said once
};

}  // namespace

bool decode_job_id(std::string_view value, std::string& id) {
  id.clear();
  value = text::trim(value);
  if (value.size() > kMaxId) return false;
  if (value.starts_with('"')) return decode_quoted(value.substr(1), id);
  if (value.find('\0') != std::string_view::npos) return false;
  id = value;
  return true;
}

model::JobCounters counters(const JobEntry& entry) {
  model::JobCounters sum;
  for (const OperationRow& row : entry.rows) {
    sum[row.operation] = saturating_add(sum[row.operation], row.samples);
    if (row.operation == model::Operation::read_bytes) sum.read_bytes += Bytes{row.sum};
    if (row.operation == model::Operation::write_bytes) sum.write_bytes += Bytes{row.sum};
  }
  return sum;
}

Result<JobStatsSummary> parse_job_stats(input::ByteStream& stream, std::string_view origin, input::ParseReport& report,
                                        const JobVisitor& visit) {
  Parser parser(origin, report, visit);
  input::LineReader lines(stream);
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) break;
    parser.line(*line);
  }
  parser.flush();
  parser.summary().bytes = lines.bytes();
  return parser.summary();
}

}  // namespace iez::lustre
