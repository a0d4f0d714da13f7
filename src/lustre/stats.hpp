// Lustre's counter files: `stats` of OSTs, servers and services, `md_stats`, `exports/*/stats`, and a client's llite `stats`.
//
//     snapshot_time             1794728864.962408475 secs.nsecs
//     write_bytes               9 samples [bytes] 4194304 4194304 37748736 158329674399744
//     statfs                    127 samples [reqs]
//
// Streaming: each row goes to the visitor as it is read. Memory: one line. A row that does not follow the form, or the last one
// if the file stops in the middle of it, is skipped and counted.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"

namespace iez::lustre {

// Views are valid during the call only.
struct CounterRow {
  std::string_view name;
  std::uint64_t samples = 0;
  std::string_view unit;  // "bytes", "usecs", "reqs", ...
  std::optional<std::uint64_t> min;
  std::optional<std::uint64_t> max;
  std::optional<std::uint64_t> sum;
  std::optional<std::uint64_t> sum_of_squares;  // wraps at 2^64 in the kernel
};

struct StatsTimes {
  std::optional<WallTime> snapshot;
  std::optional<WallTime> start;
  std::optional<Duration> elapsed;
};

// Takes "snapshot_time", "start_time" or "elapsed_time"; false if key is none of them or value is no time.
bool set_time(StatsTimes& times, std::string_view key, std::string_view value);

using CounterVisitor = std::function<void(const CounterRow&)>;

[[nodiscard]] Result<StatsTimes> parse_stats(input::ByteStream& stream, std::string_view origin, input::ParseReport& report,
                                             const CounterVisitor& visit);

}  // namespace iez::lustre
