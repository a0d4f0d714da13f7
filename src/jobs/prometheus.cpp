#include "jobs/prometheus.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/json_cursor.hpp"
#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"
#include "jobs/import_values.hpp"

namespace iez::jobs {

namespace {

constexpr std::size_t kMaxLabel = 4096;

// Of one series, as far as it is of use.
struct Labels {
  std::string metric;
  std::string job;
  std::string target;
  std::string operation;

  void set(std::string_view name, std::string value) {
    if (name == "__name__") {
      metric = std::move(value);
    } else if (name == "jobid") {
      job = std::move(value);
    } else if (name == "target") {
      target = std::move(value);
    } else if (name == "operation") {
      operation = std::move(value);
    }
  }

  // Nothing: not a counter of a job that iez keeps.
  std::optional<std::uint8_t> counter() const {
    if (target.empty()) return std::nullopt;
    if (metric == kJobMetrics[0]) return counter_named("read_bytes", target);
    if (metric == kJobMetrics[1]) return counter_named("write_bytes", target);
    if (metric == kJobMetrics[2]) return counter_named("read_calls", target);
    if (metric == kJobMetrics[3]) return counter_named("write_calls", target);
    // Of read_bytes and write_bytes it has the calls, which the others tell as well.
    if (metric == kJobMetrics[4] && operation != "read_bytes" && operation != "write_bytes")
      return counter_named(operation, target);
    return std::nullopt;
  }
};

bool is_wanted(std::string_view metric) { return std::ranges::find(kJobMetrics, metric) != kJobMetrics.end(); }

// Behind the opening quote, up to and with the closing one.
bool take_value(std::string_view& rest, std::string& value) {
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (rest.empty()) return false;
    value += rest.front() == 'n' ? '\n' : rest.front();
    rest.remove_prefix(1);
  }
  return false;
}

// "{a="b",c="d",}"
bool take_labels(std::string_view& rest, Labels& labels) {
  rest.remove_prefix(1);
  while (true) {
    rest = rest.substr(std::min(rest.find_first_not_of(" \t,"), rest.size()));
    if (rest.starts_with('}')) {
      rest.remove_prefix(1);
      return true;
    }
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = text::trim(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    rest = rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (name.empty() || !rest.starts_with('"')) return false;
    rest.remove_prefix(1);
    std::string value;
    if (!take_value(rest, value)) return false;
    labels.set(name, std::move(value));
  }
}

struct Sample {
  Labels labels;
  std::optional<std::uint64_t> value;
  std::optional<std::int64_t> time;
};

bool parse_sample(std::string_view line, Sample& sample) {
  const std::size_t end = std::min(line.find_first_of("{ \t"), line.size());
  sample.labels.metric = line.substr(0, end);
  if (!is_wanted(sample.labels.metric)) return true;
  line.remove_prefix(end);
  line = text::trim(line);
  if (line.starts_with('{') && !take_labels(line, sample.labels)) return false;
  sample.value = parse_count(text::take_word(line));
  const std::string_view time = text::take_word(line);
  if (!time.empty()) {
    // Milliseconds in a scrape; seconds with a fraction in OpenMetrics.
    sample.time = parse_time(time, {});
    if (!sample.time) return false;
  }
  return sample.value.has_value() && text::trim(line).empty();
}

// [[1794830400, "26214400"], ...]
Result<void> read_values(api::JsonCursor& json, const Labels& labels, ImportSeries& series, PointSummary& summary) {
  const auto counter = labels.counter();
  for (json.enter_array(); json.next_item();) {
    double time = -1;
    std::string value;
    std::size_t number = 0;
    for (json.enter_array(); json.next_item(); ++number) {
      if (number == 0) {
        time = json.number();
      } else if (number == 1) {
        value = json.text(64);
      } else {
        json.skip();
      }
    }
    if (json.failed()) return {};
    const auto count = parse_count(value);
    if (!counter || !count || time < 0 || time > 1e12) {
      ++summary.others;
      continue;
    }
    ++summary.used;
    IEZ_CHECK(series.add(labels.target, labels.job, static_cast<std::int64_t>(time), *counter, *count));
  }
  return {};
}

void read_labels(api::JsonCursor& json, Labels& labels) {
  std::string key;
  for (json.enter_object(); json.next_key(key);) labels.set(key, json.text(kMaxLabel));
}

// One series: its labels stand before its values, as Prometheus writes them.
Result<void> read_series(api::JsonCursor& json, ImportSeries& series, PointSummary& summary) {
  Labels labels;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "metric") {
      read_labels(json, labels);
    } else if (key == "values") {
      IEZ_CHECK(read_values(json, labels, series, summary));
    } else {
      json.skip();
    }
  }
  return {};
}

Result<void> read_data(api::JsonCursor& json, ImportSeries& series, PointSummary& summary) {
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key != "result") {
      json.skip();
      continue;
    }
    for (json.enter_array(); json.next_item();) IEZ_CHECK(read_series(json, series, summary));
  }
  return {};
}

}  // namespace

Result<PointSummary> parse_scrape(input::ByteStream& stream, std::string_view origin, std::int64_t at, input::ParseReport& report,
                                  ImportSeries& series) {
  PointSummary summary;
  input::LineReader lines(stream);
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) return summary;
    const std::string_view text = text::trim(line->text);
    if (text.empty() || text.starts_with('#')) continue;
    Sample sample;
    if (line->cut || !parse_sample(text, sample)) {
      report.skip(origin, line->number, fmt::format("'{}' is no sample", text::printable(input::excerpt(text))));
      continue;
    }
    const auto counter = sample.labels.counter();
    if (!counter || !sample.value) {
      ++summary.others;
      continue;
    }
    ++summary.used;
    ++report.rows;
    IEZ_CHECK(series.add(sample.labels.target, sample.labels.job, sample.time.value_or(at), *counter, *sample.value));
  }
}

Result<PointSummary> parse_query_range(std::string_view json_text, std::string_view origin, ImportSeries& series) {
  PointSummary summary;
  api::JsonCursor json(json_text);
  std::string status;
  std::string reason;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "status") {
      status = json.text(64);
    } else if (key == "error") {
      reason = json.text(kMaxLabel);
    } else if (key == "data") {
      IEZ_CHECK(read_data(json, series, summary));
    } else {
      json.skip();
    }
  }
  if (const auto finished = json.finish(); !finished) return with_context(finished.error(), origin);
  if (status != "success") {
    return fail(Errc::io,
                fmt::format("{}: Prometheus answers '{}': {}", origin, text::printable(status), text::printable(reason)));
  }
  return summary;
}

}  // namespace iez::jobs
