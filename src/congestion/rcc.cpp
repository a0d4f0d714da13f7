#include "congestion/rcc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iez::congestion {

namespace {

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

Result<void> positive(std::string_view field, Duration value) {
  if (value > Duration::zero()) return {};
  return fail(Errc::invalid_argument, fmt::format("{} is {}; it must be more than 0", field, to_string(value)));
}

}  // namespace

Result<void> check(const RccParameters& p) {
  if (p.rcc_min < 1) return fail(Errc::invalid_argument, "rcc_min is 0; a client without a credit would never send: at least 1");
  if (p.rcc_max < p.rcc_min) {
    return fail(Errc::invalid_argument, fmt::format("rcc_max is {}; it must not be less than rcc_min, {}", p.rcc_max, p.rcc_min));
  }
  IEZ_CHECK(positive("l_max", p.l_max));
  IEZ_CHECK(positive("ping", p.ping));
  IEZ_CHECK(positive("window", p.window));
  if (p.stl < Duration::zero()) return fail(Errc::invalid_argument, "stl is negative; it must be 0 or more");
  if (p.l_net < Duration::zero()) return fail(Errc::invalid_argument, "l_net is negative; it must be 0 or more");
  if (!std::isfinite(p.lambda) || p.lambda < 1) {
    return fail(Errc::invalid_argument, fmt::format("lambda is {}; it must be a number of 1 or more", p.lambda));
  }
  return {};
}

unsigned calc_rcc(const RccParameters& p, const RccState& server, Duration ts, unsigned cnr) {
  if (server.depth < p.d_low) return std::clamp(cnr, p.rcc_min, p.rcc_max);
  if (server.iops <= 0) return p.rcc_min;
  double rcc = std::round(seconds(p.l_max) * server.iops / std::max(server.active_clients, 1U));
  const double estimated = static_cast<double>(server.depth) / server.iops;
  if (std::max(estimated, seconds(ts)) > seconds(p.l_max)) rcc -= 1;
  return static_cast<unsigned>(std::clamp(rcc, static_cast<double>(p.rcc_min), static_cast<double>(p.rcc_max)));
}

}  // namespace iez::congestion
