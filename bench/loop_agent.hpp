// What telemetry costs: an agent at 1 s on a large server, and the bytes it sends. Part of `iez bench loop`.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// - loop.agent_cpu: share of one core that an agent takes which looks every second at 100 OSTs with 10,000 jobs
// - loop.agent_bytes: of such a sample on the wire
// - loop.sample_vs_json: decoding it, against building a tree of it with the CBOR reader of nlohmann-json
// - loop.collector_cpu: share of one core of a collector that hears 2,000 agents of 5 OSTs once a second
[[nodiscard]] Result<std::vector<Figure>> measure_agent(const Settings& settings);

}  // namespace iez::bench
