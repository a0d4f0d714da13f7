#include "forecast/name_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

#include "base/text.hpp"

namespace iez::forecast {

namespace {

using text::is_digit;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kUuidLength = 36;

// Far extrapolation must not overflow; it has no meaning there anyway.
std::int64_t add_clamped(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? kMax : kMin;
  return sum;
}

std::int64_t times_clamped(std::int64_t stride, std::uint64_t count) {
  std::int64_t product = 0;
  const auto factor = static_cast<std::int64_t>(std::min<std::uint64_t>(count, static_cast<std::uint64_t>(kMax)));
  if (__builtin_mul_overflow(stride, factor, &product)) return stride > 0 ? kMax : kMin;
  return product;
}

constexpr std::int64_t kDaySeconds = 86'400;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && a < 0) ? 1 : 0); }

struct Civil {
  std::int64_t year, month, day, second;  // second of the day
};

Civil civil_of(std::int64_t seconds) {
  // Outside of the years 0 to 9999 no format can write it.
  constexpr std::int64_t kFirst = -62'167'219'200;
  constexpr std::int64_t kLast = 253'402'300'799;
  seconds = std::clamp(seconds, kFirst, kLast);
  const std::int64_t day = floor_div(seconds, kDaySeconds);
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
          seconds - day * kDaySeconds};
}

std::int64_t seconds_of(const Civil& civil) {
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(civil.year)},
                                         std::chrono::month{static_cast<unsigned>(civil.month)},
                                         std::chrono::day{static_cast<unsigned>(civil.day)}};
  return std::int64_t{std::chrono::sys_days{date}.time_since_epoch().count()} * kDaySeconds + civil.second;
}

// The same day of a later month; nothing where that month is too short.
std::optional<std::int64_t> add_months(std::int64_t seconds, std::int64_t months) {
  constexpr std::int64_t kLimit = 12 * 10'000;
  if (months < -kLimit || months > kLimit) return std::nullopt;
  Civil civil = civil_of(seconds);
  const std::int64_t total = civil.year * 12 + civil.month - 1 + months;
  civil.year = floor_div(total, 12);
  civil.month = total - civil.year * 12 + 1;
  if (civil.year < 0 || civil.year > 9'999) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(civil.year)},
                                         std::chrono::month{static_cast<unsigned>(civil.month)},
                                         std::chrono::day{static_cast<unsigned>(civil.day)}};
  if (!date.ok()) return std::nullopt;
  return seconds_of(civil);
}

bool constant_stride(const std::vector<std::int64_t>& values, std::int64_t stride) {
  for (std::size_t i = 2; i < values.size(); ++i) {
    std::int64_t gap = 0;
    if (__builtin_sub_overflow(values[i], values[i - 1], &gap) || gap != stride) return false;
  }
  return true;
}

std::int64_t median_gap(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> gaps(values.size() - 1);
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (__builtin_sub_overflow(values[i + 1], values[i], &gaps[i])) gaps[i] = 0;
  }
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  return *middle;
}

std::optional<std::int64_t> month_stride(const std::vector<std::int64_t>& values) {
  const Civil first = civil_of(values[0]);
  const Civil second = civil_of(values[1]);
  const std::int64_t months = (second.year - first.year) * 12 + second.month - first.month;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (add_months(values[0], times_clamped(months, i)) != values[i]) return std::nullopt;
  }
  return months;
}

