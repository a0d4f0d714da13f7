// The times Lustre prints above its statistics: snapshot_time, start_time and elapsed_time.
//
// Accepted is what stands behind the key, in every spelling of Lustre 2.10 to 2.18 and of older ones still met:
//   1794728866.641441423 secs.nsecs      1510950459.787901292 (secs.nsecs)      1510782606
//   1510950459.787901 (secs.usecs)       1510950459.  3304874 (secs.nsecs)      1510782606.5
// Behind a named unit the digits after the point are a count of that unit, since some versions print them without leading zeros
// (padded with spaces or not at all): "7.42 secs.usecs" is 42 microseconds past 7. Without one they are a decimal fraction.
//
// Thread safety: pure functions. Units: nanoseconds.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace iez::lustre {

// Nothing for text that is not such a time, is negative, or lies beyond the year 2262.
std::optional<WallTime> parse_timestamp(std::string_view text);
std::optional<Duration> parse_elapsed(std::string_view text);

}  // namespace iez::lustre
