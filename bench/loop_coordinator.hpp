// How fast the coordinator plans over HTTP, and how much memory it takes: figures of `iez bench loop`.
#pragma once

#include "bench.hpp"

namespace iez::bench {

// loop.plans_s: requests of 64 files a second, of 10 clients at once, on 120 OSTs. Server and clients share the machine; each
// plan is on the disk before it is acknowledged.
[[nodiscard]] Result<Figure> measure_plans(const Settings& settings);

// loop.coordinator_mib: by how much the memory of a process grows at most with 10,000 OSTs and 1,000,000 planned files.
[[nodiscard]] Result<Figure> measure_coordinator_memory(const Settings& settings);

}  // namespace iez::bench
