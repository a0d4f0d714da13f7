#include "tune_metric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "config/words.hpp"

namespace iez::cli {

namespace {

std::string description(int code, const regex_t& expression) {
  std::array<char, 256> text{};
  (void)::regerror(code, &expression, text.data(), text.size());
  return text.data();
}

// "1.2 GB/s", "1.2 GiB/sec".
std::optional<double> rate_in(std::string_view text) {
  const std::size_t behind = std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
  const auto number = text::parse_double(text.substr(0, behind));
  std::string unit(text::trim(text.substr(behind)));
  if (unit.ends_with("/sec")) unit.resize(unit.size() - 2);
  const auto one = parse_rate("1 " + unit);
  if (unit.empty() || !number || *number < 0 || !one || !std::isfinite(*number * one->value)) return std::nullopt;
  return *number * one->value;
}

std::optional<double> number_in(std::string_view text) {
  const auto number = text::parse_double(text);
  return number && *number >= 0 ? number : std::nullopt;
}

struct KnownPattern {
  const char* expression;
  std::string_view unit;  // where the text has none
};

constexpr std::array<KnownPattern, 4> kKnown{{
    {R"(^[[:space:]]*Max Write:[[:space:]]*([0-9.]+([eE][+-]?[0-9]+)?[[:space:]]*MiB/s))", ""},
    {R"(^write[[:space:]]+([0-9.]+)[[:space:]])", "MiB/s"},
    {R"([Bb]andwidth[[:space:]]*[:=][[:space:]]*([0-9.]+([eE][+-]?[0-9]+)?([[:space:]]*[kKMGTP]?i?B/s(ec)?)?))", "MB/s"},
    {R"(([0-9.]+([eE][+-]?[0-9]+)?[[:space:]]*[kKMGTP]?i?B/s(ec)?))", ""},
}};

}  // namespace

std::string_view to_string(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::bytes_per_second:
      return "bytes_per_second";
    case MetricUnit::seconds:
      return "seconds";
    case MetricUnit::plain:
      return "plain";
  }
  return "";
}

std::string to_string(const Measured& measured) {
  switch (measured.unit) {
    case MetricUnit::bytes_per_second:
      return iez::to_string(BytesPerSecond{measured.value});
    case MetricUnit::seconds:
      return fmt::format("{:.3g} s", measured.value);
    case MetricUnit::plain:
      return fmt::format("{:.6g}", measured.value);
  }
  return "";
}

void MetricPattern::Free::operator()(regex_t* expression) const {
  ::regfree(expression);
  delete expression;
}

Result<MetricPattern> MetricPattern::make(const std::string& pattern) {
  auto raw = std::make_unique<regex_t>();
  const int code = ::regcomp(raw.get(), pattern.c_str(), REG_EXTENDED);
  if (code != 0) {
    return fail(Errc::invalid_argument, fmt::format("found {}: {}; expected a POSIX extended regular expression",
                                                    config::shown(pattern), description(code, *raw)));
  }
  Expression expression(raw.release());
  if (expression->re_nsub < 1) {
    return fail(Errc::invalid_argument,
                fmt::format("found {}, without a group; expected the number in parentheses, e.g. 'speed: ([0-9.]+)'",
                            config::shown(pattern)));
  }
  return MetricPattern(std::move(expression));
}

std::optional<std::string> MetricPattern::last_match(std::string_view output) const {
  std::optional<std::string> last;
  std::string line;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    line = output.substr(0, end).substr(0, kMaxLine);
    std::array<regmatch_t, 2> found{};
    if (::regexec(expression_.get(), line.c_str(), found.size(), found.data(), 0) == 0 && found[1].rm_so >= 0) {
      const auto begin = static_cast<std::size_t>(found[1].rm_so);
      last = line.substr(begin, static_cast<std::size_t>(found[1].rm_eo) - begin);
    }
    if (end == std::string_view::npos) break;
    output.remove_prefix(end + 1);
  }
  return last;
}

std::optional<Measured> find_rate(std::string_view output) {
  for (const KnownPattern& known : kKnown) {
    const auto pattern = MetricPattern::make(known.expression);
    IEZ_ASSERT(pattern.has_value());
    const auto found = pattern->last_match(output);
    if (!found) continue;
    auto rate = rate_in(*found);
    if (!known.unit.empty() && number_in(*found)) rate = rate_in(fmt::format("{} {}", *found, known.unit));
    if (rate) return Measured{.value = *rate, .unit = MetricUnit::bytes_per_second};
  }
  return std::nullopt;
}

Result<Measured> find_metric(const MetricPattern& pattern, std::string_view output) {
  const auto found = pattern.last_match(output);
  if (!found) return fail(Errc::not_found, "no line of its output matches --metric");
  const std::string_view word = text::trim(*found);
  if (const auto number = number_in(word)) return Measured{.value = *number, .unit = MetricUnit::plain};
  if (const auto rate = rate_in(word)) return Measured{.value = *rate, .unit = MetricUnit::bytes_per_second};
  return fail(Errc::parse,
              fmt::format("--metric found {} in its output; expected a number of 0 or more, or a rate", config::shown(word)));
}

}  // namespace iez::cli
