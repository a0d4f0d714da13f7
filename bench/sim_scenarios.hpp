// What `iez bench sim` simulates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/scenario.hpp"

namespace iez::bench {

// The server of the published measurements: 1024 clients, each with a file of `requests` MiB in requests of 1 MiB, on one target.
sim::Scenario tianhe(const sim::CongestionLaw& law, std::uint32_t requests);

// So many servers with 8 targets each, and 80 nodes a server, each with one process that writes one file of 4 GiB. With 1250
// servers: 10,000 targets and 100,000 nodes.
sim::Scenario exascale(std::uint32_t servers);

// The scenario in the words of compare/simgrid_queue.cpp. REQUIRES: it is made by tianhe() with fixed credits.
std::vector<std::string> simgrid_arguments(const sim::Scenario& scenario);

}  // namespace iez::bench
