// CalcRCC: how many requests a client may have in flight, from the state of the server. The law of the source, word for word.
//
//   if D < D_low:  rcc = cnr                                  light load: whatever the client asks for
//   else:          rcc = L_max IOPS / C                       to the nearest whole credit
//                  if max(D / IOPS, Ts) > L_max: rcc -= 1
//   rcc = max(min(rcc, RCC_max), RCC_min)
//
// What the source leaves open. How a share becomes whole: rounded down, the latency would stay below L_max by half a credit's
// worth, C / (2 IOPS), on average; the source reports 58.3 s of 60, which rounding to the nearest gives, and rounding down does
// not. While IOPS is not known (0), a queue of D_low or more gets RCC_min; C = 0 counts as 1.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::congestion {

// Named as in the source, with its defaults.
struct RccParameters {
  unsigned rcc_min = 1;
  unsigned rcc_max = 32;
  std::uint64_t d_low = 128;                   // a shorter queue is light load; the number of service threads
  Duration l_max = std::chrono::seconds(60);   // latency bound
  Duration stl = std::chrono::seconds(60);     // idle for longer: a ping takes the client from C
  Duration ping = std::chrono::seconds(25);    // between the pings of a client; the caller sends them
  Duration window = std::chrono::seconds(10);  // busy time over which IOPS is measured
  double lambda = 1.5;                         // time-out = lambda l_max + l_net
  Duration l_net = std::chrono::seconds(5);    // the most that the network adds
};

// Names the field that makes no sense.
[[nodiscard]] Result<void> check(const RccParameters& parameters);

struct RccState {
  std::uint64_t depth = 0;           // D, without the request that is answered
  std::uint32_t active_clients = 0;  // C
  double iops = 0;                   // 0: not known
};

// REQUIRES: check(parameters) has passed. `ts` is the time of the request at the server, `cnr` the credits the client asks for.
[[nodiscard]] unsigned calc_rcc(const RccParameters& parameters, const RccState& server, Duration ts, unsigned cnr);

}  // namespace iez::congestion
