#include "coordinator/target_rates.hpp"

#include <utility>

#include "lustre/job_rates.hpp"

namespace iez::coordinator {

std::vector<TargetRate> TargetRates::feed(std::string_view file_system, std::span<const TargetCounters> counters,
                                          Duration monotonic, std::int64_t wall_ns) {
  std::map<OstIndex, Known>& before = file_systems_[std::string(file_system)];
  std::map<OstIndex, Known> now;
  for (const TargetCounters& one : counters) {
    const auto found = before.find(one.ost);
    if (found == before.end()) {
      now.emplace(one.ost, Known{.last = one});
      continue;
    }
    Known known = found->second;
    if (const Duration between = one.received - known.last.received; between >= kShortest) {
      const lustre::JobTraffic moved = lustre::change({.read = known.last.read, .written = known.last.written},
                                                      {.read = one.read, .written = one.written}, false)
                                           .change;
      known.bytes_per_second =
          static_cast<double>((moved.read + moved.written).count) * 1e9 / static_cast<double>(between.count());
      known.began = known.last.received;
      known.has_rate = true;
      known.last = one;
    }
    now.emplace(one.ost, known);
  }
  before = std::move(now);
  std::vector<TargetRate> rates;
  const auto at_wall = [&](Duration when) { return wall_ns - (monotonic - when).count(); };
  for (const auto& [ost, known] : before) {
    if (!known.has_rate) continue;
    rates.push_back({.ost = ost,
                     .bytes_per_second = known.bytes_per_second,
                     .began_ns = at_wall(known.began),
                     .ended_ns = at_wall(known.last.received)});
  }
  return rates;
}

bool is_stale(const TargetRate& rate, std::int64_t now_ns) {
  const std::int64_t age = now_ns - rate.ended_ns;
  return age < 0 || age > 2 * (rate.ended_ns - rate.began_ns);
}

}  // namespace iez::coordinator
