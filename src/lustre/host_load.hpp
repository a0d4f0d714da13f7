// How busy a server is: /proc/stat, /proc/meminfo and /proc/loadavg.
//
// Thread safety: plain values; parsing is safe from any thread, one stream each. Memory: constant.
// Units: CPU times in ticks of the kernel (only their ratios matter); shares are 0 to 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"

namespace iez::lustre {

// Of all cores together, since boot. Waiting for I/O is idle: the core was free to run something. Time stolen by a hypervisor is
// busy: it was not. Time of guests is part of user time already.
struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t total = 0;

  friend bool operator==(const CpuTimes&, const CpuTimes&) = default;
};

struct CpuLoad {
  CpuTimes times;
  unsigned cores = 0;  // online

  friend bool operator==(const CpuLoad&, const CpuLoad&) = default;
};

// On average since boot; 0 if no tick has passed.
double busy_share(const CpuTimes& since_boot);

// Between the two. Where the counters went back (a reboot, a core taken offline) or did not move, it is the share since boot of
// the later one: the best that is known. The kernel may take back time spent waiting for I/O; the result stays within 0 to 1.
double busy_share(const CpuTimes& before, const CpuTimes& after);

struct MemoryLoad {
  Bytes total;
  Bytes available;  // without swapping; for kernels before 3.14, which do not say, free + buffers + page cache

  friend bool operator==(const MemoryLoad&, const MemoryLoad&) = default;
};

double used_share(const MemoryLoad& memory);  // 0 for a memory of no size, or all available

// Length of the run queue, waiting for the disk included, averaged over minutes.
struct LoadAverage {
  double one = 0;
  double five = 0;
  double fifteen = 0;

  friend bool operator==(const LoadAverage&, const LoadAverage&) = default;
};

// These fail where the stream does, or where it holds no usable "cpu" line, no usable MemTotal with MemAvailable or MemFree, or
// not the three averages. Lines of interest that are malformed are skipped and counted.
[[nodiscard]] Result<CpuLoad> parse_cpu(input::ByteStream& stream, std::string_view origin, input::ParseReport& report);
[[nodiscard]] Result<MemoryLoad> parse_memory(input::ByteStream& stream, std::string_view origin, input::ParseReport& report);
[[nodiscard]] Result<LoadAverage> parse_load_average(input::ByteStream& stream, std::string_view origin,
                                                     input::ParseReport& report);

}  // namespace iez::lustre
