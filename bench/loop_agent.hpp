// What telemetry costs: an agent at 1 s on a large server, and the bytes it sends. Part of `iez bench loop`.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// loop.agent_cpu       share of one core of `iez agent` at one sample a second, its start included: 100 OSTs that list 10,000
// jobs each loop.agent_bytes     of such a sample on the wire loop.sample_vs_json  decoding it, against building a tree of it
// with nlohmann-json's CBOR reader loop.collector_cpu   share of one core of a collector that hears 2,000 agents of 5 OSTs once a
// second
[[nodiscard]] Result<std::vector<Figure>> measure_agent(const Settings& settings);

}  // namespace iez::bench
