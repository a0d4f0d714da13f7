// The tables of `brw_stats` (osd-*.*, on old servers obdfilter.*) and `rpc_stats` (osc.*, mdc.*): how many requests had which
// size, fragmentation, concurrency or duration. Lustre 2.10 to 2.18.
//
//   snapshot_time:            1794728867.708350029 secs.nsecs
//   read RPCs in flight:  0                                          a gauge
//                           read                    write
//   pages per rpc         rpcs   % cum % |       rpcs   % cum %      a table; its name is "pages per rpc"
//   256:                     4   2  97   |          1   8   8        a bucket
//   1K:                      4   2 100   |          7  58 100        another, of bound 1024
//
// The percentages are derived by the kernel from the counts, with rounding that may pass 100; they are checked for form only.
//
// Thread safety: plain values; parsing is safe from any thread, one stream each. Memory: bounded by the constants below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"

namespace iez::lustre {

struct Histogram {
  static constexpr std::size_t kMaxBuckets = 128;
  static constexpr std::size_t kMaxName = 64;  // bytes

  // The mdc prints one table with a single column, of RPCs that modify; its counts are in Bucket::write.
  enum class Columns { read_write, single };

  struct Bucket {
    std::uint64_t bound = 0;  // as printed: the upper end of the bucket in most tables, the lower in "offset"; K is 1024
    std::uint64_t read = 0;
    std::uint64_t write = 0;

    friend bool operator==(const Bucket&, const Bucket&) = default;
  };

  std::string name;  // as printed, without the unit of its counts: "disk I/O size", "I/O time (1/1000s)"
  Columns columns = Columns::read_write;
  std::vector<Bucket> buckets;  // strictly ascending by bound

  friend bool operator==(const Histogram&, const Histogram&) = default;
};

struct Gauge {
  std::string name;  // "read RPCs in flight"
  std::uint64_t value = 0;

  friend bool operator==(const Gauge&, const Gauge&) = default;
};

struct Histograms {
  static constexpr std::size_t kMaxSections = 64;
  static constexpr std::size_t kMaxGauges = 64;

  std::optional<WallTime> snapshot_time;
  std::optional<WallTime> start_time;  // of newer versions: when the counters were last cleared
  std::optional<Duration> elapsed;     // since then
  std::vector<Gauge> gauges;
  std::vector<Histogram> sections;

  // The first table of that name, or nullptr. The mdc has "rpcs in flight" twice, once in each form.
  const Histogram* find(std::string_view name, Histogram::Columns columns = Histogram::Columns::read_write) const;
  std::optional<std::uint64_t> gauge(std::string_view name) const;
};

enum class Direction { read, write };

// The sum of the counts; the greatest number where it does not fit.
std::uint64_t total(const Histogram& histogram, Direction direction);

// The mean of the bounds, weighted by the counts; nothing where all are zero. Exact for tables with a bucket for each value;
// where bounds are powers of two, within a factor of two of the true mean.
std::optional<double> weighted_mean(const Histogram& histogram, Direction direction);

// Fails where the stream does, and for text that does not begin with a snapshot_time (an empty file never does). What is
// malformed, out of order or beyond the bounds above is skipped and counted; rows of a skipped table are counted too.
[[nodiscard]] Result<Histograms> parse_histograms(input::ByteStream& stream, std::string_view origin, input::ParseReport& report);

}  // namespace iez::lustre
