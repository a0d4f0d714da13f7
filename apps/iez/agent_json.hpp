// Samples, agents and the collector's view as JSON; also for other commands that show them.
#pragma once

#include "json.hpp"
#include "telemetry/collector.hpp"
#include "telemetry/sample.hpp"

namespace iez::cli {

ordered_json sample_json(const telemetry::Sample& sample);
ordered_json agent_json(const telemetry::AgentInfo& agent);
ordered_json view_json(const telemetry::FileSystemView& view);
ordered_json counters_json(const telemetry::CollectorCounters& counters);

}  // namespace iez::cli
