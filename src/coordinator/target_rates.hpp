// Bytes per second that move on each target now, from the byte counters of agents' samples.
//
// Agents tell what a target has read and written since it was started; two samples of one target make a rate, by the law of
// counter differences (lustre/job_rates.hpp): a counter that fell was started anew, and what it shows happened since. Samples
// that come within kShortest of each other were held up on the way: the later ones are not looked at, since the time between them
// says nothing.
//
// A rate carries the time that it is of, so that whoever uses it can tell whether it is old, and whose traffic it may hold.
//
// Memory: some 64 bytes a target. No clock: times come as arguments. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace iez::coordinator {

struct TargetRate {
  OstIndex ost;
  double bytes_per_second = 0;  // read and written
  std::int64_t began_ns = 0;    // since 1970: arrival of the earlier sample
  std::int64_t ended_ns = 0;    // and of the later one

  friend bool operator==(const TargetRate&, const TargetRate&) = default;
};

// What a sample said of one target.
struct TargetCounters {
  OstIndex ost;
  Bytes read;
  Bytes written;
  Duration received{0};  // monotonic; the same for whatever is told twice of one sample
};

class TargetRates {
 public:
  static constexpr Duration kShortest{500'000'000};

  // The rates of the file system's targets, ascending; of a target that was heard of once there is none. Targets that are not
  // among the counters are forgotten. Both times are those of now.
  std::vector<TargetRate> feed(std::string_view file_system, std::span<const TargetCounters> counters, Duration monotonic,
                               std::int64_t wall_ns);

 private:
  struct Known {
    TargetCounters last;
    double bytes_per_second = 0;
    Duration began{0};
    bool has_rate = false;
  };

  std::map<std::string, std::map<OstIndex, Known>, std::less<>> file_systems_;
};

// The rate is older than two of the times that it was measured over: its target may do anything by now.
bool is_stale(const TargetRate& rate, std::int64_t now_ns);

}  // namespace iez::coordinator
