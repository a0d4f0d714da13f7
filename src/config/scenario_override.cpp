#include "config/scenario_override.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "config/words.hpp"

namespace iez::config {

namespace {

bool is_key_letter(char c) {
  return text::is_digit(c) || (text::to_lower(c) >= 'a' && text::to_lower(c) <= 'z') || c == '_' || c == '-';
}

bool valid_key(std::string_view key) {
  std::size_t parts = 0;
  while (true) {
    const std::size_t dot = key.find('.');
    const std::string_view part = key.substr(0, dot);
    if (part.empty() || ++parts > kMaxKeyParts) return false;
    if (part != "*" && !std::ranges::all_of(part, is_key_letter)) return false;
    if (dot == std::string_view::npos) return true;
    key.remove_prefix(dot + 1);
  }
}

// "1..32*2": from, to, and how to go on.
struct Range {
  std::string_view first;
  std::string_view last;
  char step = '+';
  std::string_view by = "1";
};

std::optional<Range> split_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos || text.find_first_of("\"'") != std::string_view::npos) return std::nullopt;
  Range range{.first = text::trim(text.substr(0, dots)), .last = text.substr(dots + 2)};
  if (const std::size_t sign = range.last.find_first_of("*+"); sign != std::string_view::npos) {
    range.step = range.last[sign];
    range.by = text::trim(range.last.substr(sign + 1));
    range.last = range.last.substr(0, sign);
  }
  range.last = text::trim(range.last);
  return range;
}

std::unexpected<Error> too_many(double count, std::string_view what) {
  return fail(Errc::limit, fmt::format("{}: found {:.0f} combinations, expected at most {}", what, count, kMaxCombinations));
}

// A number that is whole in TOML too; without the noise of the last digits of a sum such as 0.1 + 0.2.
std::string written(double value, bool whole) {
  return whole ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{:.12g}", value);
}

Result<std::vector<std::string>> range_values(const Range& range, std::string_view text) {
  const auto first = text::parse_double(range.first);
  const auto last = text::parse_double(range.last);
  const auto by = text::parse_double(range.by);
  const auto expected = [&](std::string_view what) {
    return fail(Errc::invalid_argument, fmt::format("sweep {}: expected {}", shown(text), what));
  };
  constexpr double kMost = 9e15;  // up to which a double counts every whole number
  if (!first || !last || !by || *first > kMost || *last > kMost) {
    return expected("a range of numbers such as 1..32*2 or 0..10+2");
  }
  if (*last < *first) return expected("a range that ascends");
  const bool times = range.step == '*';
  if (times && (*first <= 0 || *by <= 1)) return expected("a start above 0 and a factor above 1");
  if (!times && *by <= 0) return expected("a step above 0");
  constexpr double kSlack = 1e-9;  // so that 0..1+0.1 ends with 1
  const double count = std::floor((times ? std::log(*last / *first) / std::log(*by) : (*last - *first) / *by) + kSlack) + 1;
  if (!(count <= static_cast<double>(kMaxCombinations))) return too_many(count, fmt::format("sweep {}", shown(text)));
  const auto is_whole = [](double value) { return value == std::floor(value); };
  const bool whole = is_whole(*first) && is_whole(*by);
  const auto length = static_cast<std::size_t>(count);
  std::vector<std::string> values;
  values.reserve(length);
  for (std::size_t i = 0; i < length; ++i) {
    const auto steps = static_cast<double>(i);
    values.push_back(written(times ? *first * std::pow(*by, steps) : *first + steps * *by, whole));
  }
  return values;
}

// At commas outside of quotes and brackets.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth <= 0) {
      parts.push_back(text::trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  parts.push_back(text::trim(text.substr(start)));
  return parts;
}

Result<Sweep> parse_sweep(std::string_view text) {
  IEZ_TRY(Override split, parse_override(text));
  Sweep sweep{.key = std::move(split.key)};
  if (const auto range = split_range(split.value)) {
    IEZ_TRY(sweep.values, range_values(*range, text));
    return sweep;
  }
  const auto parts = split_list(split.value);
  sweep.values.reserve(parts.size());
  for (const std::string_view part : parts) {
    if (part.empty()) {
      return fail(Errc::invalid_argument, fmt::format("sweep {}: found an empty value, expected key=v1,v2,v3", shown(text)));
    }
    sweep.values.emplace_back(part);
  }
  return sweep;
}

}  // namespace

Result<Override> parse_override(std::string_view text) {
  if (text.size() > kMaxOverrideText) {
    return fail(Errc::limit, fmt::format("override: found {} bytes, expected at most {}", text.size(), kMaxOverrideText));
  }
  const std::size_t equals = text.find('=');
  const std::string_view key = text::trim(text.substr(0, equals));
  if (equals == std::string_view::npos || !valid_key(key)) {
    return fail(
        Errc::invalid_argument,
        fmt::format("override {}: expected key=value, with a key such as congestion.fixed or job.0.processes", shown(text)));
  }
  const std::string_view value = text::trim(text.substr(equals + 1));
  if (value.empty()) return fail(Errc::invalid_argument, fmt::format("override {}: expected a value behind =", shown(text)));
  return Override{.key = std::string(key), .value = std::string(value)};
}

Result<std::vector<Sweep>> parse_sweeps(std::span<const std::string> texts) {
  std::vector<Sweep> sweeps;
  sweeps.reserve(texts.size());
  double count = 1;
  for (const std::string& text : texts) {
    IEZ_TRY(Sweep sweep, parse_sweep(text));
    if (std::ranges::find(sweeps, sweep.key, &Sweep::key) != sweeps.end()) {
      return fail(Errc::invalid_argument, fmt::format("sweep {}: found the key {} twice, expected one sweep with all its values",
                                                      shown(text), shown(sweep.key)));
    }
    count *= static_cast<double>(sweep.values.size());
    sweeps.push_back(std::move(sweep));
  }
  if (count > static_cast<double>(kMaxCombinations)) return too_many(count, "sweeps");
  return sweeps;
}

std::vector<std::vector<Override>> combinations(std::span<const Sweep> sweeps) {
  std::vector<std::vector<Override>> all{{}};
  for (const Sweep& sweep : sweeps) {
    std::vector<std::vector<Override>> longer;
    longer.reserve(all.size() * sweep.values.size());
    for (const std::vector<Override>& before : all) {
      for (const std::string& value : sweep.values) {
        longer.push_back(before);
        longer.back().push_back({.key = sweep.key, .value = value});
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace iez::config
