// The time-out that goes with a latency bound, by the equations of the source.
//
//   dL = C / IOPS dRCC        deviation of the latency when the credits of all clients change by dRCC      (3)
//   P  = dL / L_max           as a part of the bound                                                       (4)
//   T  = lambda L_max + L_net the time-out                                                                 (6)
//
// Few requests time out without being lost when lambda >= 1 + P. Under a stable load RccPolicy has dRCC = 1.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "base/units.hpp"
#include "congestion/rcc.hpp"

namespace iez::congestion {

struct LatencyDeviation {
  Duration deviation{};  // dL
  double part = 0;       // P
};

// Saturates at the largest Duration. REQUIRES: iops > 0, l_max > 0, rcc_change >= 0.
[[nodiscard]] LatencyDeviation latency_deviation(std::uint32_t active_clients, double iops, Duration l_max,
                                                 double rcc_change = 1);

[[nodiscard]] Duration request_timeout(const RccParameters& parameters);

// The time-out, if lambda leaves room for the deviation; else an error that says what lambda must be.
[[nodiscard]] Result<Duration> checked_timeout(const RccParameters& parameters, std::uint32_t active_clients, double iops);

}  // namespace iez::congestion
