// What Prometheus scrapes: targets by the names that the Lustre exporters use, and the coordinator's own state as iez_*.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "coordinator/puller.hpp"
#include "coordinator/service.hpp"

namespace iez::coordinator {

struct PullReport {
  std::string url;
  PullFigures figures;
};

std::string metrics_text(const ServiceState& state, std::span<const FileSystemReport> file_systems);
std::string pull_metrics_text(std::span<const PullReport> databases);  // empty: there are none

}  // namespace iez::coordinator
