#include "base/units.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/text.hpp"

namespace iez {

namespace {

// A non-negative decimal number kept exactly: mantissa / 10^decimals.
struct Decimal {
  std::uint64_t mantissa = 0;
  int decimals = 0;
};

__extension__ using Wide = unsigned __int128;

constexpr int kMaxDecimals = 18;

// The number at the front of text; text is moved behind it.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal number;
  bool digits = false;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    digits = true;
    if (point && number.decimals == kMaxDecimals) continue;  // beyond any unit's resolution
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (number.mantissa > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
    number.mantissa = number.mantissa * 10 + digit;
    if (point) ++number.decimals;
  }
  if (!digits) return std::nullopt;
  text.remove_prefix(i);
  return number;
}

// round(number * scale), or nothing if it does not fit 63 bits (the largest a file or a counter can be).
std::optional<std::uint64_t> scaled(Decimal number, std::uint64_t scale) {
  Wide value = static_cast<Wide>(number.mantissa) * scale;
  Wide divisor = 1;
  for (int i = 0; i < number.decimals; ++i) divisor *= 10;
  value = (value + divisor / 2) / divisor;
  if (value > static_cast<Wide>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::optional<std::uint64_t> size_scale(std::string_view unit) {
  if (unit.empty() || text::iequals(unit, "b") || text::iequals(unit, "byte") || text::iequals(unit, "bytes")) return 1;
  constexpr std::string_view kLetters = "kmgtpe";
  const std::size_t power = kLetters.find(text::to_lower(unit[0]));
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  const auto exponent = static_cast<unsigned>(power + 1);
  if (rest.empty() || text::iequals(rest, "ib") || text::iequals(rest, "i")) return std::uint64_t{1} << (10U * exponent);
  if (!text::iequals(rest, "b")) return std::nullopt;
  std::uint64_t scale = 1;
  for (unsigned i = 0; i < exponent; ++i) scale *= 1000;
  return scale;
}

constexpr std::string_view kSizeHint = "expected a size such as 64KiB, 1.5 GB or 4M";

Result<std::uint64_t> parse_size(std::string_view whole, std::string_view text, std::string_view hint) {
  std::string_view rest = text::trim(text);
  const auto number = take_decimal(rest);
  const auto scale = size_scale(text::trim(rest));
  if (!number || !scale) return fail(Errc::invalid_argument, fmt::format("'{}': {}", whole, hint));
  const auto value = scaled(*number, *scale);
  if (!value) return fail(Errc::limit, fmt::format("'{}' is too large: at most 8 EiB - 1", whole));
  return *value;
}

std::string three_digits(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

struct TimeUnit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::array<TimeUnit, 12> kTimeUnits{{{"ns", 1},
                                               {"us", 1'000},
                                               {"usec", 1'000},
                                               {"ms", 1'000'000},
                                               {"s", kSecond},
                                               {"sec", kSecond},
                                               {"", kSecond},
                                               {"m", 60 * kSecond},
                                               {"min", 60 * kSecond},
                                               {"h", 3600 * kSecond},
                                               {"d", 86'400 * kSecond},
                                               {"w", 7 * 86'400 * kSecond}}};

// What would print as a whole step takes the next unit.
std::string in_units(double value, double step, std::span<const std::string_view> names) {
  std::size_t unit = 0;
  while (value >= step - 0.5 && unit + 1 < names.size()) {
    value /= step;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} {}", value, names[0]);
  return fmt::format("{} {}", three_digits(value), names[unit]);
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  IEZ_TRY(const auto count, parse_size(text, text, kSizeHint));
  return Bytes{count};
}

Result<BytesPerSecond> parse_rate(std::string_view text) {
  constexpr std::string_view kHint = "expected a rate such as 40MB/s or 1.5 GiB/s";
  std::string_view size = text::trim(text);
  const std::size_t slash = size.rfind('/');
  if (slash == std::string_view::npos) return fail(Errc::invalid_argument, fmt::format("'{}': {}", text, kHint));
  if (!text::iequals(text::trim(size.substr(slash + 1)), "s")) {
    return fail(Errc::invalid_argument, fmt::format("'{}': {}", text, kHint));
  }
  IEZ_TRY(const auto count, parse_size(text, size.substr(0, slash), kHint));
  return BytesPerSecond{static_cast<double>(count)};
}

Result<Duration> parse_duration(std::string_view text) {
  std::string_view rest = text::trim(text);
  const auto number = take_decimal(rest);
  const std::string_view unit = text::trim(rest);
  if (number) {
    for (const TimeUnit& known : kTimeUnits) {
      if (!text::iequals(unit, known.name)) continue;
      const auto value = scaled(*number, known.nanoseconds);
      if (!value) return fail(Errc::limit, fmt::format("'{}' is too long: at most 292 years", text));
      return Duration{static_cast<std::int64_t>(*value)};
    }
  }
  return fail(Errc::invalid_argument, fmt::format("'{}': expected a duration such as 250ms, 2s or 5min", text));
}

std::string to_string(Bytes size) {
  constexpr std::array<std::string_view, 7> kNames{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return in_units(static_cast<double>(size.count), 1000, kNames);
}

std::string to_binary_string(Bytes size) {
  constexpr std::array<std::string_view, 7> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return in_units(static_cast<double>(size.count), 1024, kNames);
}

std::string to_string(BytesPerSecond rate) {
  constexpr std::array<std::string_view, 7> kNames{"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s"};
  return in_units(rate.value, 1000, kNames);
}

std::string to_string(Duration duration) {
  const bool negative = duration.count() < 0;
  const auto ns = negative ? 0 - static_cast<std::uint64_t>(duration.count()) : static_cast<std::uint64_t>(duration.count());
  const std::string_view sign = negative ? "-" : "";
  if (ns < 1'000) return fmt::format("{}{} ns", sign, ns);
  const auto value = static_cast<double>(ns);
  if (value < 999.5e3) return fmt::format("{}{} us", sign, three_digits(value / 1e3));
  if (value < 999.5e6) return fmt::format("{}{} ms", sign, three_digits(value / 1e6));
  if (value < 59.995e9) return fmt::format("{}{} s", sign, three_digits(value / 1e9));
  const std::uint64_t seconds = (ns + kSecond / 2) / kSecond;
  if (seconds < 3600) return fmt::format("{}{} min {} s", sign, seconds / 60, seconds % 60);
  const std::uint64_t minutes = seconds / 60;
  if (minutes < 24 * 60) return fmt::format("{}{} h {} min", sign, minutes / 60, minutes % 60);
  return fmt::format("{}{} d {} h", sign, minutes / (24 * 60), minutes / 60 % 24);
}

BytesPerSecond rate_of(Bytes size, Duration elapsed) {
  if (elapsed <= Duration::zero()) return {};
  return {static_cast<double>(size.count) * 1e9 / static_cast<double>(elapsed.count())};
}

}  // namespace iez
