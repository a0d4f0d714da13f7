#include "lustre/histograms.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"
#include "lustre/timestamp.hpp"

namespace iez::lustre {

namespace {

using Bucket = Histogram::Bucket;
using Columns = Histogram::Columns;

struct KeyValue {
  std::string_view key;
  std::string_view value;
};

std::optional<KeyValue> split_key(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return KeyValue{.key = text::trim(text.substr(0, colon)), .value = text::trim(text.substr(colon + 1))};
}

bool acceptable_name(std::string_view name) {
  return !name.empty() && name.size() <= Histogram::kMaxName &&
         std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

// The line above a title that says which column is which.
bool is_column_line(std::string_view text) {
  const std::string_view first = text::take_word(text);
  if (first == "modify") return text::trim(text).empty();
  if (first != "read") return false;
  std::string_view second = text::take_word(text);
  if (second == "|") second = text::take_word(text);
  return second == "write" && text::trim(text).empty();
}

struct Title {
  std::string_view name;
  Columns columns;
};

// "disk I/O size          ios   % cum % |  ios         % cum %"
std::optional<Title> parse_title(std::string_view text) {
  const std::size_t percent = text.find('%');
  if (percent == std::string_view::npos || text.find("cum", percent) == std::string_view::npos) return std::nullopt;
  std::string_view name = text::trim(text.substr(0, percent));
  while (!name.empty() && !text::is_space(name.back())) name.remove_suffix(1);  // the unit of the counts
  return Title{.name = text::trim(name), .columns = text.contains('|') ? Columns::read_write : Columns::single};
}

// "512", "1K", "4M".
std::optional<std::uint64_t> parse_bound(std::string_view label) {
  // A unit of two letters or a fraction, which parse_bytes takes from people, is not a label.
  const std::size_t digits = static_cast<std::size_t>(std::ranges::find_if_not(label, text::is_digit) - label.begin());
  if (digits == 0 || digits + 1 < label.size()) return std::nullopt;
  const auto bytes = parse_bytes(label);
  if (!bytes) return std::nullopt;
  return bytes->count;
}

// A count and its two percentages; text is moved behind them.
std::optional<std::uint64_t> take_count(std::string_view& text) {
  const auto count = text::parse_u64(text::take_word(text));
  const auto share = text::parse_u64(text::take_word(text));
  const auto cumulative = text::parse_u64(text::take_word(text));
  if (!share || !cumulative) return std::nullopt;
  return count;
}

std::optional<Bucket> parse_bucket(const KeyValue& row, Columns columns) {
  std::string_view rest = row.value;
  const auto bound = parse_bound(row.key);
  const auto first = take_count(rest);
  std::optional<std::uint64_t> second = 0;
  if (columns == Columns::read_write) {
    const bool separated = text::take_word(rest) == "|";
    second = take_count(rest);
    if (!separated) return std::nullopt;
  }
  if (!bound || !first || !second || !text::trim(rest).empty()) return std::nullopt;
  if (columns == Columns::single) return Bucket{.bound = *bound, .read = 0, .write = *first};
  return Bucket{.bound = *bound, .read = *first, .write = *second};
}

std::uint64_t count_of(const Bucket& bucket, Direction direction) {
  return direction == Direction::read ? bucket.read : bucket.write;
}

class Parser {
 public:
  Parser(std::string_view origin, input::ParseReport& report) : origin_(origin), report_(report) {}

  void line(const input::LineReader::Line& line) {
    number_ = line.number;
    if (line.cut) return skip("the line is too long");
    if (text::trim(line.text).empty() || is_column_line(line.text)) return;
    const auto pair = split_key(line.text);
    // A bucket is complete when all its columns are there. Any other line may have lost digits or a column at its end.
    if (pair && !pair->key.empty() && text::is_digit(pair->key.front())) return bucket(*pair);
    if (!line.ended) return skip("the text ends within this line");
    if (const auto title = parse_title(line.text)) return section(*title);
    if (!pair) return skip(fmt::format("'{}' is neither a table, a bucket nor a gauge", input::excerpt(line.text)));
    if (pair->key == "snapshot_time") return store(result_.snapshot_time, parse_timestamp(pair->value), *pair);
    if (pair->key == "start_time") return store(result_.start_time, parse_timestamp(pair->value), *pair);
    if (pair->key == "elapsed_time") return store(result_.elapsed, parse_elapsed(pair->value), *pair);
    gauge(*pair);
  }

  Histograms finish() { return std::move(result_); }

 private:
  void skip(std::string message) { report_.skip(origin_, number_, std::move(message)); }

  template <typename T>
  void store(std::optional<T>& field, const std::optional<T>& value, const KeyValue& pair) {
    if (field) return skip(fmt::format("{} is repeated", pair.key));
    if (!value) return skip(fmt::format("{} '{}' is not a time in seconds", pair.key, input::excerpt(pair.value)));
    field = value;
    ++report_.rows;
  }

  void gauge(const KeyValue& pair) {
    const auto value = text::parse_u64(pair.value);
    if (!value) return skip(fmt::format("'{}: {}' is not a count", input::excerpt(pair.key), input::excerpt(pair.value)));
    if (!acceptable_name(pair.key)) return skip(fmt::format("'{}' is not the name of a gauge", input::excerpt(pair.key)));
    if (result_.gauges.size() == Histograms::kMaxGauges) return skip("too many gauges");
    result_.gauges.push_back({.name = std::string(pair.key), .value = *value});
    ++report_.rows;
  }

  void section(const Title& title) {
    open_ = false;
    if (!acceptable_name(title.name)) return skip(fmt::format("'{}' is not the name of a table", input::excerpt(title.name)));
    if (result_.sections.size() == Histograms::kMaxSections) return skip("too many tables");
    result_.sections.push_back({.name = std::string(title.name), .columns = title.columns, .buckets = {}});
    open_ = true;
  }

  void bucket(const KeyValue& row) {
    if (!open_) return skip("a bucket outside a table");
    Histogram& histogram = result_.sections.back();
    const auto parsed = parse_bucket(row, histogram.columns);
    if (!parsed) return skip(fmt::format("bucket '{}' of '{}' is malformed", input::excerpt(row.key), histogram.name));
    if (histogram.buckets.size() == Histogram::kMaxBuckets) return skip(fmt::format("too many buckets of '{}'", histogram.name));
    if (!histogram.buckets.empty() && parsed->bound <= histogram.buckets.back().bound) {
      return skip(fmt::format("bucket '{}' of '{}' is out of order", input::excerpt(row.key), histogram.name));
    }
    histogram.buckets.push_back(*parsed);
    ++report_.rows;
  }

  std::string_view origin_;
  input::ParseReport& report_;
  std::uint64_t number_ = 0;
  Histograms result_;
  bool open_ = false;  // buckets belong to the last of result_.sections
};

bool begins_histograms(const input::LineReader::Line& line) {
  const auto pair = split_key(line.text);
  return !line.cut && pair && pair->key == "snapshot_time";
}

}  // namespace

const Histogram* Histograms::find(std::string_view name, Histogram::Columns columns) const {
  const auto found = std::ranges::find_if(
      sections, [&](const Histogram& histogram) { return histogram.name == name && histogram.columns == columns; });
  return found == sections.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> Histograms::gauge(std::string_view name) const {
  const auto found = std::ranges::find(gauges, name, &Gauge::name);
  if (found == gauges.end()) return std::nullopt;
  return found->value;
}

std::uint64_t total(const Histogram& histogram, Direction direction) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t sum = 0;
  for (const Bucket& bucket : histogram.buckets) {
    const std::uint64_t count = count_of(bucket, direction);
    sum = count > kMax - sum ? kMax : sum + count;
  }
  return sum;
}

std::optional<double> weighted_mean(const Histogram& histogram, Direction direction) {
  double weights = 0;
  double sum = 0;
  for (const Bucket& bucket : histogram.buckets) {
    const auto count = static_cast<double>(count_of(bucket, direction));
    weights += count;
    sum += count * static_cast<double>(bucket.bound);
  }
  if (weights == 0) return std::nullopt;
  return sum / weights;
}

Result<Histograms> parse_histograms(input::ByteStream& stream, std::string_view origin, input::ParseReport& report) {
  input::LineReader lines(stream);
  Parser parser(origin, report);
  bool begun = false;
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) break;
    if (!begun && text::trim(line->text).empty()) continue;
    if (!begun && !begins_histograms(*line)) {
      return fail(Errc::parse, fmt::format("{}: not brw_stats or rpc_stats: expected 'snapshot_time:', found '{}'",
                                           text::printable(origin), text::printable(input::excerpt(line->text))));
    }
    begun = true;
    parser.line(*line);
  }
  if (!begun) return fail(Errc::parse, fmt::format("{}: empty: expected brw_stats or rpc_stats", text::printable(origin)));
  return parser.finish();
}

}  // namespace iez::lustre
