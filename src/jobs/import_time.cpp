#include "jobs/import_time.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::jobs {

namespace {

constexpr std::int64_t kDay = 24 * 3600;
constexpr std::uint64_t kMilliseconds = 100'000'000'000;  // a number from here on is none of seconds: the year 5138

// "+02:00", "+0200", "+2"
std::optional<std::int64_t> parse_offset(std::string_view text) {
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const std::int64_t sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const std::size_t colon = text.find(':');
  std::string_view hours = text.substr(0, colon);
  std::string_view minutes = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (colon == std::string_view::npos && text.size() > 2) {
    hours = text.substr(0, text.size() - 2);
    minutes = text.substr(text.size() - 2);
  }
  const auto h = text::parse_u64(hours);
  const auto m = minutes.empty() ? std::optional<std::uint64_t>(0) : text::parse_u64(minutes);
  if (!h || !m || *h > 14 || *m > 59 || (colon != std::string_view::npos && minutes.size() != 2)) return std::nullopt;
  return sign * static_cast<std::int64_t>(*h * 3600 + *m * 60);
}

std::optional<unsigned> take_digits(std::string_view& text, std::size_t digits) {
  const auto value = text::parse_u64(text.substr(0, digits));
  if (!value || text.size() < digits) return std::nullopt;
  text.remove_prefix(digits);
  return static_cast<unsigned>(*value);
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  const std::size_t dot = text.find('.');
  auto value = text::parse_u64(text.substr(0, dot));
  if (!value) return std::nullopt;
  if (dot != std::string_view::npos && !text::parse_u64(text.substr(dot + 1))) return std::nullopt;
  if (dot == std::string_view::npos) {
    for (int i = 0; i < 3 && *value >= kMilliseconds; ++i) *value /= 1000;
  }
  if (*value >= kMilliseconds) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

struct Fields {
  std::array<unsigned, 6> value{};  // year to second
};

std::optional<std::int64_t> to_seconds(const Fields& fields, std::int64_t east) {
  using std::chrono::day;
  using std::chrono::month;
  using std::chrono::year;
  const auto& [y, mo, d, h, mi, s] = fields.value;
  const std::chrono::year_month_day date{year{static_cast<int>(y)}, month{mo}, day{d}};
  if (!date.ok() || h > 23 || mi > 59 || s > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  return days * kDay + std::int64_t{h} * 3600 + std::int64_t{mi} * 60 + s - east;
}

std::optional<std::int64_t> to_local_seconds(const Fields& fields) {
  if (!to_seconds(fields, 0)) return std::nullopt;
  const auto at = [&fields](std::size_t i) { return static_cast<int>(fields.value[i]); };
  std::tm broken{};
  broken.tm_year = at(0) - 1900;
  broken.tm_mon = at(1) - 1;
  broken.tm_mday = at(2);
  broken.tm_hour = at(3);
  broken.tm_min = at(4);
  broken.tm_sec = at(5);
  broken.tm_isdst = -1;
  return std::mktime(&broken);
}

}  // namespace

Result<TimeZone> parse_zone(std::string_view text) {
  if (text::iequals(text, "utc") || text::iequals(text, "z")) return TimeZone{};
  if (text::iequals(text, "local")) return TimeZone{.local = true};
  if (const auto east = parse_offset(text)) return TimeZone{.east = *east};
  return fail(Errc::invalid_argument,
              fmt::format("time zone '{}': expected utc, local, or an offset such as +02:00", text::printable(text)));
}

std::optional<std::int64_t> parse_time(std::string_view text, const TimeZone& zone) {
  text = text::trim(text);
  if (text.size() < 5 || text[4] != '-') return parse_number(text);
  Fields fields;
  constexpr std::array<std::size_t, 6> kDigits{4, 2, 2, 2, 2, 2};
  constexpr std::string_view kBetween = "--T::";
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    if (i > 0 && !take(text, kBetween[i - 1]) && !(i == 3 && take(text, ' '))) return std::nullopt;
    const auto value = take_digits(text, kDigits[i]);
    if (!value) return std::nullopt;
    fields.value[i] = *value;
  }
  if (take(text, '.')) {
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || text.empty()) return std::nullopt;
    text.remove_prefix(std::min(digits, text.size()));
  }
  if (text == "Z" || text == "z") return to_seconds(fields, 0);
  if (!text.empty()) {
    const auto east = parse_offset(text);
    return east ? to_seconds(fields, *east) : std::nullopt;
  }
  return zone.local ? to_local_seconds(fields) : to_seconds(fields, zone.east);
}

}  // namespace iez::jobs