std::size_t digits_at(std::string_view text) {
  const auto* const end = std::ranges::find_if_not(text, is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

void write_padded(std::int64_t value, unsigned width, std::string& out) {
  std::array<char, 24> digits{};
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value);
  static_cast<void>(error);  // 24 characters hold every value
  const auto length = static_cast<std::size_t>(end - digits.begin());
  if (length < width) out.append(width - length, '0');
  out.append(digits.data(), length);
}

std::optional<FieldText> read_decimal(const Field& field, std::string_view text) {
  const std::size_t length = digits_at(text);
  if (length == 0 || length < field.width || (length > 1 && length > field.width && text[0] == '0')) return std::nullopt;
  const auto value = number_of(text.substr(0, length));
  if (!value) return std::nullopt;
  return FieldText{length, {.number = *value}};
}

std::optional<FieldText> read_fraction(const Field& field, std::string_view text) {
  const std::size_t whole = digits_at(text);
  if (whole == 0 || (whole > 1 && text[0] == '0')) return std::nullopt;
  std::size_t decimals = 0;
  if (whole < text.size() && text[whole] == '.') decimals = digits_at(text.substr(whole + 1));
  // More decimals than seen before cannot be told in the unit of the field.
  if (decimals > field.decimals || decimals < field.min_decimals) return std::nullopt;
  if (decimals > field.min_decimals && text[whole + decimals] == '0') return std::nullopt;
  auto value = number_of(text.substr(0, whole));
  for (std::size_t i = 0; i < field.decimals && value; ++i) {
    const std::int64_t digit = i < decimals ? text[whole + 1 + i] - '0' : 0;
    if (*value > (kMax - digit) / 10) return std::nullopt;
    value = *value * 10 + digit;
  }
  if (!value) return std::nullopt;
  return FieldText{decimals == 0 ? whole : whole + 1 + decimals, {.number = *value}};
}

void write_fraction(const Field& field, std::int64_t value, std::string& out) {
  std::int64_t scale = 1;
  for (unsigned i = 0; i < field.decimals; ++i) scale *= 10;
  const std::int64_t whole = value / scale;
  std::int64_t rest = value % scale;
  if (value < 0) out += '-';
  write_padded(whole < 0 ? -whole : whole, 0, out);
  rest = rest < 0 ? -rest : rest;
  unsigned decimals = field.decimals;
  for (; decimals > field.min_decimals && rest % 10 == 0; --decimals) rest /= 10;
  if (decimals == 0) return;
  out += '.';
  write_padded(rest, decimals, out);
}

constexpr std::array<unsigned, 6> kPartWidth{4, 2, 2, 2, 2, 2};

char separator_before(const DateFormat& format, unsigned part) {
  if (part == 0) return 0;
  if (part < 3) return format.date_separator;
  return part == 3 ? format.between : format.time_separator;
}

std::optional<FieldText> read_date(const DateFormat& format, std::string_view text) {
  std::array<std::int64_t, 6> parts{0, 0, 0, 0, 0, 0};
  std::size_t at = 0;
  for (unsigned part = 0; part < format.parts; ++part) {
    if (const char separator = separator_before(format, part); separator != 0) {
      if (at >= text.size() || text[at] != separator) return std::nullopt;
      ++at;
    }
    if (at + kPartWidth[part] > text.size() || digits_at(text.substr(at, kPartWidth[part])) != kPartWidth[part]) {
      return std::nullopt;
    }
    for (unsigned i = 0; i < kPartWidth[part]; ++i) parts[part] = parts[part] * 10 + (text[at + i] - '0');
    at += kPartWidth[part];
  }
  if (at < text.size() && is_digit(text[at])) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(parts[0])},
                                         std::chrono::month{static_cast<unsigned>(parts[1])},
                                         std::chrono::day{static_cast<unsigned>(parts[2])}};
  if (!date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) return std::nullopt;
  const std::int64_t second = (parts[3] * 60 + parts[4]) * 60 + parts[5];
  return FieldText{at, {.number = seconds_of({parts[0], parts[1], parts[2], second})}};
}

void write_date(const DateFormat& format, std::int64_t value, std::string& out) {
  const Civil civil = civil_of(value);
  const std::array<std::int64_t, 6> parts{civil.year,       civil.month, civil.day, civil.second / 3'600, civil.second / 60 % 60,
                                          civil.second % 60};
  for (unsigned part = 0; part < format.parts; ++part) {
    if (const char separator = separator_before(format, part); separator != 0) out += separator;
    write_padded(parts[part], kPartWidth[part], out);
  }
}

std::optional<FieldText> read_word(const Field& field, std::string_view text) {
  std::size_t length = 0;
  switch (field.shape) {
    case WordShape::alnum:
      length = static_cast<std::size_t>(std::ranges::find_if_not(text, is_alnum) - text.begin());
      break;
    case WordShape::digits:
      length = digits_at(text);
      break;
    case WordShape::uuid:
      length = begins_with_uuid(text) ? kUuidLength : 0;
      break;
    case WordShape::component:
      length = std::min(text.find('/'), text.size());
      break;
  }
  if (length == 0 || length < field.min_length || (field.max_length > 0 && length > field.max_length)) return std::nullopt;
  return FieldText{length, {.number = 0, .text = text.substr(0, length)}};
}

}  // namespace

