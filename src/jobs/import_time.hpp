// Times as other programs write them.
//
// Thread safety: pure functions, but for TimeZone::local, which reads TZ as localtime(3) does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace iez::jobs {

// Of times that do not tell it.
struct TimeZone {
  bool local = false;     // that of this process, with its summer time
  std::int64_t east = 0;  // else: seconds

  bool operator==(const TimeZone&) const = default;
};

// "utc", "local", "+02:00", "-0530", "+2".
[[nodiscard]] Result<TimeZone> parse_zone(std::string_view text);

// Seconds since 1970 of "2026-11-16T12:00:00", also with a space, a fraction, "Z" or an offset; or of a number: seconds, or
// milliseconds, microseconds or nanoseconds, told apart by their size (from 1973 on). Nothing: no time.
std::optional<std::int64_t> parse_time(std::string_view text, const TimeZone& zone);

}  // namespace iez::jobs
