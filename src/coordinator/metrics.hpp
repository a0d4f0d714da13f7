// What Prometheus scrapes: targets by the names that the Lustre exporters use, and the coordinator's own state as iez_*.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "coordinator/service.hpp"

namespace iez::coordinator {

std::string metrics_text(const ServiceState& state, std::span<const FileSystemReport> file_systems);

}  // namespace iez::coordinator
