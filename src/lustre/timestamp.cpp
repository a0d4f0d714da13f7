#include "lustre/timestamp.hpp"

#include <array>
#include <cstdint>
#include <limits>

#include "base/text.hpp"

namespace iez::lustre {

namespace {

constexpr std::size_t kDecimals = 9;
constexpr std::uint64_t kSecond = 1'000'000'000;

struct Unit {
  std::string_view name;
  std::size_t digits;  // after the point, at most
};

// "secs.usecs" gives the fraction in steps of 10^-6 seconds.
constexpr std::array<Unit, 2> kUnits{{{"secs.nsecs", 9}, {"secs.usecs", 6}}};

// The unit at the end of text, in parentheses or not; text is cut before it.
std::optional<Unit> take_unit(std::string_view& text) {
  const bool closed = text.ends_with(')');
  std::string_view rest = text.substr(0, text.size() - (closed ? 1 : 0));
  for (const Unit& unit : kUnits) {
    if (!rest.ends_with(unit.name)) continue;
    rest.remove_suffix(unit.name.size());
    if (closed != rest.ends_with('(')) return std::nullopt;
    if (closed) rest.remove_suffix(1);
    if (rest.empty() || !text::is_space(rest.back())) return std::nullopt;
    text = text::trim(rest);
    return unit;
  }
  return std::nullopt;
}

// digits, a count of 10^-scale seconds, as nanoseconds.
std::optional<std::uint64_t> fraction(std::string_view digits, std::size_t scale) {
  if (digits.size() > scale) return std::nullopt;
  auto value = text::parse_u64(digits);
  if (!value) return std::nullopt;
  for (std::size_t i = scale; i < kDecimals; ++i) *value *= 10;
  return value;
}

}  // namespace

std::optional<Duration> parse_elapsed(std::string_view text) {
  text = text::trim(text);
  const auto unit = take_unit(text);
  const std::size_t point = text.find('.');
  const auto seconds = text::parse_u64(text.substr(0, point));
  std::optional<std::uint64_t> nanoseconds = 0;
  if (point != std::string_view::npos) {
    const std::string_view digits = text.substr(point + 1);
    nanoseconds = unit                        ? fraction(text::trim(digits), unit->digits)
                  : digits.size() > kDecimals ? std::nullopt
                                              : fraction(digits, digits.size());
  }
  if (!seconds || !nanoseconds) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Duration::rep>::max());
  if (*seconds > (kMax - *nanoseconds) / kSecond) return std::nullopt;
  return Duration{static_cast<Duration::rep>(*seconds * kSecond + *nanoseconds)};
}

std::optional<WallTime> parse_timestamp(std::string_view text) {
  const auto since_epoch = parse_elapsed(text);
  if (!since_epoch) return std::nullopt;
  return WallTime{*since_epoch};
}

}  // namespace iez::lustre
