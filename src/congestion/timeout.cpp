#include "congestion/timeout.hpp"

#include <fmt/format.h>

#include <chrono>

namespace iez::congestion {

namespace {

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

Duration duration(double s) {
  const double ns = s * 1e9;
  return ns >= static_cast<double>(Duration::max().count()) ? Duration::max() : Duration(static_cast<Duration::rep>(ns));
}

}  // namespace

LatencyDeviation latency_deviation(std::uint32_t active_clients, double iops, Duration l_max, double rcc_change) {
  IEZ_ASSERT(iops > 0 && l_max > Duration::zero() && rcc_change >= 0);
  const double deviation = active_clients / iops * rcc_change;
  return {.deviation = duration(deviation), .part = deviation / seconds(l_max)};
}

Duration request_timeout(const RccParameters& p) { return duration(p.lambda * seconds(p.l_max) + seconds(p.l_net)); }

Result<Duration> checked_timeout(const RccParameters& p, std::uint32_t active_clients, double iops) {
  if (!(iops > 0)) return fail(Errc::invalid_argument, fmt::format("IOPS is {}; it must be more than 0", iops));
  const LatencyDeviation d = latency_deviation(active_clients, iops, p.l_max);
  if (p.lambda < 1 + d.part) {
    return fail(
        Errc::invalid_argument,
        fmt::format("lambda is {}; with {} clients and {:.1f} operations a second the latency varies by {:.1f} % of l_max, "
                    "so lambda must be at least {:.2f}",
                    p.lambda, active_clients, iops, 100 * d.part, 1 + d.part));
  }
  return request_timeout(p);
}

}  // namespace iez::congestion