std::string_view to_string(FieldRole role) {
  switch (role) {
    case FieldRole::rank:
      return "rank";
    case FieldRole::step:
      return "step";
    case FieldRole::part:
      return "part";
    case FieldRole::count:
      return "count";
    case FieldRole::run:
      return "run";
    case FieldRole::other:
      break;
  }
  return "other";
}

bool begins_with_uuid(std::string_view text) {
  if (text.size() < kUuidLength || (text.size() > kUuidLength && is_alnum(text[kUuidLength]))) return false;
  for (std::size_t i = 0; i < kUuidLength; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool hex = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

std::int64_t Series::at(std::uint64_t index) const {
  std::int64_t from = first;
  std::uint64_t steps = index;
  if (!values.empty()) {
    if (index < values.size()) return values[index];
    from = values.back();
    steps = index - values.size() + 1;
  }
  const std::int64_t change = times_clamped(stride, steps);
  if (!months) return add_clamped(from, change);
  return add_months(from, change).value_or(add_clamped(from, times_clamped(30 * kDaySeconds, steps)));
}

Series make_series(std::vector<std::int64_t> values, bool dates) {
  Series series{.first = values[0]};
  if (values.size() == 1) return series;
  if (__builtin_sub_overflow(values[1], values[0], &series.stride)) series.stride = 0;
  if (constant_stride(values, series.stride)) return series;
  if (const auto months = dates ? month_stride(values) : std::nullopt; months) {
    series.stride = *months;
    series.months = true;
    return series;
  }
  series.stride = median_gap(values);
  series.values = std::move(values);
  return series;
}

std::optional<FieldText> read_field(const Field& field, std::string_view text) {
  switch (field.kind) {
    case FieldKind::decimal:
      return read_decimal(field, text);
    case FieldKind::fraction:
      return read_fraction(field, text);
    case FieldKind::date_time:
      return read_date(field.date, text);
    case FieldKind::word:
      break;
  }
  return read_word(field, text);
}

void write_field(const Field& field, const FieldValue& value, std::string& out) {
  switch (field.kind) {
    case FieldKind::decimal:
      write_padded(value.number, field.width, out);
      return;
    case FieldKind::fraction:
      write_fraction(field, value.number, out);
      return;
    case FieldKind::date_time:
      write_date(field.date, value.number, out);
      return;
    case FieldKind::word:
      break;
  }
  out += value.text;
}

std::optional<DateFormat> recognise_date(std::string_view text, unsigned max_parts) {
  if (text.size() < 8 || digits_at(text.substr(0, 4)) != 4) return std::nullopt;
  if (const int century = (text[0] - '0') * 10 + (text[1] - '0'); century < 19 || century > 21) return std::nullopt;
  constexpr std::string_view kDateSeparators = "-_.";
  constexpr std::string_view kBetween = "_T-. ";
  constexpr std::string_view kTimeSeparators = ":-_.";
  DateFormat format;
  if (!is_digit(text[4])) {
    if (!kDateSeparators.contains(text[4])) return std::nullopt;
    format.date_separator = text[4];
  }
  const std::size_t date_end = format.date_separator == 0 ? 8 : 10;
  // Longest first: each shorter form is a prefix of a longer one.
  for (unsigned parts = max_parts; parts >= 3; --parts) {
    format.parts = parts;
    format.between = 0;
    format.time_separator = 0;
    if (parts > 3) {
      if (text.size() < date_end + 2) continue;
      if (!is_digit(text[date_end])) {
        if (!kBetween.contains(text[date_end])) continue;
        format.between = text[date_end];
      } else if (format.date_separator != 0) {
        continue;
      }
      const std::size_t hour_end = date_end + (format.between == 0 ? 0U : 1U) + 2;
      if (parts > 4 && hour_end < text.size() && !is_digit(text[hour_end])) {
        if (!kTimeSeparators.contains(text[hour_end])) continue;
        format.time_separator = text[hour_end];
      }
    }
    if (read_date(format, text)) return format;
  }
  return std::nullopt;
}

}  // namespace iez::forecast
