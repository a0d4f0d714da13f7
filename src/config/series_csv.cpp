#include "config/series_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/words.hpp"
#include "input/csv_records.hpp"

namespace iez::config {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool missing(std::string_view word) { return word.empty() || word == "NA" || word == "NaN" || word == "nan"; }

// A number, also one that is too large, or infinite.
bool numeric(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  return problem != std::errc::invalid_argument && end == word.data() + word.size();
}

std::optional<double> number(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

class SeriesParser {
 public:
  SeriesParser(std::string_view text, std::string_view file_name, std::string_view column)
      : records_(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text),
        file_(text::printable(file_name)),
        wanted_(column) {}

  Result<Series> parse() {
    bool first = true;
    while (records_.next()) {
      if (records_.problem() != input::CsvRecords::Problem::none) return fail_line(input::explain(records_.problem()));
      if (first) {
        first = false;
        IEZ_TRY(const bool header, take_first());
        if (header) continue;
      }
      IEZ_CHECK(add());
    }
    return std::move(series_);
  }

 private:
  std::unexpected<Error> fail_line(std::string_view message) const {
    return fail(Errc::parse, fmt::format("{}:{}: {}", file_, records_.line(), message));
  }

  // True: the record was a header.
  Result<bool> take_first() {
    const auto fields = records_.fields();
    columns_ = fields.size();
    const bool header = std::ranges::none_of(fields, [](std::string_view field) {
      const std::string_view word = text::trim(field);
      return missing(word) || numeric(word);
    });
    if (header) {
      IEZ_CHECK(choose_title(fields));
    } else {
      IEZ_CHECK(choose_number());
    }
    return header;
  }

  Result<void> choose_title(std::span<const std::string_view> fields) {
    std::vector<std::string_view> titles;
    titles.reserve(fields.size());
    for (const std::string_view field : fields) titles.push_back(text::trim(field));
    const std::string_view title = wanted_.empty() ? "value" : wanted_;
    auto found = std::ranges::find(titles, title);
    if (found == titles.end() && wanted_.empty()) found = titles.begin();
    if (found == titles.end()) {
      std::vector<std::string> known;
      known.reserve(titles.size());
      for (const std::string_view one : titles) known.push_back(shown(one));
      return fail_line(fmt::format("found no column {}, expected one of {}{}", shown(wanted_), fmt::join(known, ", "),
                                   suggestion(wanted_, titles)));
    }
    column_ = static_cast<std::size_t>(found - titles.begin());
    series_.column = text::printable(*found);
    return {};
  }

  Result<void> choose_number() {
    if (wanted_.empty()) return {};
    std::size_t position = 0;
    const auto [end, problem] = std::from_chars(wanted_.data(), wanted_.data() + wanted_.size(), position);
    if (problem != std::errc{} || end != wanted_.data() + wanted_.size() || position < 1 || position > columns_) {
      return fail_line(
          fmt::format("there is no header: found column {}, expected its number from 1 to {}", shown(wanted_), columns_));
    }
    column_ = position - 1;
    return {};
  }

  Result<void> add() {
    const auto fields = records_.fields();
    if (fields.size() != columns_) {
      return fail_line(fmt::format("found {} field{}, expected {} as in the first line", fields.size(),
                                   fields.size() == 1 ? "" : "s", columns_));
    }
    const std::string_view word = text::trim(fields[column_]);
    if (missing(word)) {
      series_.values.push_back(std::numeric_limits<double>::quiet_NaN());
      return {};
    }
    const auto value = number(word);
    if (!value) {
      const std::string place = series_.column.empty() ? fmt::format("column {}", column_ + 1) : "column " + series_.column;
      return fail_line(fmt::format("{}: found {}, expected a finite number, or NA for a missing one", place, shown(word)));
    }
    series_.values.push_back(*value);
    return {};
  }

  input::CsvRecords records_;
  std::string file_;
  std::string_view wanted_;
  std::size_t columns_ = 0;
  std::size_t column_ = 0;
  Series series_;
};

}  // namespace

Result<Series> parse_series(std::string_view text, std::string_view file_name, std::string_view column) {
  return SeriesParser(text, file_name, column).parse();
}

}  // namespace iez::config
