#include "lustre/stats.hpp"

#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"
#include "lustre/timestamp.hpp"

namespace iez::lustre {

namespace {

bool is_time_key(std::string_view key) { return key == "snapshot_time" || key == "start_time" || key == "elapsed_time"; }

bool take_values(CounterRow& row, std::string_view rest) {
  const std::array<std::optional<std::uint64_t>*, 4> fields{&row.min, &row.max, &row.sum, &row.sum_of_squares};
  for (auto* const field : fields) {
    const std::string_view word = text::take_word(rest);
    if (word.empty()) return true;
    *field = text::parse_u64(word);
    if (!*field) return false;
  }
  return text::take_word(rest).empty();
}

// "name N samples [unit] min max sum sumsq"; the four last may be missing from the end.
std::optional<CounterRow> parse_row(std::string_view name, std::string_view rest) {
  CounterRow row{.name = name};
  const auto samples = text::parse_u64(text::take_word(rest));
  if (!samples || text::take_word(rest) != "samples") return std::nullopt;
  row.samples = *samples;
  const std::string_view unit = text::take_word(rest);
  if (unit.size() < 2 || unit.front() != '[' || unit.back() != ']') return std::nullopt;
  row.unit = unit.substr(1, unit.size() - 2);
  if (!take_values(row, rest)) return std::nullopt;
  return row;
}

}  // namespace

bool set_time(StatsTimes& times, std::string_view key, std::string_view value) {
  if (key == "elapsed_time") {
    times.elapsed = parse_elapsed(value);
    return times.elapsed.has_value();
  }
  if (key != "snapshot_time" && key != "start_time") return false;
  auto& field = key == "start_time" ? times.start : times.snapshot;
  field = parse_timestamp(value);
  return field.has_value();
}

Result<StatsTimes> parse_stats(input::ByteStream& stream, std::string_view origin, input::ParseReport& report,
                               const CounterVisitor& visit) {
  StatsTimes times;
  input::LineReader lines(stream);
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) return times;
    std::string_view rest = line->text;
    const std::string_view name = text::take_word(rest);
    if (name.empty()) continue;
    if (!line->ended || line->cut) {
      report.skip(origin, line->number, "the row is cut off");
      continue;
    }
    if (is_time_key(name)) {
      if (!set_time(times, name, text::trim(rest))) {
        report.skip(origin, line->number, fmt::format("'{}' is not a time", input::excerpt(text::trim(rest))));
      }
      continue;
    }
    if (const auto row = parse_row(name, rest)) {
      ++report.rows;
      visit(*row);
    } else {
      report.skip(origin, line->number,
                  fmt::format("'{}': expected 'name N samples [unit] ...'", text::trim(input::excerpt(line->text))));
    }
  }
}

}  // namespace iez::lustre
